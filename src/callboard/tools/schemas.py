"""Tools that come with a JSON Schema: it validates their arguments as it stands; nothing is ever fetched."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec.structs import replace

from callboard.errors import RegistrationError
from callboard.tools.entry import Parsed
from callboard.tools.reading import MAX_VALUES, holds_more, is_nothing, read_json, text_of
from callboard.tools.refs import Schema, plain, pointed
from callboard.tools.refusals import not_an_object, refusal, too_many, unfit
from callboard.tools.repair import MAX_COMPLAINTS, Complaint, Place, repaired, written
from callboard.tools.schema_check import MAX_LEVELS, checked_schema
from callboard.tools.walk import is_dict

# From the wanted types of a JSON Schema to the names under which repairs are kept.
_WANTED: Mapping[frozenset[str], str] = {
    frozenset({"array"}): "list_type",
    frozenset({"boolean"}): "bool_type",
    frozenset({"integer"}): "int_type",
    frozenset({"number"}): "float_type",
    frozenset({"object"}): "dict_type",
}

_MASK = "the value"  # stands for it in errors: it may be long


class SchemaParser:
    """The parser of one such tool, and what is known of its schema."""

    __slots__ = ("_validator", "schema")

    def __init__(self, tool_id: str, given: Any) -> None:
        """Check the schema and compile it.

        Raises:
            RegistrationError: for a schema that is no JSON, no object at its root, refers to something
                outside itself, is too deep or too large, or is no valid draft 2020-12.
        """
        import jsonschema_rs  # noqa: PLC0415 - 20 ms, and only tools with a schema need it

        checked = checked_schema(tool_id, given)
        self.schema: Schema = checked.schema if checked.is_plain else plain(checked.schema)
        try:
            self._validator: Any = jsonschema_rs.Draft202012Validator(
                checked.schema, offline=True, validate_formats=True, mask=_MASK
            )
        except (ValueError, TypeError, jsonschema_rs.ReferencingError) as error:
            raise RegistrationError(
                f"tool {tool_id!r}: its schema can't be used: {error}", hint="write it in draft 2020-12"
            ) from None

    @property
    def properties(self) -> Mapping[str, Any]:
        """The properties at the root."""
        return self.schema.get("properties", {})

    @property
    def required(self) -> list[str]:
        """The required properties at the root."""
        return self.schema.get("required", [])

    @property
    def is_open(self) -> bool:
        """Whether keys pass that are none of `properties`."""
        return self.schema.get("additionalProperties", True) is not False

    def parse(self, raw: Any) -> Parsed:
        """See `callboard.tools.entry.Parse`."""
        text = text_of(raw)
        value: Any = read_json(text if text.strip() else "{}")
        if is_nothing(value) or not text.strip():
            text, value = "{}", {}
        if self._validator.is_valid(value):
            return value, text, False
        return self._second_look(text, value)

    def _second_look(self, text: str, value: Any) -> Parsed:
        if holds_more(value, MAX_VALUES):
            raise unfit()
        errors: list[Any] = list(islice(self._validator.iter_errors(value), MAX_COMPLAINTS + 1))
        complaints = [each for error in errors for each in _complaints(error)]
        if len(complaints) > MAX_COMPLAINTS:
            raise too_many(len(complaints))
        given = read_json(text, exact=True)
        made = repaired(given, complaints, self._optional)
        if made is not None:
            text = written(made[0])
            value = read_json(text)
            if self._validator.is_valid(value):
                return value, text, made[1]
        elif not is_dict(given):
            raise not_an_object(given)
        raise refusal(given, complaints, self._keys)

    def _keys(self, place: Place) -> dict[str, bool]:
        found: dict[str, bool] = {}
        for node in _at(self.schema, self.schema, place):
            required: list[str] = node.get("required", [])
            for key in node.get("properties", {}):
                found.setdefault(key, key in required)
        return found

    def _optional(self, place: Place) -> bool:
        return bool(place) and self._keys(place[:-1]).get(str(place[-1]), True) is False


def _at(root: Schema, node: Any, place: Place, room: int = MAX_LEVELS) -> Iterator[dict[str, Any]]:
    """The schemas that judge a place."""
    if not is_dict(node) or not room:
        return
    ref = node.get("$ref")
    branches: list[Any] = [pointed(root, ref)] if isinstance(ref, str) else []
    for word in ("allOf", "anyOf", "oneOf"):
        branches += node.get(word, [])
    for branch in branches:
        yield from _at(root, branch, place, room - 1)
    if not place:
        yield node
    elif isinstance(place[0], int):
        yield from _at(root, node.get("items"), place[1:], room - 1)
    elif _is_label(place[0]):
        yield from _at(root, node, place[1:], room - 1)
    else:
        yield from _at(root, node.get("properties", {}).get(place[0]), place[1:], room - 1)


def _label(number: int) -> str:
    return f"<choice {number + 1}>"


def _is_label(step: str) -> bool:
    return step.startswith("<choice ") and step.endswith(">")


def _complaints(error: Any) -> Iterator[Complaint]:
    """The complaints behind one refusal; that of a union is told per branch."""
    place: Place = tuple(error.instance_path)
    kind: Any = error.kind
    if kind.name in {"additionalProperties", "unevaluatedProperties"}:
        for key in kind.unexpected:
            yield Complaint((*place, key), "extra_forbidden", error.message)
    elif kind.name == "required":
        yield Complaint((*place, kind.property), "missing", error.message)
    elif kind.name == "type":
        yield Complaint(place, _WANTED.get(frozenset(kind.types) - {"null"}, "other"), error.message)
    elif hasattr(kind, "context") and any(kind.context):
        for number, branch in enumerate(kind.context):
            for inner in branch:
                for below in _complaints(inner):
                    yield replace(below, place=(*place, _label(number), *below.place[len(place) :]))
    else:
        yield Complaint(place, "enum" if kind.name in {"const", "enum"} else "other", error.message)
