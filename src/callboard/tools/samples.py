"""A call that a tool takes, made from its schema: examples and defaults first, then the plainest values."""

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from callboard.tools.entry import RegisteredTool
from callboard.tools.patterns import text_for
from callboard.tools.refs import Schema, pointed
from callboard.tools.textforms import FORMS
from callboard.tools.walk import NotJson, is_dict, is_list, json_text

_TRIES = 12
_DEPTH = 12
_SHALLOW = 1
_FORMATS: Mapping[str, str] = {
    "date": "2024-05-31",
    "date-time": "2024-05-31T10:00:00Z",
    "duration": "PT1H30M",
    "email": "ada@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "time": "10:00:00Z",
    "uri": "https://example.org/",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}
_SPELLED = {f"^{form.pattern}$": form.example for form in FORMS.values()}


class _Nothing(Exception):
    """No value was found here."""


def sample(entry: RegisteredTool[Any]) -> str | None:
    """The JSON text of arguments that the tool's own parser takes as they are; None where none was found.

    Required arguments, and those that have an example. The tool's own validators run, the tool does not.
    """
    for text in _candidates(entry.input_schema):
        with suppress(Exception):  # the tool's own validators may raise anything
            _, _, repaired = entry.parse(text)
            if not repaired:
                return text
    return None


def _candidates(schema: Mapping[str, Any]) -> Iterator[str]:
    """With the examples that the schema names, one after the other; then without."""
    seen: set[str] = set()
    for exampled in (True, False):
        for number in range(_TRIES):
            try:
                text = json_text(_Maker(schema, exampled=exampled).made(schema, number, 0))
            except (_Nothing, NotJson, re.error, ValueError, TypeError):
                continue
            if text not in seen:
                seen.add(text)
                yield text


class _Maker:
    def __init__(self, root: Mapping[str, Any], *, exampled: bool) -> None:
        self._root = root
        self._exampled = exampled

    def made(self, node: Any, number: int, depth: int) -> Any:
        """The value with this number that the schema admits, or nearly so."""
        if depth > _DEPTH or node is False:
            raise _Nothing
        if not is_dict(node):
            return "text"
        node = self._whole(node)
        given = self._given(node)
        if given and (number < len(given) or node.keys() & {"const", "enum"}):
            return given[number % len(given)]
        branches = [*node.get("anyOf", []), *node.get("oneOf", [])]
        if branches:
            return self._branch(node, branches, number, depth)
        kinds = node.get("type")
        if is_list(kinds):
            kinds = next((kind for kind in kinds if kind != "null"), "null")
        return self._of_type(kinds or _guessed(node), node, number, depth)

    def _given(self, node: Schema) -> list[Any]:
        """The values that the schema itself names."""
        found: list[Any] = []
        if self._exampled:
            found += node.get("examples", [])
            found += [node["default"]] if node.get("default") is not None else []
        return found + ([node["const"]] if "const" in node else node.get("enum", []))

    def _whole(self, node: Schema) -> Schema:
        """The schema with what its references and `allOf` say."""
        made = {key: value for key, value in node.items() if key not in {"$ref", "allOf"}}
        parts = [*node.get("allOf", []), *([{"$ref": node["$ref"]}] if "$ref" in node else [])]
        for _ in range(_DEPTH):
            if not parts:
                break
            part = parts.pop()
            if is_dict(part) and "$ref" in part:
                part = {**pointed(self._root, part["$ref"]), **{k: v for k, v in part.items() if k != "$ref"}}
            if is_dict(part):
                parts += part.get("allOf", [])
                made = _joined(made, part)
        return self._whole(made) if "$ref" in made else made

    def _branch(self, node: Schema, branches: list[Any], number: int, depth: int) -> Any:
        beside = {key: value for key, value in node.items() if key not in {"anyOf", "oneOf", "default"}}
        if depth > _SHALLOW and {"type": "null"} in branches:
            return None  # what contains itself ends soon
        first = number % len(branches)
        for branch in [*branches[first:], *branches[:first]]:
            if is_dict(branch) and branch.get("type") != "null":
                try:
                    return self.made({"allOf": [branch, beside]}, 0, depth + 1)
                except _Nothing:
                    continue
        if {"type": "null"} in branches:
            return None
        raise _Nothing

    def _of_type(self, kind: str, node: Schema, number: int, depth: int) -> Any:
        match kind:
            case "string":
                return _text(node, number)
            case "integer" | "number":
                return _number(node, number, whole=kind == "integer")
            case "boolean":
                return number % 2 == 0
            case "array":
                return self._list(node, depth)
            case "object":
                return self._object(node, number, depth)
            case _:
                return None

    def _list(self, node: Schema, depth: int) -> list[Any]:
        first: list[Any] = node.get("prefixItems", [])
        length = max(int(node.get("minItems", 0)), min(1, node.get("maxItems", 1)))
        made: list[Any] = []
        for number in range(length):
            others = (
                node["contains"] if number == len(first) and "contains" in node else node.get("items", {})
            )
            part = first[number] if number < len(first) else others
            try:
                made.append(self.made(part, number if node.get("uniqueItems") else 0, depth + 1))
            except _Nothing:
                if number < node.get("minItems", 0):
                    raise
                break
        return made

    def _object(self, node: Schema, number: int, depth: int) -> dict[str, Any]:
        required: list[str] = node.get("required", [])
        made: dict[str, Any] = {}
        for name, part in node.get("properties", {}).items():
            exampled = self._exampled and is_dict(part) and part.get("examples")
            if name in required or exampled:
                made[name] = self.made(part, number, depth + 1)
        others = node.get("additionalProperties", True)
        for name in required:
            if name not in made:
                made[name] = self.made(others, number, depth + 1)
        keys = node.get("propertyNames", {})
        for extra in range(max(0, int(node.get("minProperties", 0)) - len(made))):
            name = _text({"type": "string", **keys}, extra) if keys else f"key{extra + 1}"
            made[name] = self.made(others, extra, depth + 1)
        return made


def _joined(first: Schema, second: Schema) -> Schema:
    made = {key: value for key, value in {**second, **first}.items() if key != "allOf"}
    if "properties" in first and "properties" in second:
        made["properties"] = {**second["properties"], **first["properties"]}
    if "required" in first and "required" in second:
        made["required"] = [*first["required"], *second["required"]]
    return made


def _guessed(node: Schema) -> str:
    if node.keys() & {"properties", "required", "additionalProperties"}:
        return "object"
    if node.keys() & {"items", "prefixItems", "minItems"}:
        return "array"
    return "number" if node.keys() & {"minimum", "maximum", "multipleOf"} else "string"


def _text(node: Schema, number: int) -> str:
    pattern = node.get("pattern")
    if pattern in _SPELLED:
        return _SPELLED[pattern]
    if node.get("format") in _FORMATS:
        return _FORMATS[node["format"]]
    if pattern is not None:
        return text_for(pattern, number)
    shortest, longest = int(node.get("minLength", 0)), node.get("maxLength", 200)
    text = "text" if number == 0 else f"text {number + 1}"
    return text.ljust(shortest, "x")[: int(longest)]


def _number(node: Schema, number: int, *, whole: bool) -> int | float:
    step = node.get("multipleOf", 1 if whole else 0)
    above, below = node.get("exclusiveMinimum"), node.get("exclusiveMaximum")
    least = max((bound for bound in (node.get("minimum"), above) if bound is not None), default=None)
    most = min((bound for bound in (node.get("maximum"), below) if bound is not None), default=None)
    if least is None:
        least = 1 if most is None or most > 1 else most - (step or 1)
    value = math.ceil(round(least / step, 9)) * step if step else least
    if above is not None and value <= above:
        value = value + step if step else (least + most) / 2 if most is not None else least + 1
    further = value + number * (step or 1)
    if most is None or further < most or (below is None and further == most):
        value = further
    return int(value) if whole or value == int(value) else value
