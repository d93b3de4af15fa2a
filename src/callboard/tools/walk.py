"""JSON and nothing else: what may stand in it, told with the path of what may not."""

import dataclasses
from collections.abc import Callable
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

MAX_DEPTH = 200
_ATOMS = frozenset({bool, int, str, type(None)})
_INFINITIES = (float("inf"), float("-inf"))


class NotJson(Exception):
    """A value that JSON can't carry, or not exactly; `path` leads to it."""

    def __init__(self, path: tuple[str | int, ...], reason: str) -> None:
        super().__init__(f"{shown(path)}: {reason}")
        self.path = path
        self.reason = reason


def shown(path: tuple[str | int, ...]) -> str:
    """A path as a person reads it, such as ``$.items[0].price``."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def is_plain(value: Any, room: int = MAX_DEPTH) -> bool:
    """Whether the value is JSON as it stands: dicts with text keys, lists, and exact atoms.

    False only says that `admitted` has to look closer.
    """
    kind = type(value)
    if kind in _ATOMS:
        return True
    if kind is float:
        return value - value == 0.0
    if not room:
        return False
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not (type(item) in _ATOMS or is_plain(item, room - 1)):
                return False
        return True
    if kind is list:
        for item in value:
            if type(item) not in _ATOMS and not is_plain(item, room - 1):
                return False
        return True
    return False


def admitted(value: Any, other: Callable[[Any, tuple[str | int, ...]], Any]) -> Any:
    """The value as plain JSON: tuples become lists, what is no JSON goes to `other`.

    Args:
        value: anything.
        other: gives the plain JSON of a value of another type, or raises `NotJson`.

    Raises:
        NotJson: for a number that JSON lacks, a key that is no text, a cycle, or more than 200 levels.
    """
    return _admitted(value, (), set(), other)


def _admitted(
    value: Any,
    path: tuple[str | int, ...],
    above: set[int],
    other: Callable[[Any, tuple[str | int, ...]], Any],
) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return _atom(value, path, other)
    if not isinstance(value, (dict, list, tuple)):
        return other(value, path)
    if id(value) in above:
        raise NotJson(path, "the value contains itself")
    if len(path) >= MAX_DEPTH:
        raise NotJson(path, f"more than {MAX_DEPTH} levels inside each other")
    above.add(id(value))
    try:
        if isinstance(value, dict):
            made: Any = {
                _key(key, path): _admitted(item, (*path, key), above, other) for key, item in value.items()
            }
        else:
            made = [_admitted(item, (*path, index), above, other) for index, item in enumerate(value)]
    finally:
        above.discard(id(value))
    return made


def _atom(value: Any, path: tuple[str | int, ...], other: Callable[[Any, tuple[str | int, ...]], Any]) -> Any:
    kind = type(value)
    if kind is float:
        if value != value or value in _INFINITIES:
            raise NotJson(path, f"{value} is no JSON number")
        return value
    if kind is str:
        return _text(value, path)
    return value if kind in _ATOMS else other(value, path)


def _key(key: Any, path: tuple[str | int, ...]) -> str:
    if type(key) is not str:
        raise NotJson(path, f"a key is {type(key).__name__} ({key!r:.40}), JSON keys are text")
    return _text(key, path)


def _text(value: str, path: tuple[str | int, ...]) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise NotJson(path, "the text holds half of a surrogate pair") from None
    return value


def nothing_else(value: Any, path: tuple[str | int, ...]) -> Any:
    """For `admitted`, where only JSON's own types may stand.

    Raises:
        NotJson: always.
    """
    raise NotJson(path, f"{type(value).__name__} is no JSON")


def json_text(value: Any) -> str:
    """The JSON text of what `is_plain` or `admitted` let through.

    Raises:
        NotJson: for what only shows when it is written: a text that is no Unicode, an integer too long.
    """
    try:
        return to_json(value).decode()
    except (PydanticSerializationError, ValueError) as error:
        admitted(value, nothing_else)
        raise NotJson((), str(error)) from None


def is_dataclass_instance(value: Any) -> bool:
    """Whether the value is an instance of a dataclass, not the class."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)
