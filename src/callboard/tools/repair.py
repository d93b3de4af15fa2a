"""The one table of repairs: what the strict pass refused, and what the model plainly meant.

It is driven by the validator's own complaints: what was legal is never touched, a place that takes a text is
never decoded, and nothing is repaired unless every complaint has an answer here. docs/types.md shows it to
readers.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from callboard.errors import InvalidArguments
from callboard.tools.reading import MAX_VALUES, holds_more, read_json
from callboard.tools.walk import is_dict, is_list, json_text

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,4299}")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
_BOOLEANS = {"true": True, "True": True, "false": False, "False": False}
_MAX_INTEGER_DIGITS = 400
# More are neither repaired nor listed.
MAX_COMPLAINTS = 5000


Place = tuple[str | int, ...]


class Complaint(Struct, frozen=True):
    """One refusal of a validator: where (branches of unions are steps, too), of what type, and its words."""

    place: Place
    type: str
    text: str


class NoRepair(Exception):
    """The table has no answer for this value."""


def _integer(value: Any) -> int:
    if (
        isinstance(value, Decimal)
        and value == value.to_integral_value()
        and value.adjusted() < _MAX_INTEGER_DIGITS
    ):
        return int(value)
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    raise NoRepair


def _number(value: Any) -> Any:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return int(value) if _INTEGER.fullmatch(value) else Decimal(value)
    raise NoRepair


def _boolean(value: Any) -> bool:
    if isinstance(value, str) and value in _BOOLEANS:
        return _BOOLEANS[value]
    raise NoRepair


def _decimal(value: Any) -> str:
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return str(value)
    raise NoRepair


def _spelling(value: Any) -> Any:
    if isinstance(value, str):
        return value  # the second validation reads what else is clear
    raise NoRepair


def _container(kind: type[Any]) -> Callable[[Any], Any]:
    def decode(value: Any) -> Any:
        if not isinstance(value, str):
            raise NoRepair
        try:
            made = read_json(value, exact=True)
        except InvalidArguments:
            raise NoRepair from None
        if not isinstance(made, kind):
            raise NoRepair
        return made

    return decode


REPAIRS: Mapping[str, Callable[[Any], Any]] = {
    "bool_type": _boolean,
    "counter_type": _container(dict),
    "dataclass_type": _container(dict),
    "decimal_type": _decimal,
    "deque_type": _container(list),
    "dict_type": _container(dict),
    "enum": _integer,
    "float_type": _number,
    "frozen_set_type": _container(list),
    "int_from_float": _integer,
    "int_type": _integer,
    "list_type": _container(list),
    "literal_error": _integer,
    "model_attributes_type": _container(dict),
    "model_type": _container(dict),
    "ordered_dict_type": _container(dict),
    "set_type": _container(list),
    "text_form": _spelling,
    "tuple_type": _container(list),
}


def repaired(
    value: Any, complaints: Iterable[Complaint], optional: Callable[[Place], bool]
) -> tuple[Any, bool] | None:
    """A repaired copy of the arguments.

    Args:
        value: the arguments as JSON, fractions as `Decimal`.
        complaints: all that the validator said.
        optional: whether a place is one that may be left out.

    Returns:
        The copy, and whether a value was changed (writing 3.0 as 3 changes none); None where a complaint has
        no repair, or what it reads from a text is too large.
    """
    changes: dict[Place, Any] = {}
    branches: dict[Place, dict[str | int, list[Complaint]]] = {}
    for complaint in complaints:
        place, union, label = located(value, complaint)
        if label is None:  # its place is that of the complaint
            if not _answer(value, complaint, optional, changes):
                return None
        else:
            branches.setdefault(union, {}).setdefault(label, []).append(replace(complaint, place=place))
    for labels in branches.values():
        if not _one_branch(value, labels.values(), optional, changes):
            return None
    made = _changed(value, (), changes)
    if holds_more(made, MAX_VALUES):
        return None
    return made, any(not _same(_at(value, place), new) for place, new in changes.items())


_LEFT_OUT = object()


def _answer(
    value: Any,
    complaint: Complaint,
    optional: Callable[[Place], bool],
    changes: dict[Place, Any],
) -> bool:
    """Note the change that answers one complaint; False where there is none."""
    if complaint.type == "missing":
        return False
    old = _at(value, complaint.place)
    if old is None and optional(complaint.place):
        changes[complaint.place] = _LEFT_OUT
        return True
    repair = REPAIRS.get(complaint.type)
    if repair is None:
        return False
    try:
        changes[complaint.place] = repair(old)
    except NoRepair:
        return False
    return True


def _one_branch(
    value: Any,
    branches: Iterable[list[Complaint]],
    optional: Callable[[Place], bool],
    changes: dict[Place, Any],
) -> bool:
    """Of a union, the one branch that can be repaired; several that differ are no plain meaning."""
    found: list[dict[Place, Any]] = []
    for complaints in branches:
        own: dict[Place, Any] = {}
        if all(_answer(value, complaint, optional, own) for complaint in complaints) and own not in found:
            found.append(own)
    if len(found) != 1:
        return False
    changes.update(found[0])
    return True


def located(value: Any, complaint: Complaint) -> tuple[Place, Place, str | int | None]:
    """The place in the value, and the union and branch it stands in; None where it stands in none."""
    place, holder = complaint.place, value
    last = len(place) - 1
    if last == 0 and (complaint.type == "missing" or _has(value, place[0])):
        return place, (), None
    for index, step in enumerate(place):
        if _has(holder, step):
            holder = holder[step]
        elif complaint.type != "missing" or index != last:
            return _in_branch(value, complaint)
    return place, (), None


def _in_branch(value: Any, complaint: Complaint) -> tuple[Place, Place, str | int | None]:
    """Some steps are names of branches."""
    place: list[str | int] = []
    union: Place = ()
    label: str | int | None = None
    holder = value
    for index, step in enumerate(complaint.place):
        if _has(holder, step):
            holder = holder[step]
        elif complaint.type != "missing" or index != len(complaint.place) - 1:
            if label is None:
                union, label = tuple(place), step
            continue
        place.append(step)
    return tuple(place), union, label


def _has(holder: Any, step: str | int) -> bool:
    if is_dict(holder):
        return step in holder
    return is_list(holder) and isinstance(step, int) and step < len(holder)


def _at(value: Any, place: Place) -> Any:
    for step in place:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return _LEFT_OUT
    return value


def _changed(value: Any, place: Place, changes: Mapping[Place, Any]) -> Any:
    if place in changes:
        return changes[place]
    if is_dict(value):
        made = {key: _changed(item, (*place, key), changes) for key, item in value.items()}
        return {key: item for key, item in made.items() if item is not _LEFT_OUT}
    if is_list(value):
        return [_changed(item, (*place, index), changes) for index, item in enumerate(value)]
    return value


def _same(old: Any, new: Any) -> bool:
    return isinstance(old, Decimal) and isinstance(new, int) and old == new


def written(value: Any) -> str:
    """The JSON text of a repaired value; a `Decimal` is a number with all its digits."""
    parts: list[str] = []
    _write(value, parts)
    return "".join(parts)


def _write(value: Any, parts: list[str]) -> None:
    if isinstance(value, Decimal):
        parts.append(str(value))
    elif is_dict(value):
        for index, (key, item) in enumerate(value.items()):
            parts.append(("{" if index == 0 else ", ") + json_text(key) + ": ")
            _write(item, parts)
        parts.append("}" if value else "{}")
    elif is_list(value):
        for index, item in enumerate(value):
            parts.append("[" if index == 0 else ", ")
            _write(item, parts)
        parts.append("]" if value else "[]")
    else:
        parts.append(json_text(value))
