"""From what a model sent to what a tool receives: one total parser for all paths."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic_core import ErrorDetails, SchemaValidator, ValidationError

from callboard.errors import InvalidArguments
from callboard.tools.entry import Parse, Parsed
from callboard.tools.places import legal_keys
from callboard.tools.reading import SHORT, read_json, text_of
from callboard.tools.repair import Complaint, repaired, written
from callboard.tools.textforms import REPAIRING
from callboard.tools.walk import is_dict

# The longest list of complaints that a model is shown.
_SHOWN = 5


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
        except ValidationError:
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
        made = repaired(given, (Complaint(each["loc"], each["type"]) for each in complaints), self._optional)
        if made is not None:
            text = written(made[0])
            complaints = self._complaints(text, REPAIRING)
            if not isinstance(complaints, list):
                return complaints, text, made[1]
        elif not is_dict(given):
            raise not_an_object(given)
        raise refusal([(each["loc"], each["type"], each["msg"]) for each in complaints], self._keys)

    def _complaints(self, text: str, context: Any) -> dict[str, Any] | list[ErrorDetails]:
        """The arguments, defaults included; or what is wrong with them."""
        if self._validate is None:
            self._validate = _validator(self._node, self._definitions).validate_json
        try:
            value = self._validate(text, strict=True, context=context)
        except ValidationError as error:
            return error.errors(include_url=False, include_context=False, include_input=False)
        return value if self._filled is None else self._filled(value)

    def _keys(self, place: tuple[str | int, ...]) -> dict[str, bool]:
        return legal_keys(self._node, self._definitions, place)

    def _optional(self, place: tuple[str | int, ...]) -> bool:
        return bool(place) and self._keys(place[:-1]).get(str(place[-1]), True) is False


def not_an_object(given: object) -> InvalidArguments:
    """The error for arguments that are JSON, but no object."""
    kinds = ((list, "a list"), (str, "a text"), (bool, "a boolean"))
    named = next((name for kind, name in kinds if isinstance(given, kind)), "a number")
    return InvalidArguments(
        f"the arguments are {named}, not an object", code="args.not_object", hint="send one JSON object"
    )


def refusal(
    complaints: list[tuple[tuple[str | int, ...], str, str]],
    keys: Callable[[tuple[str | int, ...]], Mapping[str, Any]],
) -> InvalidArguments:
    """The error for the model: every place and what is wrong there, and the closest legal key.

    Args:
        complaints: place, type and text of each.
        keys: the legal keys of the object at a place.
    """
    types = {kind for _, kind, _ in complaints}
    lines = [f"{_shown(place)}: {_said(place, kind, text)}" for place, kind, text in complaints[:_SHOWN]]
    if len(complaints) > _SHOWN:
        lines.append(f"and {len(complaints) - _SHOWN} more")
    code, hint = "args.invalid", None
    unknown = next((place for place, kind, _ in complaints if kind in _UNKNOWN), None)
    if unknown is not None:
        code, hint = "args.unknown", _closest(unknown, keys(unknown[:-1]))
    elif types <= {"missing"}:
        code = "args.missing"
    return InvalidArguments("; ".join(lines), code=code, hint=hint)


_UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument"})


def _shown(place: tuple[str | int, ...]) -> str:
    return ".".join(map(str, place)) or "arguments"


def _said(place: tuple[str | int, ...], kind: str, text: str) -> str:
    if kind in _UNKNOWN:
        return "there is no such parameter" if len(place) == 1 else "there is no such field"
    return "is missing" if kind == "missing" else text


def _closest(place: tuple[str | int, ...], legal: Mapping[str, Any]) -> str:
    key, inside = str(place[-1]), f" in {_shown(place[:-1])}" if len(place) > 1 else ""
    if not legal:
        return f"leave out {key!r}: nothing can be given here"
    close = get_close_matches(key, legal, n=1)
    if not close:
        lowered = {name.lower().replace("_", ""): name for name in legal}
        close = get_close_matches(key.lower().replace("_", ""), lowered, n=1)
        close = [lowered[name] for name in close]
    listed = ", ".join(list(legal)[:20])
    return f"did you mean {close[0]!r}{inside}?" if close else f"legal here{inside}: {listed}"
