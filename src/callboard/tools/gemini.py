"""A schema in the part of JSON Schema that Gemini documents for `parametersJsonSchema`.

What it lacks is rewritten where it can be said another way, told in the description where a model can still
follow it, and else left away: what is shown may admit more than the tool does, never less. The tool's own
validator judges every call by the schema as it came.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from math import ceil, floor
from typing import Any, NamedTuple

from callboard.tools.refs import MAX_INLINED, Schema, TooLarge, pointed
from callboard.tools.textforms import FORMS
from callboard.tools.walk import is_dict, is_list

# Keywords that say nothing where the value is of another type.
_OF_TYPE: Mapping[str, frozenset[str]] = {
    "string": frozenset({"format", "maxLength", "minLength", "pattern"}),
    "number": frozenset({
        "exclusiveMaximum", "exclusiveMinimum", "format", "maximum", "minimum", "multipleOf",
    }),
    "array": frozenset({
        "contains", "items", "maxContains", "maxItems", "minContains", "minItems", "prefixItems",
        "unevaluatedItems", "uniqueItems",
    }),
    "object": frozenset({
        "additionalProperties", "dependentRequired", "dependentSchemas", "maxProperties", "minProperties",
        "patternProperties", "properties", "propertyNames", "required", "unevaluatedProperties",
    }),
    "boolean": frozenset(),
    "null": frozenset(),
}  # fmt: skip
_TYPED: frozenset[str] = frozenset[str]().union(*_OF_TYPE.values())
FORMATS: Mapping[str, frozenset[str]] = {
    "string": frozenset({"date", "date-time", "time"}),
    "number": frozenset({"double", "float"}),
    "integer": frozenset({"int32", "int64"}),
}
# What a description says in place of a keyword.
_TOLD: Mapping[str, str] = {
    "default": "default: {}",
    "examples": "for example: {}",
    "exclusiveMaximum": "less than {}",
    "exclusiveMinimum": "more than {}",
    "format": "format: {}",
    "maxLength": "at most {} characters",
    "maxProperties": "at most {} keys",
    "minLength": "at least {} characters",
    "minProperties": "at least {} keys",
    "multipleOf": "a multiple of {}",
    "pattern": "pattern: {}",
    "spelling": "such as {}",
    "uniqueItems": "no item twice",
}
_PARTS = ("allOf", "anyOf", "oneOf", "enum", "const")
# What only describes, or is for other readers.
_SILENT = frozenset({
    "$anchor", "$comment", "$dynamicAnchor", "$id", "$schema", "$vocabulary", "contentEncoding",
    "contentMediaType", "contentSchema", "deprecated", "discriminator", "readOnly", "title", "writeOnly",
})  # fmt: skip
# Conditions that neither a keyword nor a few words can say.
_LOST = frozenset({
    "$dynamicRef", "contains", "dependentRequired", "dependentSchemas", "else", "if", "maxContains",
    "minContains", "not", "patternProperties", "propertyNames", "then", "unevaluatedItems",
    "unevaluatedProperties",
})  # fmt: skip
_LONGEST = 200  # characters of a value that is told
_SPELLED = {f"^{form.pattern}$": form.example for form in FORMS.values()}


class RequiredCycle(Exception):
    """A schema contains itself in a part that a call can't leave out."""


class ForGemini(NamedTuple):
    """A rewritten schema, and the keywords whose conditions it no longer says, sorted."""

    schema: Schema
    lost: list[str]


def for_gemini(root: Schema) -> ForGemini:
    """The schema as Gemini takes it.

    Args:
        root: an object at its root, with all references of the form ``#/$defs/name``.

    Raises:
        RequiredCycle: a reference leads back to itself through required parts only; Gemini unrolls those
            behind properties that a call may leave out.
        TooLarge: rewritten it has more than 20,000 parts.
    """
    writer = _Writer(root)
    made = writer.node({key: value for key, value in root.items() if key != "$defs"})
    defs = {name: writer.node(part) for name, part in root.get("$defs", {}).items()}
    needed = _needed(made, defs)
    if needed:
        made["$defs"] = needed
    _refuse_cycles(made)
    return ForGemini(made, sorted(writer.lost))


def _needed(made: Schema, defs: Mapping[str, Schema]) -> Schema:
    kept: Schema = {}
    todo = [ref for ref, _ in _refs(made)]
    while todo:
        name = todo.pop().removeprefix("#/$defs/")
        if name not in kept:
            kept[name] = defs[name]
            todo.extend(ref for ref, _ in _refs(defs[name]))
    return {name: kept[name] for name in sorted(kept)}


def _refs(node: Schema, *, optional: bool = False) -> Iterable[tuple[str, bool]]:
    """(reference, whether it stands behind a property that may be left out)."""
    if "$ref" in node:
        yield node["$ref"], optional
    required = node.get("required", [])
    for name, part in node.get("properties", {}).items():
        yield from _refs(part, optional=optional or name not in required)
    below = [*node.get("anyOf", []), *node.get("prefixItems", [])]
    below += [node[key] for key in ("items", "additionalProperties") if is_dict(node.get(key))]
    for part in below:
        yield from _refs(part, optional=optional)


def _refuse_cycles(root: Schema) -> None:
    firmly = {
        name: {ref.removeprefix("#/$defs/") for ref, optional in _refs(part) if not optional}
        for name, part in root.get("$defs", {}).items()
    }
    for start, below in firmly.items():
        seen: set[str] = set()
        todo = list(below)
        while todo:
            name = todo.pop()
            if name == start:
                raise RequiredCycle(f"{start!r} contains itself in a part that a call can't leave out")
            if name not in seen:
                seen.add(name)
                todo.extend(firmly[name])


class _Writer:
    """Rewrites schemas one by one, and remembers what could not be said."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._parts = 0
        self.lost: set[str] = set()

    def node(self, node: Any) -> Schema:
        """One schema, and all below it."""
        if not is_dict(node):
            return {}
        self._parts += 1
        if self._parts > MAX_INLINED:
            raise TooLarge
        told: list[str] = []
        text = node.get("description")
        made = self._body(self._merged(node, ()), told)
        words = [each for each in (text, f"({'; '.join(told)})" if told else None) if each]
        if not words:
            return made
        if "$ref" in made:
            made = {"anyOf": [made]}  # nothing may stand beside a reference
        return {"description": " ".join(words), **made}

    def _body(self, node: Schema, told: list[str]) -> Schema:
        self.lost |= node.keys() & _LOST
        for key in ("default", "examples"):
            if key in node:
                _tell(told, key, node[key][:1] if key == "examples" else node[key])
        kept = {key: value for key, value in node.items() if key in {*_PARTS, *_TYPED, "$ref", "type"}}
        if kept.keys() == {"$ref"}:
            return kept
        if "$ref" in kept:  # on a cycle, or it would have been written out
            self.lost |= kept.keys() - {"$ref"}
            return {"$ref": kept["$ref"]}
        if "anyOf" in kept:
            return self._either(kept)
        if "enum" in kept:
            return self._choices(kept, told)
        kinds = kept.get("type", [])
        if is_list(kinds) and len(kinds) > 1:
            return self._either({**kept, "type": None, "anyOf": [{"type": kind} for kind in kinds]})
        if is_list(kinds):
            kinds = kinds[0] if kinds else None
        return self._typed(kinds or None, kept, told)

    def _either(self, node: Schema) -> Schema:
        """A union; what stands beside it goes into each branch."""
        beside = {key: value for key, value in node.items() if key != "anyOf" and value is not None}
        branches: list[Schema] = []
        for branch in node["anyOf"]:
            if branch is False or (is_dict(branch) and branch == {"not": {}}):
                continue
            whole = branch
            if beside:
                whole = self._merged({"allOf": [branch if is_dict(branch) else {}, beside]}, ())
            made = self.node(whole)
            if made not in branches:
                branches.append(made)
        if {} in branches or not branches:
            return {}
        return branches[0] if len(branches) == 1 else {"anyOf": _flattened(branches)}

    def _choices(self, node: Schema, told: list[str]) -> Schema:
        """Values to choose from, by type: Gemini lists texts and numbers only."""
        kinds = node.get("type")
        allowed = None if kinds is None else set(kinds if is_list(kinds) else [kinds])
        groups: dict[str, list[Any]] = {}
        for value in node["enum"]:
            kind = _kind(value)
            wide = {kind, "number"} if kind == "integer" else {kind}
            if kind == "number" and value == floor(value):
                wide.add("integer")
            if allowed is None or wide & allowed:
                groups.setdefault("number" if kind == "integer" else kind, []).append(value)
        made = [self._choice(kind, values, told) for kind, values in groups.items()]
        return made[0] if len(made) == 1 else {"anyOf": made} if made else {}

    def _choice(self, kind: str, values: list[Any], told: list[str]) -> Schema:
        if kind == "string" and "" not in values:  # an empty text is refused in a list of choices
            return {"type": kind, "enum": values}
        if kind == "number":
            whole = all(isinstance(value, int) for value in values)
            return {"type": "integer" if whole else "number", "enum": values}
        if kind != "null" and not (kind == "boolean" and len(values) > 1):
            _tell(told, "enum", values)
        return {"type": kind, "items": {}} if kind == "array" else {"type": kind}

    def _typed(self, kind: str | None, node: Schema, told: list[str]) -> Schema:
        words = _TYPED if kind is None else _OF_TYPE["number" if kind == "integer" else kind]
        given = {key: value for key, value in node.items() if key in words}
        made: Schema = {} if kind is None else {"type": kind}
        if kind == "integer":
            _whole_bounds(given)
        for key in ("maxItems", "minItems", "maximum", "minimum"):
            if key in given:
                made[key] = int(given[key]) if key.endswith("Items") else given[key]
        if given.get("pattern") in _SPELLED:  # ours, and longer than what it says
            given["spelling"] = _SPELLED[given.pop("pattern")]
        if given.get("format") in FORMATS.get(kind or "", ()):
            made["format"] = given.pop("format")
        for key in _TOLD.keys() & given.keys():
            if given[key] is not False:
                _tell(told, key, given[key])
        told.sort()
        if kind in {"array", None}:
            self._add_items(kind, given, made)
        if kind in {"object", None}:
            self._add_properties(given, made)
        return made

    def _add_items(self, kind: str | None, given: Schema, made: Schema) -> None:
        first: list[Any] = given.get("prefixItems", [])
        if first:
            made["prefixItems"] = [self.node(part) for part in first]
        rest = given.get("items")
        if rest is False or rest == {"not": {}}:
            made["maxItems"] = min(len(first), made.get("maxItems", len(first)))
            rest = None
        if rest is not None:
            made["items"] = self.node(rest)
        elif kind == "array" and not first:
            made["items"] = {}

    def _add_properties(self, given: Schema, made: Schema) -> None:
        others = given.get("additionalProperties")
        if "patternProperties" in given:
            others = None
        shut = others is False or others == {"not": {}}
        properties = {
            name: self.node(part) for name, part in given.get("properties", {}).items() if part != {"not": {}}
        }
        for name in given.get("required", []):
            if name not in properties:
                properties[name] = {} if shut or not is_dict(others) else self.node(others)
        if properties or "properties" in given:
            made["properties"] = properties
        if given.get("required"):
            made["required"] = given["required"]
        if others is not None:
            made["additionalProperties"] = self.node(others) if is_dict(others) and not shut else not shut

    def _merged(self, node: Schema, above: tuple[str, ...]) -> Schema:
        """The schema without `allOf`, `oneOf` and `const`, and with what a reference beside others says."""
        made = {key: value for key, value in node.items() if key not in {"allOf", "oneOf", "const"}}
        if "const" in node:
            made = _both(made, {"enum": [node["const"]]})
        if "oneOf" in node:
            made = _both(made, {"anyOf": node["oneOf"]})
        parts = [part for part in node.get("allOf", []) if is_dict(part)]
        ref = made.get("$ref")
        if ref is not None and (parts or made.keys() & {*_PARTS, *_TYPED, "type"}):
            del made["$ref"]
            parts.insert(0, {"$ref": ref})
        for part in parts:
            made = _both(made, self._written(part, above, alone=len(parts) == 1 and not made))
        return made

    def _written(self, part: Schema, above: tuple[str, ...], *, alone: bool) -> Schema:
        ref = part.get("$ref")
        if ref is None or alone:
            return self._merged(part, above)
        if ref in above:
            self.lost.add("allOf")
            return {}
        beside = {key: value for key, value in part.items() if key != "$ref"}
        target = pointed(self._root, ref)
        target = target if is_dict(target) else {}
        above = (*above, ref)
        return self._merged(_both(self._merged(beside, above), self._merged(target, above)), above)


def _both(first: Schema, second: Schema) -> Schema:
    """What satisfies both satisfies this: where both have a word for it, the first one's stays."""
    made = {**second, **first}
    if "properties" in first and "properties" in second:
        shared = first["properties"].keys() & second["properties"].keys()
        made["properties"] = {
            **first["properties"],
            **second["properties"],
            **{name: _whole(first["properties"][name], second["properties"][name]) for name in shared},
        }
    if "required" in first and "required" in second:
        made["required"] = [
            *first["required"],
            *(n for n in second["required"] if n not in first["required"]),
        ]
    if "type" in first and "type" in second and first["type"] == "number" and second["type"] == "integer":
        made["type"] = "integer"
    return made


def _whole(first: Any, second: Any) -> Any:
    return first if first == second else {"allOf": [first, second]}


def _flattened(branches: list[Schema]) -> list[Schema]:
    """A union of unions as one."""
    flat: list[Schema] = []
    for branch in branches:
        inner: list[Schema] = branch["anyOf"] if branch.keys() == {"anyOf"} else [branch]
        flat += [each for each in inner if each not in flat]
    return flat


def _whole_bounds(given: Schema) -> None:
    """Exclusive bounds of an integer, said inclusively."""
    bounds: list[tuple[str, str, Callable[[Any], int], Callable[..., Any]]] = [
        ("exclusiveMinimum", "minimum", lambda value: floor(value) + 1, max),
        ("exclusiveMaximum", "maximum", lambda value: ceil(value) - 1, min),
    ]
    for exclusive, inclusive, whole, tighter in bounds:
        if exclusive in given:
            bound = whole(given.pop(exclusive))
            given[inclusive] = tighter(bound, given.get(inclusive, bound))


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    kinds: list[tuple[Any, str]] = [
        (bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"),
    ]  # fmt: skip
    return next((kind for python, kind in kinds if isinstance(value, python)), "object")


def _tell(told: list[str], key: str, value: Any) -> None:
    shown = value if isinstance(value, str) and key in {"format", "pattern", "spelling"} else _json(value)
    if key in {"enum", "examples"}:
        shown = ", ".join(_json(each) for each in value)
    text = _TOLD.get(key, "one of: {}").format(shown)
    if len(text) <= _LONGEST and text not in told:
        told.append(text)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
