"""Whether a schema satisfies the rules of OpenAI's strict mode: claimed only where it does."""

import re
from collections.abc import Iterator, Mapping
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
_PLAINER = "; a plainer type would not"

_Place = str | None  # the parameter, or the definition, that a schema is part of; None for the root


def breaks_strict(schema: Schema) -> str | None:
    """The first rule that the schema breaks: where, why, and what would help; None where it breaks none."""
    if schema.get("type") != "object" or "anyOf" in schema:
        return "its root is no plain object"
    nodes: list[tuple[_Place, Schema]] = [(None, schema), *schema.get("$defs", {}).items()]
    levels = 0
    seen: list[tuple[_Place, Schema]] = []
    while nodes:
        seen.extend(nodes)
        nodes = [below for place, node in nodes for below in _below(place, node)]
        levels += 1
        if levels > 2 * _MAX_LEVELS:  # a property and its object are a level each here
            return f"it has more than {_MAX_LEVELS} levels"
    for place, node in seen:
        broken = _broken(node)
        if broken is not None:
            return f"{'a call' if place is None else repr(place)} {broken}"
    return _too_large([node for _, node in seen])


def _below(place: _Place, node: Schema) -> Iterator[tuple[_Place, Schema]]:
    named = node.get("properties", {})
    for name, below in named.items():
        yield (name if place is None else place), below
    for below in subschemas({key: value for key, value in node.items() if key != "properties"}):
        yield place, below


def _broken(node: Mapping[str, Any]) -> str | None:
    others = node.keys() - _KEYWORDS
    if others:
        return f"uses {min(others)!r}{_PLAINER}"
    if "$ref" in node:
        beside = "has keywords beside a reference; describe the referenced type instead"
        return beside if len(node) > 1 else None
    if not node.keys() & {"anyOf", "const", "enum", "type"}:
        return "admits anything; give it a type"
    if node.get("format") not in _FORMATS | {None}:
        return f"uses the format {node['format']!r}{_PLAINER}"
    if _LOOKAROUND.search(node.get("pattern", "")):
        return "has a pattern that looks around; say it without"
    open_list = "holds a list that says nothing of its items; give them a type"
    return _broken_object(node) or (open_list if _is_open_list(node) else None)


def _broken_object(node: Mapping[str, Any]) -> str | None:
    if node.get("type") != "object" and "object" not in _types(node):
        return None
    if node.get("additionalProperties") is not False:
        return "admits any key; declare the keys, as a dataclass, model or TypedDict does"
    optional = set(node.get("properties", {})) - set(node.get("required", []))
    return f"may come without {min(optional)!r}; give it no default" if optional else None


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
