"""What may stand at a place of the arguments: found in the core schema, for errors and repairs only."""

from collections.abc import Iterator, Mapping
from typing import Any

from callboard.tools.walk import is_dict, is_tuple

Place = tuple[str | int, ...]


def legal_keys(node: Mapping[str, Any], definitions: Mapping[str, Any], place: Place) -> dict[str, bool]:
    """The keys that an object at this place may have, and whether each is required.

    Args:
        node: the core schema of the arguments.
        definitions: the schemas it refers to.
        place: the validator's path of the object, names of branches included.
    """
    found: dict[str, bool] = {}
    for end in _at(node, definitions, place):
        for key, required in _fields(end):
            found.setdefault(key, required)
    return found


def _fields(node: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    for name, field in _named(node["fields"]):
        yield (
            str(field.get("validation_alias", name)),
            field.get("required", True) and field["schema"]["type"] != "default",
        )


def _named(fields: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a model or TypedDict, which pydantic keeps by name, or of a dataclass, which it lists."""
    if is_dict(fields):
        yield from fields.items()
    else:
        yield from ((field["name"], field) for field in fields if field.get("init", True))


def bare_choice(choice: Any) -> Any:
    """The schema of a union's choice, without its label."""
    return choice[0] if is_tuple(choice) else choice


def _objects(
    node: Any, definitions: Mapping[str, Any], seen: frozenset[str] = frozenset()
) -> Iterator[Mapping[str, Any]]:
    """The nodes of containers behind wrappers, unions and references."""
    kind = node.get("type")
    if kind == "definition-ref":
        ref: str = node["schema_ref"]
        if ref not in seen and ref in definitions:
            yield from _objects(definitions[ref], definitions, seen | {ref})
    elif kind in {"union", "tagged-union"}:
        choices: Any = node["choices"]
        for choice in choices.values() if is_dict(choices) else choices:
            yield from _objects(bare_choice(choice), definitions, seen)
    elif kind == "chain":
        yield from _objects(node["steps"][0], definitions, seen)
    elif kind in {"typed-dict", "model-fields", "dataclass-args", "list", "dict", "tuple"}:
        yield node
    elif "schema" in node:
        yield from _objects(node["schema"], definitions, seen)


def _at(node: Any, definitions: Mapping[str, Any], place: Place) -> Iterator[Mapping[str, Any]]:
    for container in _objects(node, definitions):
        if not place:
            if "fields" in container:
                yield container
            continue
        below = list(_below(container, place[0]))
        if below:
            for inner in below:
                yield from _at(inner, definitions, place[1:])
        else:  # the name of a branch, not a place
            yield from _at(container, definitions, place[1:])


def _below(container: Mapping[str, Any], step: str | int) -> Iterator[Any]:
    kind = container["type"]
    if kind == "list" and isinstance(step, int):
        yield container.get("items_schema", {"type": "any"})
    elif kind == "tuple" and isinstance(step, int):
        items = container["items_schema"]
        yield items[min(step, len(items) - 1)] if items else {"type": "any"}
    elif kind == "dict":
        yield container.get("values_schema", {"type": "any"})
    elif "fields" in container:
        for name, field in _named(container["fields"]):
            if field.get("validation_alias", name) == step:
                yield field["schema"]
