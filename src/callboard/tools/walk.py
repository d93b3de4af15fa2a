"""JSON and nothing else: what may stand in it, told with the path of what may not."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from msgspec.json import Encoder
from typing_extensions import TypeIs

MAX_DEPTH = 200
Path = tuple[str | int, ...]
# Gives the plain JSON of a value of another type, or raises NotJson.
Other = Callable[[Any, Path], Any]
_MAX_SHOWN = 200  # characters of a path
_ATOMS = frozenset({bool, int, str, type(None)})
# The digits that Python reads back: a longer integer would be written, and refused by every reader of ours.
_MAX_DIGITS = 4300
_LONG_INTEGER = re.compile(rb"[0-9]{4301}")
_LONG_BITS = 14_300  # 4300 digits have fewer bits than this


class NotJson(Exception):
    """A value that JSON can't carry, or not exactly; `path` leads to it."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{shown(path)}: {reason}")
        self.path = path
        self.reason = reason


def shown(path: Path) -> str:
    """A path as a person reads it, such as ``$.items[0].price``."""
    text = "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN // 2]}…{text[-_MAX_SHOWN // 2 :]}"


def is_dict(value: Any) -> TypeIs[dict[Any, Any]]:
    """`isinstance`, for values of which nothing is known."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeIs[list[Any]]:
    """`isinstance`, for values of which nothing is known."""
    return isinstance(value, list)


def is_tuple(value: Any) -> TypeIs[tuple[Any, ...]]:
    """`isinstance`, for values of which nothing is known."""
    return isinstance(value, tuple)


def is_mapping(value: Any) -> TypeIs[Mapping[str, Any]]:
    """`isinstance`, for values of which nothing is known."""
    return isinstance(value, Mapping)


def is_plain(value: Any, room: int = MAX_DEPTH) -> bool:
    """Whether the value is JSON as it stands: dicts with text keys, lists, and exact atoms.

    False only says that `admitted` has to look closer.
    """
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is dict:
        for key, item in value.items():
            inner = type(item)  # pyright: ignore[reportUnknownVariableType]
            if type(key) is not str or not (
                inner in _ATOMS
                or (inner is float and item - item == 0.0)
                or (room and is_plain(item, room - 1))
            ):
                return False
        return True
    if kind is list:
        return all(type(item) in _ATOMS or (room and is_plain(item, room - 1)) for item in value)
    return kind in _ATOMS or (kind is float and value - value == 0.0)


def admitted(value: Any, other: Other) -> Any:
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
    path: Path,
    above: set[int],
    other: Other,
) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return _atom(value, path, other)
    if not isinstance(value, (dict, list, tuple)):
        return other(value, path)
    return _container(value, path, above, other)


def _container(
    value: Any,
    path: Path,
    above: set[int],
    other: Other,
) -> Any:
    if id(value) in above:
        raise NotJson(path, "the value contains itself")
    if len(path) >= MAX_DEPTH:
        raise NotJson(path, f"more than {MAX_DEPTH} levels inside each other")
    above.add(id(value))
    made: Any
    try:
        if is_dict(value):
            made = {
                _key(key, path): _admitted(item, (*path, key), above, other) for key, item in value.items()
            }
        else:
            items: list[Any] = list(value)
            made = [_admitted(item, (*path, index), above, other) for index, item in enumerate(items)]
    finally:
        above.discard(id(value))
    return made


def _atom(value: Any, path: Path, other: Other) -> Any:
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is float:
        if not isfinite(value):
            raise NotJson(path, f"{value} is no JSON number")
        return value
    if kind is str:
        return _text(value, path)
    if kind is int and value.bit_length() > _LONG_BITS:
        raise NotJson(path, f"an integer of more than {_MAX_DIGITS} digits")
    return value if kind in _ATOMS else other(value, path)


def _key(key: Any, path: Path) -> str:
    if type(key) is not str:
        raise NotJson(path, f"a key is {type(key).__name__} ({key!r:.40}), JSON keys are text")
    return _text(key, path)


def _text(value: str, path: Path) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise NotJson(path, "the text holds half of a surrogate pair") from None
    return value


def nothing_else(value: Any, path: Path) -> Any:
    """For `admitted`, where only JSON's own types may stand.

    Raises:
        NotJson: always.
    """
    raise NotJson(path, f"{type(value).__name__} is no JSON")


_encode: Callable[[Any], bytes] = Encoder().encode  # half the time of pydantic's; both write shortest floats


def json_text(value: Any) -> str:
    """The JSON text of what `is_plain` or `admitted` let through.

    Raises:
        NotJson: for what only shows when it is written: a text that is no Unicode, an integer of more than
            4300 digits.
    """
    try:
        data = _encode(value)
    except (ValueError, RecursionError) as error:
        admitted(value, nothing_else)
        raise NotJson((), str(error)) from None
    if len(data) > _MAX_DIGITS and _LONG_INTEGER.search(data):
        admitted(value, nothing_else)
    return data.decode()


def is_dataclass_instance(value: Any) -> bool:
    """Whether the value is an instance of a dataclass, not the class."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)
