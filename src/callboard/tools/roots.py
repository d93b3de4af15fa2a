"""Unions at the root of a schema: providers refuse them, so they are flattened for showing.

What is shown then admits combinations of branches that the tool refuses, and a property that only some
branches name keeps what they say of it. The tool's own validator still judges every call, by the schema as it
came.
"""

from collections.abc import Mapping
from typing import Any

from callboard.tools.refs import Schema, pointed
from callboard.tools.walk import is_dict

_UNIONS = ("anyOf", "oneOf")
# What may stand in a branch that is flattened; more would be lost without a trace.
_PLAIN = frozenset(
    {"$defs", "$schema", "additionalProperties", "description", "properties", "required", "title", "type"}
)
_FORBIDDEN = frozenset(
    {"const", "dependentSchemas", "else", "enum", "if", "not", "then", "unevaluatedProperties"}
)
_DEPTH = 8


class RootUnion(Exception):
    """A root that can't be shown as one object."""


def is_object_root(root: Mapping[str, Any]) -> bool:
    """Whether only objects are admitted at the root: directly, or by every branch of a union."""
    return _is_object(root, root, _DEPTH)


def _is_object(root: Mapping[str, Any], node: Any, room: int) -> bool:
    if not is_dict(node) or not room:
        return False
    schema = node
    if schema.get("type") == "object":
        return True
    if "type" in schema:
        return False
    if isinstance(schema.get("$ref"), str):
        return _is_object(root, pointed(root, schema["$ref"]), room - 1)
    for word in _UNIONS:
        if schema.get(word):
            return all(_is_object(root, branch, room - 1) for branch in schema[word])
    return any(_is_object(root, branch, room - 1) for branch in schema.get("allOf", []))


def flat_root(root: Schema) -> Schema:
    """The schema as one object at its root: the same one where it is one already.

    Raises:
        RootUnion: where the union's branches are no plain objects.
    """
    if root.get("type") == "object" and not root.keys() & {*_UNIONS, *_FORBIDDEN, "allOf", "$ref"}:
        return root
    made = _flat(root, root, _DEPTH)
    if "$defs" in root:
        made = {**made, "$defs": root["$defs"]}
    return made


def _flat(root: Schema, node: Any, room: int) -> Schema:
    if node is True:
        return {"type": "object"}
    if not is_dict(node) or not room or node.keys() & _FORBIDDEN:
        raise RootUnion("its root has conditions that no plain object can say")
    own = {key: value for key, value in node.items() if key in _PLAIN and key not in {"$defs", "$schema"}}
    parts = [own] if own.keys() & {"properties", "required"} else []
    if "$ref" in node:
        parts.append(_flat(root, pointed(root, node["$ref"]), room - 1))
    parts += [_flat(root, branch, room - 1) for branch in node.get("allOf", [])]
    for word in _UNIONS:
        branches = [branch for branch in node.get(word, []) if branch is not False]
        if branches:
            parts.append(_either([_flat(root, branch, room - 1) for branch in branches]))
    if not parts:
        parts = [own]
    loose = node.keys() - _PLAIN - {*_UNIONS, "$ref", "allOf", "discriminator"}
    if loose:
        raise RootUnion(f"its root uses {min(loose)!r}")
    made = _all_of(parts)
    told = {key: node[key] for key in ("description", "title") if key in node}
    return {**made, **told}


def _either(branches: list[Schema]) -> Schema:
    properties: dict[str, list[Any]] = {}
    for branch in branches:
        for name, schema in branch.get("properties", {}).items():
            known = properties.setdefault(name, [])
            if schema not in known:
                known.append(schema)
    lists: list[list[str]] = [branch.get("required", []) for branch in branches]
    required = set(lists[0]).intersection(*lists[1:])
    made: Schema = {
        "type": "object",
        "properties": {
            name: schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
            for name, schemas in properties.items()
        },
    }
    if required:
        made["required"] = [name for name in properties if name in required]
    if all(branch.get("additionalProperties") is False for branch in branches):
        made["additionalProperties"] = False
    return made


def _all_of(parts: list[Schema]) -> Schema:
    properties: dict[str, Any] = {}
    for part in parts:
        for name, schema in part.get("properties", {}).items():
            known = properties.get(name)
            properties[name] = schema if known is None or known == schema else {"allOf": [known, schema]}
    required = [name for name in properties if any(name in part.get("required", []) for part in parts)]
    made: Schema = {"type": "object", "properties": properties}
    if required:
        made["required"] = required
    if len(parts) == 1 and "additionalProperties" in parts[0]:
        made["additionalProperties"] = parts[0]["additionalProperties"]
    return made
