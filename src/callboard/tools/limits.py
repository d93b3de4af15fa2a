"""How many calls of a tool may run at once, and how many may start in a time."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from callboard.errors import RegistrationError

OWN = "tool:"  # and an id: what a tool shares with no other
MOST = 1_000_000  # places, and starts that a rate counts
_SECONDS = {"s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hour": 3600, "day": 86400}
_RATE = re.compile(rf"\s*([0-9]{{1,7}})\s*/\s*([0-9]{{0,5}})\s*({'|'.join(_SECONDS)})\s*")
_FORM = 'write a number per time, such as "10/min", "5/s" or "100/12h"'


class Places(NamedTuple):
    """What at most `size` calls hold at the same time, by name."""

    name: str
    size: int


class Pace(NamedTuple):
    """What at most `starts` calls begin in any `seconds`, by name."""

    name: str
    starts: int
    seconds: float


class Turn(NamedTuple):
    """What a call waits for before it starts."""

    places: Places | None
    pace: Pace | None

    def __str__(self) -> str:
        return ", ".join(said(part) for part in self if part is not None)

    def of(self, tool_id: str, full: str) -> "Turn":
        """The same for a tool that got another id; what it shares with others stays."""
        own, new = f"{OWN}{tool_id}", f"{OWN}{full}"
        places, pace = self
        return Turn(
            places._replace(name=new) if places is not None and places.name == own else places,
            pace._replace(name=new) if pace is not None and pace.name == own else pace,
        )


def said(part: Places | Pace) -> str:
    """A part of a turn in words."""
    shared = "" if part.name.startswith(OWN) else f" of {part.name!r}"
    if isinstance(part, Pace):
        return f"{part.starts} starts{shared} in {part.seconds:g} s"
    return f"one call{shared} at a time" if part.size == 1 else f"{part.size} calls{shared} at a time"


@dataclass(frozen=True, slots=True)
class Limit:
    """What several tools share: give the same one to each of them.

    Attributes:
        name: of what is limited, such as the service that these tools call.
        concurrency: calls that may run at the same time; None is no limit.
        rate: calls that may start in a time, such as ``"30/min"``; None is no limit.

    Raises:
        RegistrationError: it has no name, limits nothing, or a figure is none.
    """

    name: str
    concurrency: int | None = None
    rate: str | None = None

    def __post_init__(self) -> None:
        given: Any = self.name
        if not isinstance(given, str) or not given or given.startswith(OWN):
            raise RegistrationError(
                f"a limit can't be called {given!r}", hint=f"use a text that does not begin with {OWN!r}"
            )
        if self.concurrency is None and self.rate is None:
            raise RegistrationError(
                f"limit {given!r} limits nothing", hint="give it a concurrency, a rate, or both"
            )
        _places(f"limit {given!r}", given, self.concurrency)
        _pace(f"limit {given!r}", given, self.rate)


def turn_for(tool_id: str, *, serial: Any, concurrency: Any, rate: Any, limit: Any) -> Turn | None:
    """What the calls of a tool wait for; None where nothing is limited.

    Raises:
        RegistrationError: an option is of the wrong type or figure, or two say the same.
    """
    if not serial and concurrency is None and rate is None and limit is None:
        return None
    whose = f"tool {tool_id!r}"
    if limit is not None and not isinstance(limit, Limit):
        raise RegistrationError(
            f"{whose}: its limit is {type(limit).__name__}", hint="give a callboard.tools.Limit"
        )
    own = f"{OWN}{tool_id}"
    places = list(
        _all(_serial(whose, own, serial), _places(whose, own, concurrency), _shared_places(whose, limit))
    )
    paces = list(_all(_pace(whose, own, rate), _shared_pace(whose, limit)))
    if len(places) > 1:
        raise RegistrationError(
            f"{whose} limits its calls at the same time twice: {said(places[0])}, and {said(places[1])}",
            hint="keep one of serial (which is a concurrency of 1), concurrency, and that of its limit",
        )
    if len(paces) > 1:
        raise RegistrationError(
            f"{whose} has a rate of its own and one of its limit", hint="keep one of them"
        )
    return Turn(places[0] if places else None, paces[0] if paces else None)


def _all(*parts: Any) -> Iterator[Any]:
    return (part for part in parts if part is not None)


def _serial(whose: str, own: str, serial: Any) -> Places | None:
    if not serial:
        return None
    if serial is True:
        return Places(own, 1)
    if not isinstance(serial, str):
        raise RegistrationError(
            f"{whose}: serial is {type(serial).__name__}", hint="give True or the name of a resource"
        )
    if serial.startswith(OWN):
        raise RegistrationError(f"{whose}: {OWN!r} begins the locks of single tools")
    return Places(serial, 1)


def _shared_places(whose: str, limit: Limit | None) -> Places | None:
    return None if limit is None else _places(whose, limit.name, limit.concurrency)


def _shared_pace(whose: str, limit: Limit | None) -> Pace | None:
    return None if limit is None else _pace(whose, limit.name, limit.rate)


def _places(whose: str, name: str, size: Any) -> Places | None:
    if size is None:
        return None
    if type(size) is not int or not 1 <= size <= MOST:
        raise RegistrationError(
            f"{whose}: concurrency is {size!r}", hint="give the number of calls that may run at once"
        )
    return Places(name, size)


def _pace(whose: str, name: str, rate: Any) -> Pace | None:
    if rate is None:
        return None
    read = _RATE.fullmatch(rate) if isinstance(rate, str) else None
    if read is None:
        raise RegistrationError(f"{whose}: rate is {rate!r}", hint=_FORM)
    count, seconds = int(read[1]), int(read[2] or 1) * _SECONDS[read[3]]
    if not 1 <= count <= MOST or not seconds:
        raise RegistrationError(f"{whose}: rate is {rate!r}, which lets nothing start", hint=_FORM)
    return Pace(name, count, float(seconds))
