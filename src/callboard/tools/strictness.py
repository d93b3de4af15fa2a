"""Whether a schema satisfies the rules of OpenAI's strict mode: claimed only where it does."""

import re
from collections.abc import Mapping
from typing import Any

from callboard.tools.refs import Schema, subschemas
from callboard.tools.walk import is_list

_KEYWORDS = frozenset({
    "$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "exclusiveMaximum",
    "exclusiveMinimum", "format", "items", "maxItems", "maximum", "minItems", "minimum", "multipleOf",
    "pattern", "properties", "required", "title", "type",
})  # fmt: skip
_FORMATS = frozenset({"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"})
_LOOKAROUND = re.compile(r"\(\?<?[=!]")
_MAX_LEVELS = 10
_MAX_PROPERTIES = 5_000
_MAX_ENUM = 1_000
_MAX_TEXT = 120_000


def breaks_strict(schema: Schema) -> str | None:
    """The first rule that the schema breaks; None where strict mode can be claimed."""
    if schema.get("type") != "object" or "anyOf" in schema:
        return "its root is no plain object"
    nodes = [schema, *schema.get("$defs", {}).values()]
    levels = 0
    seen: list[Schema] = []
    while nodes:
        seen.extend(nodes)
        nodes = [below for node in nodes for below in subschemas(node)]
        levels += 1
        if levels > 2 * _MAX_LEVELS:  # a property and its object are a level each here
            return f"it has more than {_MAX_LEVELS} levels"
    for node in seen:
        broken = _broken(node)
        if broken is not None:
            return broken
    return _too_large(seen)


def _broken(node: Mapping[str, Any]) -> str | None:
    others = node.keys() - _KEYWORDS
    if others:
        return f"it uses {min(others)!r}"
    if "$ref" in node:
        return "a reference has keywords beside it" if len(node) > 1 else None
    if not node.keys() & {"anyOf", "const", "enum", "type"}:
        return "a part of it admits anything"
    if node.get("format") not in _FORMATS | {None}:
        return f"it uses the format {node['format']!r}"
    if _LOOKAROUND.search(node.get("pattern", "")):
        return "a pattern looks around"
    return _broken_object(node) or ("a list says nothing of its items" if _is_open_list(node) else None)


def _broken_object(node: Mapping[str, Any]) -> str | None:
    if node.get("type") != "object" and "object" not in _types(node):
        return None
    if node.get("additionalProperties") is not False:
        return "an object admits other keys"
    optional = set(node.get("properties", {})) - set(node.get("required", []))
    return f"{min(optional)!r} may be left out" if optional else None


def _types(node: Mapping[str, Any]) -> list[Any]:
    kind = node.get("type", [])
    return kind if is_list(kind) else [kind]


def _is_open_list(node: Mapping[str, Any]) -> bool:
    return "array" in _types(node) and not isinstance(node.get("items"), dict)


def _too_large(nodes: list[Schema]) -> str | None:
    names = [name for node in nodes for name in node.get("properties", {})]
    values = [value for node in nodes for value in node.get("enum", [])]
    if len(names) > _MAX_PROPERTIES or len(values) > _MAX_ENUM:
        return "it has too many properties or enum values"
    text = sum(map(len, names)) + sum(len(str(value)) for value in values)
    return "its names and enum values are too long" if text > _MAX_TEXT else None
