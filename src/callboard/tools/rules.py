"""What each provider takes, as data: a definition that breaks a rule would cost the whole request."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from callboard.tools.gemini import FORMATS
from callboard.tools.refs import Schema, subschemas
from callboard.tools.walk import is_list

_UNIONS = frozenset({"allOf", "anyOf", "enum", "not", "oneOf"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of one dialect; what is None is not limited.

    Attributes:
        name: what a tool may be called.
        description: characters of a tool's description.
        root: keywords that the root of the arguments may not have, beside being an object.
        argument: what an argument may be called.
        properties: whether the root must have them, be it none.
        items: whether every list must say something of its items.
        keywords: all that a schema may use.
        type_lists: whether `type` may list several.
        beside_ref: what may stand beside a reference.
        enums: the types whose values may be listed.
        formats: by type, the formats that may be named.
        levels: how deep schemas may stand inside each other.
    """

    name: re.Pattern[str] = re.compile(r"[A-Za-z0-9_-]{1,64}")
    description: int | None = None
    root: frozenset[str] = frozenset()
    argument: re.Pattern[str] | None = None
    properties: bool = False
    items: bool = False
    keywords: frozenset[str] | None = None
    type_lists: bool = True
    beside_ref: frozenset[str] | None = None
    enums: tuple[type, ...] | None = None
    formats: Mapping[str, frozenset[str]] | None = None
    levels: int | None = None


RULES: Mapping[str, Rules] = {
    "openai": Rules(description=1024, root=_UNIONS, properties=True, items=True),
    "anthropic": Rules(root=_UNIONS, argument=re.compile(r"[A-Za-z0-9_.-]{1,64}")),
    "mcp": Rules(name=re.compile(r"[A-Za-z0-9_.-]{1,128}")),
    "gemini": Rules(
        name=re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}"),
        root=_UNIONS,
        keywords=frozenset({
            "$defs", "$ref", "additionalProperties", "anyOf", "description", "enum", "format", "items",
            "maxItems", "maximum", "minItems", "minimum", "prefixItems", "properties", "required", "type",
        }),
        type_lists=False,
        beside_ref=frozenset(),
        enums=(str, int, float),
        formats=FORMATS,
        levels=32,  # the provider names no number; this one is ours
    ),
}  # fmt: skip


def broken_rule(schema: Schema, rules: Rules) -> tuple[str, str] | None:
    """The code and the text of the first rule that the schema of the arguments breaks; None for none."""
    if schema.get("type") != "object" or schema.keys() & rules.root:
        return "schema.root_union", "its root is no plain object"
    if rules.properties and "properties" not in schema:
        return "schema.refused", "its root has no properties"
    if rules.argument is not None:
        for name in schema.get("properties", {}):
            if not rules.argument.fullmatch(name):
                return "schema.argument_name", f"an argument may not be called {name[:80]!r}"
    level: list[Schema] = [schema, *schema.get("$defs", {}).values()]
    depth = 0
    while level:
        depth += 1
        if rules.levels is not None and depth > rules.levels:
            return "schema.too_deep", f"it has more than {rules.levels} levels"
        for node in level:
            for broken in _broken(node, rules):
                return "schema.refused", broken
        level = [below for node in level for below in subschemas(node)]
    return None


def _broken(node: Schema, rules: Rules) -> Iterator[str]:
    if rules.items and "items" not in node and node.get("type") == "array":
        yield "it has a list that says nothing of its items"
    if rules.keywords is not None and (others := node.keys() - rules.keywords):
        yield f"it uses {min(others)!r}"
    if not rules.type_lists and is_list(node.get("type")):
        yield "it lists several types"
    if rules.beside_ref is not None and "$ref" in node and node.keys() - rules.beside_ref - {"$ref"}:
        yield "it has keywords beside a reference"
    if rules.enums is not None and not all(_listed(value, rules.enums) for value in node.get("enum", [])):
        yield "it lists a value that may not be listed"
    if rules.formats is not None and "format" in node:
        kind = node.get("type")
        if node["format"] not in (rules.formats.get(kind, ()) if isinstance(kind, str) else ()):
            yield f"it uses the format {node['format']!r}"


def _listed(value: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool) and value != ""
