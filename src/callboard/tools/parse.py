"""From what a model sent to what a tool receives: one total parser for all paths."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import SchemaValidator, ValidationError

from callboard.tools.entry import Parse, Parsed
from callboard.tools.places import legal_keys
from callboard.tools.reading import SHORT, read_json, text_of
from callboard.tools.refusals import failed_validator, not_an_object, refusal, too_many
from callboard.tools.repair import MAX_COMPLAINTS, Complaint, Place, repaired, written
from callboard.tools.textforms import REPAIRING
from callboard.tools.walk import is_dict


def arguments_parser(
    node: Mapping[str, Any],
    definitions: Mapping[str, Any],
    pairs: Callable[[dict[str, Any]], int],
    filled: Callable[[dict[str, Any]], dict[str, Any]] | None,
) -> Parse:
    """The parser of a tool whose arguments pydantic validates.

    The first validator lets unknown arguments by, which is faster: they show in the count of pairs.

    Args:
        node: the exact core schema of the arguments: a closed TypedDict.
        definitions: the schemas it refers to.
        pairs: the number of key-value pairs that the JSON of the given arguments holds if no key is doubled.
        filled: adds the defaults to the given arguments; None where every parameter is required.
    """
    validate = _validator({**node, "extra_behavior": "ignore"}, definitions).validate_json
    fields: Mapping[str, Any] = node["fields"]
    size, legal = len(fields), {field.get("validation_alias", name) for name, field in fields.items()}
    second = _SecondLook(node, definitions, filled)

    def parse(raw: Any) -> Parsed:
        if type(raw) is not str or len(raw) > SHORT:
            raw = text_of(raw)
        try:
            value = validate(raw, strict=True)
        except Exception:  # noqa: BLE001 - a validator of the author's may raise anything: the second look tells
            return second(raw)
        # doubled keys, unknown keys, colons in texts, or values that may hold a number outside a double
        if raw.count(":") != pairs(value) and not read_json(raw).keys() <= legal:
            return second(raw)
        if filled is not None and len(value) != size:
            value = filled(value)
        return value, raw, False

    return parse


def _validator(node: Any, definitions: Mapping[str, Any]) -> SchemaValidator:
    # decisions/0002: without this switch nested models would be validated by their own, open validators
    if definitions:
        node = {"type": "definitions", "schema": node, "definitions": list(definitions.values())}
    return SchemaValidator(node, _use_prebuilt=False)


class _SecondLook:
    """What the first pass refused: nothing at all, a repair, or an error that helps."""

    __slots__ = ("_definitions", "_filled", "_node", "_validate")

    def __init__(
        self, node: Mapping[str, Any], definitions: Mapping[str, Any], filled: Callable[[Any], Any] | None
    ) -> None:
        self._node = node
        self._definitions = definitions
        self._filled = filled
        self._validate: Callable[..., Any] | None = None

    def __call__(self, raw: str) -> Parsed:
        text = raw if raw.strip() else "{}"
        given: Any = read_json(text_of(text), exact=True)
        if given is None:
            text, given = "{}", {}
        complaints = self._complaints(text, None)
        if not isinstance(complaints, list):
            return complaints, text, False
        made = repaired(given, complaints, self._optional)
        if made is not None:
            given, text = made[0], written(made[0])
            complaints = self._complaints(text, REPAIRING)
            if not isinstance(complaints, list):
                return complaints, text, made[1]
        elif not is_dict(given):
            raise not_an_object(given)
        raise refusal(given, complaints, self._keys)

    def _complaints(self, text: str, context: Any) -> dict[str, Any] | list[Complaint]:
        """The arguments, defaults included; or what is wrong with them."""
        if self._validate is None:
            self._validate = _validator(self._node, self._definitions).validate_json
        try:
            value = self._validate(text, strict=True, context=context)
        except ValidationError as error:
            if error.error_count() > MAX_COMPLAINTS:
                raise too_many(error.error_count()) from None
            told = error.errors(include_url=False, include_context=False, include_input=False)
            return [Complaint(each["loc"], each["type"], each["msg"]) for each in told]
        except Exception as failure:
            raise failed_validator(failure) from failure
        return value if self._filled is None else self._filled(value)

    def _keys(self, place: Place) -> dict[str, bool]:
        return legal_keys(self._node, self._definitions, place)

    def _optional(self, place: Place) -> bool:
        return bool(place) and self._keys(place[:-1]).get(str(place[-1]), True) is False
