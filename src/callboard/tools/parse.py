"""From what a model sent to what a tool receives: one total parser for all paths."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import SchemaValidator, ValidationError

from callboard.tools.entry import Parse, Parsed
from callboard.tools.places import legal_keys
from callboard.tools.reading import MAX_VALUES, SHORT, holds_more, is_nothing, read_json, text_of
from callboard.tools.refusals import failed_part, not_an_object, refusal, too_many
from callboard.tools.repair import MAX_COMPLAINTS, Complaint, Place, repaired, written
from callboard.tools.rewriting import Node, thorough
from callboard.tools.textforms import REPAIRING
from callboard.tools.walk import is_dict

Validate = Callable[..., Any]


def arguments_parser(
    node: Node,
    definitions: Mapping[str, Any],
    pairs: Callable[[dict[str, Any]], int],
    filled: Callable[[dict[str, Any]], dict[str, Any]] | None,
) -> Parse:
    """The parser of a tool whose arguments pydantic validates.

    The first validator lets unknown arguments by, which is faster: they show in the count of pairs. It stops
    at the first mistake in a list or dict: a flood of them must not hold up the event loop.

    Args:
        node: the exact core schema of the arguments: a closed TypedDict.
        definitions: the schemas it refers to.
        pairs: the number of key-value pairs that the JSON of the given arguments holds if no key is doubled.
        filled: adds the defaults to the given arguments; None where every parameter is required.
    """
    first: Node = {**node, "extra_behavior": "ignore"}
    validate = _validator(first, definitions)
    fields: Mapping[str, Any] = node["fields"]
    size, legal = len(fields), {field.get("validation_alias", name) for name, field in fields.items()}
    second = _SecondLook(first, definitions, filled, validate)

    def parse(raw: Any) -> Parsed:
        if type(raw) is not str or len(raw) > SHORT:
            raw = text_of(raw)
        try:
            value = validate(raw, strict=True)
            told = pairs(value)
        except Exception as failure:  # noqa: BLE001 - the author's code may raise anything: the second look tells
            return second(raw, failure)
        # doubled keys, unknown keys, colons in texts, or values that may hold a number outside a double
        if raw.count(":") != told and not read_json(raw).keys() <= legal:
            return second(raw, None)
        if filled is not None and len(value) != size:
            value = filled(value)
        return value, raw, False

    return parse


def _validator(node: Any, definitions: Mapping[str, Any]) -> Validate:
    # decisions/0002: without this switch nested models would be validated by their own, open validators
    if definitions:
        node = {"type": "definitions", "schema": node, "definitions": list(definitions.values())}
    return SchemaValidator(node, _use_prebuilt=False).validate_json


class _SecondLook:
    """What the first pass refused: nothing at all, a repair, or an error that helps."""

    __slots__ = ("_definitions", "_filled", "_legal", "_node", "_thorough", "_validate")

    def __init__(
        self,
        node: Node,
        definitions: Mapping[str, Any],
        filled: Callable[[Any], Any] | None,
        validate: Validate,
    ) -> None:
        self._node = node
        self._definitions = definitions
        self._filled = filled
        self._validate = validate
        self._thorough: Validate | None = None
        self._legal: dict[str, bool] | None = None

    def __call__(self, raw: str, failure: Exception | None) -> Parsed:
        if isinstance(failure, ValidationError) and failure.error_count() > MAX_COMPLAINTS:
            raise too_many(failure.error_count()) from None
        text = raw if raw.strip() else "{}"
        given, large = _read(text)
        if is_nothing(given):
            text, given = "{}", {}
        validate = self._validate if large else self._every_mistake()
        if validate is not self._validate or text is not raw:
            failure = None
        value, complaints = self._judged(validate, text, given, failure)
        if not complaints:
            return value, text, False
        made = None if large else repaired(given, complaints, self._optional)
        if made is not None:
            given, text = made[0], written(made[0])
            value, complaints = self._judged(validate, text, given, None, REPAIRING)
            if not complaints:
                return value, text, made[1]
        elif not is_dict(given):
            raise not_an_object(given)
        raise refusal(given, complaints, self._keys)

    def _judged(
        self, validate: Validate, text: str, given: Any, failure: Exception | None, context: Any = None
    ) -> tuple[Any, list[Complaint]]:
        """The arguments, defaults included, and what is wrong with them.

        Args:
            validate: judges the text.
            text: the arguments as text.
            given: the arguments as JSON.
            failure: what `validate` raised for this text before; None where it was not asked yet.
            context: for the validator.
        """
        value: Any = None
        if failure is None:
            try:
                value = validate(text, strict=True, context=context)
            except Exception as error:  # noqa: BLE001 - told below
                failure = error
        complaints = [] if failure is None else _told(failure)
        if is_dict(given):
            complaints += _unknown(given, self._keys(()))
        if not complaints and self._filled is not None:
            value = self._filled(value)
        return value, complaints

    def _every_mistake(self) -> Validate:
        if self._thorough is None:
            node, definitions = thorough(self._node), thorough(self._definitions)
            same = node == self._node and definitions == self._definitions
            self._thorough = self._validate if same else _validator(node, definitions)
        return self._thorough

    def _keys(self, place: Place) -> Mapping[str, bool]:
        if place:
            return legal_keys(self._node, self._definitions, place)
        if self._legal is None:
            self._legal = legal_keys(self._node, self._definitions, ())
        return self._legal

    def _optional(self, place: Place) -> bool:
        return bool(place) and self._keys(place[:-1]).get(str(place[-1]), True) is False


def _read(text: str) -> tuple[Any, bool]:
    """The value, numbers exact; and whether it is so large that nothing is repaired."""
    if len(text) > MAX_VALUES:
        value = read_json(text)
        if holds_more(value, MAX_VALUES):
            return value, True
    return read_json(text, exact=True), False


def _unknown(given: Mapping[str, Any], legal: Mapping[str, Any]) -> list[Complaint]:
    """A complaint for each unknown argument.

    Raises:
        InvalidArguments: where there are too many.
    """
    if given.keys() <= legal.keys():
        return []
    keys = [key for key in given if key not in legal]
    if len(keys) > MAX_COMPLAINTS:
        raise too_many(len(keys))
    return [Complaint((key,), "extra_forbidden", "") for key in keys]


def _told(failure: Exception) -> list[Complaint]:
    """What a validator said.

    Raises:
        InvalidArguments: where it said nothing of the kind, or too much.
    """
    if not isinstance(failure, ValidationError):
        raise failed_part("validator", failure) from failure
    if failure.error_count() > MAX_COMPLAINTS:
        raise too_many(failure.error_count())
    told = failure.errors(include_url=False, include_context=False, include_input=False)
    return [Complaint(each["loc"], each["type"], each["msg"]) for each in told]
