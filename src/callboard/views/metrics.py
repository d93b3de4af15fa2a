"""Figures of calls, by tool: how many, how they ended, how long they took. Pure, over any number of them."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

from callboard.events import CallStatus, ToolCallRecord

_UNTIMED = {"denied"}  # ended before the tool had its turn: their time says nothing of the tool


class Measure(NamedTuple):
    """What is counted of one call."""

    tool: str
    status: str
    code: str | None
    duration_ns: int
    simulated: bool


@dataclass(frozen=True, slots=True)
class ToolFigures:
    """The figures of one tool.

    Attributes:
        tool: its id.
        calls: how many ended.
        statuses: how many ended in which way, the most frequent first; `denied` among them.
        codes: the same by error code, of those that did not succeed.
        simulated: how many of them were simulated.
        p50_ms: half of the calls took at most so long; denied ones are left out, waiting for a person is.
        p95_ms: the same of 95 in 100.
        max_ms: the longest.
    """

    tool: str
    calls: int
    statuses: Mapping[CallStatus, int]
    codes: Mapping[str, int]
    simulated: int
    p50_ms: float | None
    p95_ms: float | None
    max_ms: float | None

    def to_json(self) -> dict[str, Any]:
        """The figures as a JSON object."""
        return {
            "tool": self.tool,
            "calls": self.calls,
            "statuses": dict(self.statuses),
            "codes": dict(self.codes),
            "simulated": self.simulated,
            "p50_ms": self.p50_ms,
            "p95_ms": self.p95_ms,
            "max_ms": self.max_ms,
        }


class _Tally:
    """What was seen of one tool; eight bytes a call."""

    __slots__ = ("codes", "simulated", "statuses", "times")

    def __init__(self) -> None:
        self.statuses = Counter[Any]()
        self.codes = Counter[str]()
        self.simulated = 0
        self.times = array("q")

    def add(self, call: Measure) -> None:
        self.statuses[call.status] += 1
        self.simulated += call.simulated
        if call.code is not None:
            self.codes[call.code] += 1
        if call.status not in _UNTIMED:
            self.times.append(call.duration_ns)

    def figures(self, tool: str) -> ToolFigures:
        times = array("q", sorted(self.times))
        return ToolFigures(
            tool,
            self.statuses.total(),
            dict(self.statuses.most_common()),
            dict(self.codes.most_common()),
            self.simulated,
            _at(times, 0.5),
            _at(times, 0.95),
            _at(times, 1),
        )


def figures(calls: Iterable[Measure]) -> list[ToolFigures]:
    """The figures of each tool, those with the most calls first."""
    tallies: dict[str, _Tally] = {}
    for call in calls:
        tally = tallies.get(call.tool)
        if tally is None:
            tally = tallies[call.tool] = _Tally()
        tally.add(call)
    made = [tally.figures(tool) for tool, tally in tallies.items()]
    return sorted(made, key=lambda each: (-each.calls, each.tool))


def measure(record: ToolCallRecord) -> Measure:
    """What is counted of a record."""
    code = None if record.failure is None else record.failure.code
    return Measure(record.tool_id, record.status, code, record.duration_ns, record.simulated)


def _at(times: "array[int]", share: float) -> float | None:
    """The time at that share of the sorted times, in milliseconds; one that was measured."""
    return times[ceil(share * len(times)) - 1] / 1e6 if times else None
