"""Tools that bring their own parsers: the raw value goes in as it came, and JSON has to come out."""

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from callboard.errors import InvalidArguments, InvalidResult, ToolError
from callboard.tools.entry import Finish, Finished, Parse, Parsed
from callboard.tools.results import walked
from callboard.tools.walk import MAX_DEPTH, NotJson, admitted, is_dict, is_list, json_text, nothing_else

_ANY = 1_000


def own_parser(parse_input: Callable[..., Any]) -> Parse:
    """What gives the raw value to `parse_input`; JSON containers are copied first.

    Neither `{}` for nothing, nor a repair, nor the rule on unknown keys comes before it.
    """
    read = fitted(parse_input, 1)

    def parse(raw: Any) -> Parsed:
        given = _copied(raw, MAX_DEPTH)
        try:
            shown: Any = admitted(given, nothing_else)
            frozen: str | None = json_text(shown)
        except NotJson:
            frozen = None
        else:  # what is shown is what is parsed: a container of another class keeps its inside to itself
            given = shown if is_dict(shown) or is_list(shown) else given
        try:
            return read(given), frozen, False
        except ToolError:
            raise
        except Exception as failure:
            raise InvalidArguments(_words(failure)) from failure

    return parse


def _words(failure: Exception) -> str:
    """What it says itself, as it is: it may be written for the model."""
    try:
        return str(failure) or type(failure).__name__
    except Exception:  # noqa: BLE001 - its message is the author's code, too
        return type(failure).__name__


def _copied(value: Any, room: int) -> Any:
    """The caller may change his containers while somebody is asked."""
    if not room:
        raise InvalidArguments(f"the arguments are deeper than {MAX_DEPTH} levels", code="args.too_deep")
    if is_dict(value) and _is_exactly(value, dict):
        return {key: _copied(item, room - 1) for key, item in value.items()}
    if is_list(value) and _is_exactly(value, list):
        return [_copied(item, room - 1) for item in value]
    return bytes(value) if isinstance(value, bytearray) else value


def _is_exactly(value: object, kind: type[Any]) -> bool:
    return type(value) is kind


def own_check(tool_id: str, parse_output: Callable[..., Any]) -> Finish:
    """What gives a result to `parse_output`; what it lets through has to be JSON."""
    check, finish = fitted(parse_output, 1), walked(tool_id)

    def checked(value: Any) -> Finished:
        try:
            passed = check(value)
        except ToolError:
            raise
        except Exception as failure:
            raise InvalidResult(_words(failure)) from failure
        return finish(passed)

    return checked


def fitted(function: Callable[..., Any], offered: int) -> Callable[..., Any]:
    """The function, called with as many of the offered positional arguments as it takes."""
    takes = _takes(function)
    if takes >= offered:
        return function
    return lambda *given: function(*given[:takes])


def _takes(function: Callable[..., Any]) -> int:
    """How many positional arguments it takes at most; those that take any number take a thousand."""
    if isinstance(function, FunctionType) and not vars(function):  # no `__wrapped__`, no `__signature__`
        code = function.__code__
        return _ANY if code.co_flags & inspect.CO_VARARGS else code.co_argcount
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature takes one value
        return 1
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return _ANY
    return sum(each.kind in {each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD} for each in parameters)
