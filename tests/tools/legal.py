"""What providers take, as their own pages say it: checked without the code under test."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

import re
from collections.abc import Iterator
from typing import Any

from google.genai.types import FunctionDeclaration

from callboard.tools import Dialect

HOLDERS: dict[Dialect, str] = {
    "openai": "parameters",
    "anthropic": "input_schema",
    "gemini": "parametersJsonSchema",
    "mcp": "inputSchema",
}
# The provider's documentation of what `parametersJsonSchema` may use, less what is never written.
GEMINI = {
    "$defs", "$ref", "additionalProperties", "anyOf", "description", "enum", "format", "items", "maxItems",
    "maximum", "minItems", "minimum", "prefixItems", "properties", "required", "type",
}  # fmt: skip


def schema_of(definition: dict[str, Any], dialect: Dialect) -> dict[str, Any]:
    schema: dict[str, Any] = definition.get("function", definition)[HOLDERS[dialect]]
    return schema


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """All schemas of a rewritten schema, found without the code under test."""
    if not isinstance(node, dict):
        return
    yield node
    for key, value in node.items():
        if key in {"properties", "$defs"}:
            for part in value.values():
                yield from nodes(part)
        elif key in {"anyOf", "prefixItems"}:
            for part in value:
                yield from nodes(part)
        elif key in {"items", "additionalProperties"}:
            yield from nodes(value)


def check_gemini(definition: dict[str, Any]) -> None:
    assert definition.keys() <= {"name", "description", "parametersJsonSchema"}
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}", definition["name"])
    FunctionDeclaration.model_validate(definition)
    root = definition["parametersJsonSchema"]
    assert root["type"] == "object"
    assert not root.keys() & {"anyOf", "$ref", "enum"}
    for node in nodes(root):
        assert node.keys() <= GEMINI
        assert isinstance(node.get("type", ""), str)
        assert "$ref" not in node or node.keys() == {"$ref"}
        assert set(node.get("required", [])) <= node.get("properties", {}).keys()
        assert all(isinstance(each, str | int | float) and each != "" for each in node.get("enum", []))
        assert not any(isinstance(each, bool) for each in node.get("enum", []))
        assert node.get("type") != "array" or "items" in node or "prefixItems" in node
        assert node.get("anyOf", [{}]) != []


def bare_lists(node: Any) -> Iterator[dict[str, Any]]:
    """Everything that looks like the schema of a list and says nothing of its items."""
    if isinstance(node, dict):
        if node.get("type") == "array" and "items" not in node:
            yield node
        for key, value in node.items():
            if key not in {"const", "default", "enum", "examples"}:
                yield from bare_lists(value)
    elif isinstance(node, list):
        for value in node:
            yield from bare_lists(value)


def check_root(schema: dict[str, Any], dialect: Dialect) -> None:
    assert schema["type"] == "object"
    if dialect != "mcp":
        assert not schema.keys() & {"anyOf", "oneOf", "allOf", "enum", "not", "$ref"}
    if dialect == "openai":
        assert "properties" in schema
        assert list(bare_lists(schema)) == []
    if dialect == "anthropic":
        assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name) for name in schema.get("properties", {}))


def check(definition: dict[str, Any], dialect: Dialect) -> None:
    """Fails where the provider would refuse a request with this definition."""
    check_root(schema_of(definition, dialect), dialect)
    if dialect == "gemini":
        check_gemini(definition)
