"""References inside a JSON Schema: followed without ever running in circles."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from callboard.tools.walk import is_dict, is_list

Schema = dict[str, Any]

# What stands beside a reference and only describes.
ANNOTATIONS = frozenset(
    {"default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"}
)
# Keywords whose value is a list of schemas, or one schema; the last are closed more often than told.
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SINGLE = frozenset({"contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then"})
_CLOSING = frozenset({"additionalProperties", "unevaluatedItems", "unevaluatedProperties"})
# Keywords whose value maps names to schemas: a property may be called `enum`.
_BELOW = frozenset({"dependentSchemas", "patternProperties", "properties"})
_NAMED = _BELOW | {"$defs", "definitions"}
_HOLDING = _BELOW | _LISTS | _SINGLE | _CLOSING
MAX_INLINED = 20_000


class TooLarge(Exception):
    """A schema that would be too large with its references written out."""


def pointed(root: Any, ref: str) -> Any:
    """What a local reference points to.

    Raises:
        KeyError: where it points to nothing inside the document.
    """
    if ref == "#":
        return root
    node = root
    for part in _steps(ref):
        step = unquote(part).replace("~1", "/").replace("~0", "~")
        if is_list(node) and step.isdigit() and int(step) < len(node):
            node = node[int(step)]
        elif is_dict(node) and step in node:
            node = node[step]
        else:
            raise KeyError(ref)
    return node


def _steps(ref: str) -> list[str]:
    if not ref.startswith("#/"):
        raise KeyError(ref)
    return ref[2:].split("/")


def subschemas(node: Mapping[str, Any]) -> list[Schema]:
    """The schemas right below a schema; `$defs` are none of them."""
    found: list[Any] = []
    for key, value in node.items():
        if key not in _HOLDING:
            continue
        if key in _BELOW:
            found += value.values() if is_dict(value) else ()
        elif key in _LISTS:
            found += value if is_list(value) else ()
        else:
            found.append(value)
    return [part for part in found if is_dict(part)]


def mapped(node: Mapping[str, Any], change: Callable[[Any], Any]) -> Schema:
    """A copy of a schema with every schema right below it changed; what is data or unknown stays."""
    made: Schema = {}
    for key, value in node.items():
        if key in _NAMED and is_dict(value):
            made[key] = {name: change(item) for name, item in value.items()}
        elif key in _LISTS and is_list(value):
            made[key] = [change(item) for item in value]
        elif key in _SINGLE or (key in _CLOSING and is_dict(value)):
            made[key] = change(value)
        else:
            made[key] = value
    return made


def refs_in(node: Any) -> set[str]:
    """All references below a schema; those behind other references are not included."""
    found: set[str] = set()
    todo: list[Mapping[str, Any]] = [node] if is_dict(node) else []
    while todo:
        each = todo.pop()
        if isinstance(each.get("$ref"), str):
            found.add(each["$ref"])
        todo.extend(subschemas(each))
    return found


def closed_view(root: Mapping[str, Any], node: Any) -> Schema:
    """A part of a schema as a document of its own: with the definitions it needs, and no others.

    Args:
        root: a schema whose references all point to `$defs`: see `plain`.
        node: the part.
    """
    if not is_dict(node):
        return {} if node else {"not": {}}
    made = {key: value for key, value in node.items() if key != "$defs"}
    needed: dict[str, Any] = {}
    todo = list(refs_in(made))
    while todo:
        name = todo.pop().removeprefix(_DEFS)
        if name not in needed:
            needed[name] = root["$defs"][name]
            todo.extend(refs_in(needed[name]))
    return {**made, "$defs": {name: needed[name] for name in sorted(needed)}} if needed else made


_DEFS = "#/$defs/"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]+")


def plain(root: Schema) -> Schema:
    """The same schema in a form that is easily taken apart.

    Every reference is of the form ``#/$defs/name``, so that parts can be moved, and ``true`` and ``false``
    are objects.
    """
    moved: dict[str, str] = {}
    for ref in sorted(_all_refs(root)):
        name = ref.removeprefix(_DEFS)
        if not ref.startswith(_DEFS) or not _PLAIN_NAME.fullmatch(name):
            moved[ref] = _free_name(ref, {*root.get("$defs", {}), *moved.values()})
    targets = {name: pointed(root, ref) for ref, name in moved.items()}
    if "#" in moved:
        targets[moved["#"]] = {
            key: value for key, value in root.items() if key not in {"$defs", "$id", "$schema"}
        }
    defs = {**root.get("$defs", {}), **targets}
    made: Schema = _renamed({**root, "$defs": defs} if defs else root, moved)
    return made


def _free_name(ref: str, taken: set[str]) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", "_", ref).strip("_") or "root"
    while name in taken:
        name += "_"
    return name


def _renamed(node: Any, moved: Mapping[str, str]) -> Any:
    """The schema, and all below it, with references under their new names and no booleans for schemas."""
    if not is_dict(node):
        return {} if node else {"not": {}}
    made = mapped(node, lambda part: _renamed(part, moved))
    ref = made.get("$ref")
    if isinstance(ref, str) and ref in moved:
        made["$ref"] = _DEFS + moved[ref]
    return made


def inlined(root: Mapping[str, Any]) -> Schema:
    """The schema with every reference written out, but for those on a cycle, which stay.

    Raises:
        TooLarge: where that would make more than 20,000 parts.
    """
    return _Inliner(root).run()


class _Inliner:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._cyclic = {ref for ref in _all_refs(root) if _reaches(root, ref)}
        self._parts = 0

    def run(self) -> Schema:
        body = {key: value for key, value in self._root.items() if key != "$defs"}
        made = self._written(body)
        kept: Schema = {}
        todo = list(refs_in(made))
        while todo:
            ref = todo.pop()
            name = ref.removeprefix(_DEFS)
            if name not in kept:
                kept[name] = self._written(pointed(self._root, ref))
                todo.extend(refs_in(kept[name]))
        return {**made, "$defs": {name: kept[name] for name in sorted(kept)}} if kept else made

    def _written(self, node: Any) -> Any:
        if not is_dict(node):
            return node
        self._parts += 1
        if self._parts > MAX_INLINED:
            raise TooLarge
        made = mapped(node, self._written)
        made.pop("discriminator", None)  # an annotation that points to definitions by name
        ref = made.get("$ref")
        if not isinstance(ref, str) or ref in self._cyclic:
            return made
        beside = {key: value for key, value in made.items() if key != "$ref"}
        target = self._written(pointed(self._root, ref))
        if beside.keys() <= ANNOTATIONS:
            return {**target, **beside}
        return {**beside, "allOf": [target, *beside.get("allOf", [])]}


def _all_refs(root: Mapping[str, Any]) -> set[str]:
    found = refs_in(root)
    todo = list(found)
    while todo:
        for ref in refs_in(pointed(root, todo.pop())) - found:
            found.add(ref)
            todo.append(ref)
    return found


def _reaches(root: Mapping[str, Any], ref: str) -> bool:
    """Whether a reference leads back to itself."""
    seen: set[str] = set()
    todo = list(refs_in(pointed(root, ref)))
    while todo:
        each = todo.pop()
        if each in {ref, "#"}:
            return True
        if each not in seen:
            seen.add(each)
            todo.extend(refs_in(pointed(root, each)))
    return False
