"""Strict JSON out of whatever a model or a provider sent: bounded, and total."""

import re
import sys
from decimal import Decimal
from typing import Any

import jiter

from callboard.errors import InvalidArguments
from callboard.tools.walk import NotJson, admitted, is_dict, is_list, is_plain, json_text, nothing_else

MAX_BYTES = 4_000_000
# Of arguments with more values (fields and list items, at any depth) only the first mistake in each list and
# dict is told, and none is repaired: looking for all of them takes seconds.
MAX_VALUES = 5000
# A text that is longer is looked at closer: a character has up to four bytes.
SHORT = MAX_BYTES // 4
_MAX_DOUBLE = Decimal(sys.float_info.max)
# Nothing below this can be beyond a double: no exponent of three digits, no 300 digits in a row.
_LONG_NUMBER = re.compile(r"[eE]\+?[0-9]{3}|[0-9]{300}")
_SHOWN = 60  # characters of the text in an error
_COMPLETE = "send one complete JSON object"


def text_of(raw: Any) -> str:
    """The JSON text of the raw arguments; nothing at all is `{}`.

    Raises:
        InvalidArguments: for bytes that are no text, values that are no JSON, or more than 4 MB.
    """
    if raw is None:
        return "{}"
    if isinstance(raw, (bytes, bytearray)):
        return _decoded(raw)
    if isinstance(raw, memoryview):
        return _decoded(raw.tobytes())
    if isinstance(raw, str):
        text = str.__str__(raw)
        _check_size(len(text))
        try:
            _check_size(len(text.encode()))
        except UnicodeEncodeError:
            raise _half_a_pair() from None
        return text
    try:
        text = json_text(raw if is_plain(raw) else admitted(raw, nothing_else))
    except NotJson as error:
        code = "args.too_deep" if "levels" in error.reason else "args.not_json"
        raise InvalidArguments(f"the arguments are not JSON: {error}", code=code) from None
    _check_size(len(text.encode()))
    return text


def _half_a_pair() -> InvalidArguments:
    return InvalidArguments("the arguments hold half of a surrogate pair", code="args.not_json")


def _decoded(raw: bytes | bytearray) -> str:
    _check_size(len(raw))
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        if error.end == len(raw) and error.reason == "unexpected end of data":
            raise _cut_short("inside a character") from None
        raise InvalidArguments(
            f"the arguments are not UTF-8: {error}", code="args.not_json", hint=_COMPLETE
        ) from None


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise InvalidArguments(
            f"the arguments are longer than {MAX_BYTES} bytes",
            code="args.too_large",
            hint="send less, or in parts",
        )


def read_json(text: str, *, exact: bool = False) -> Any:
    """The value of one JSON text.

    Args:
        text: what `text_of` gave, or a text that is short.
        exact: give numbers with a fraction or exponent as `Decimal`, with all their digits.

    Raises:
        InvalidArguments: for what is no JSON, ends early, doubles a key, is deeper than 200 levels, or holds
            a number outside a double.
    """
    mode: Any = "decimal" if exact else "float"
    try:
        value = jiter.from_json(
            text.encode(), catch_duplicate_keys=True, allow_inf_nan=False, float_mode=mode
        )
    except UnicodeEncodeError:
        raise _half_a_pair() from None
    except ValueError as error:
        raise _refused(text, str(error)) from None
    if _LONG_NUMBER.search(text):
        _check_numbers(value)
    return value


def is_nothing(value: Any) -> bool:
    """Whether JSON says that there are no arguments: `null`, or a text with nothing in it."""
    return value is None or (isinstance(value, str) and not value.strip())


def holds_more(value: Any, most: int) -> bool:
    """Whether JSON holds more than so many values inside its lists and objects."""
    todo: list[Any] = [value]
    while todo:
        each = todo.pop()
        if is_dict(each):
            todo.extend(each.values())
        elif is_list(each):
            todo.extend(each)
        else:
            continue
        most -= len(each)
        if most < 0:
            return True
    return False


def _refused(text: str, reason: str) -> InvalidArguments:
    if reason.startswith("Detected duplicate key"):
        return InvalidArguments(
            f"the arguments name a key twice: {reason.removeprefix('Detected duplicate key ')}",
            code="args.duplicate_key",
            hint="send every key once",
        )
    if reason.startswith("recursion limit"):
        return InvalidArguments("the arguments are deeper than 200 levels", code="args.too_deep")
    if reason.startswith("EOF"):
        return _cut_short(reason)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return InvalidArguments(
        f"the arguments are not JSON: {reason}: {shown!a}", code="args.not_json", hint=_COMPLETE
    )


def _cut_short(where: str) -> InvalidArguments:
    return InvalidArguments(
        f"the arguments end too early: {where}", code="args.truncated", hint=f"nothing was run; {_COMPLETE}"
    )


def _check_numbers(value: Any) -> None:
    """No recursion limit can be met: the parser has bounded the depth."""
    if is_dict(value):
        for item in value.values():
            _check_numbers(item)
    elif is_list(value):
        for item in value:
            _check_numbers(item)
    elif (isinstance(value, float) and value - value != 0.0) or (
        isinstance(value, Decimal) and abs(value) > _MAX_DOUBLE
    ):
        raise InvalidArguments("the arguments hold a number outside a double's range", code="args.not_json")
