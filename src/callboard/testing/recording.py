"""What the gate recorded in a test, in the form in which tests compare it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, cast, overload

from callboard.events import CallEvent, ToolCallRecord

_ANY = object()


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One finished call.

    Attributes:
        tool: the tool's id.
        arguments: what passed, as a value; what was sent could not be read where it is None.
        status: ok, failed, denied, cancelled, interrupted or unknown.
        result: the value that came back.
        code: why it did not succeed.
        simulated: whether it was only simulated.
        record: all of it.
    """

    tool: str
    arguments: Any
    status: str
    result: Any
    code: str | None
    simulated: bool
    record: ToolCallRecord

    def __str__(self) -> str:
        """The call as one line."""
        told = "" if self.arguments is None else json.dumps(self.arguments, ensure_ascii=False, default=repr)
        ended = f"{self.status} {self.code}" if self.code else self.status
        return f"{self.tool} {told} {ended}{' (simulated)' if self.simulated else ''}"

    def fits(self, expected: Any) -> bool:
        """Whether it is the expected one: ``(tool,)``, ``(tool, arguments)``, ``(tool, arguments, status)``.

        Without a status it is ``ok``. The status may be a code, such as ``permission.denied``.
        """
        tool, arguments, status = _whole(expected)
        same = arguments is _ANY or arguments == self.arguments
        return tool == self.tool and same and status in {self.status, self.code}


class RecordedCalls(Sequence[RecordedCall]):
    """The finished calls of a test, in the order in which they ended; compared with a list of tuples.

    ::

        assert recorded_calls == [("save_note", {"text": "hi"}), ("send_mail", {"to": "ada"}, "denied")]
    """

    __hash__ = None  # pyright: ignore[reportAssignmentType] - it grows

    def __init__(self) -> None:
        self._calls: list[RecordedCall] = []

    def hear(self, event: CallEvent) -> None:
        """Take note of a call that ended."""
        if isinstance(event, ToolCallRecord):
            failure = event.failure
            made = RecordedCall(
                event.tool_id,
                _value(event.arguments),
                event.status,
                _value(event.result),
                None if failure is None else failure.code,
                event.simulated,
                event,
            )
            self._calls.append(made)

    def of(self, tool: str) -> list[RecordedCall]:
        """The calls of one tool."""
        return [call for call in self._calls if call.tool == tool]

    @overload
    def __getitem__(self, index: int) -> RecordedCall: ...
    @overload
    def __getitem__(self, index: slice) -> list[RecordedCall]: ...
    def __getitem__(self, index: int | slice) -> RecordedCall | list[RecordedCall]:
        """One call, or several."""
        return self._calls[index]

    def __len__(self) -> int:
        """How many there are."""
        return len(self._calls)

    def __iter__(self) -> Iterator[RecordedCall]:
        """In the order in which they ended."""
        return iter(tuple(self._calls))

    def __eq__(self, other: object) -> bool:
        """Whether they are the expected ones, all and in this order."""
        if not isinstance(other, list | tuple):
            return False
        expected = cast("Sequence[Any]", other)
        return len(expected) == len(self) and all(map(RecordedCall.fits, self, expected))

    def __repr__(self) -> str:
        """The calls as lines."""
        return f"<recorded calls: {'; '.join(map(str, self._calls)) or 'none'}>"

    def compared(self, expected: Sequence[Any]) -> list[str]:
        """What pytest prints where the two differ: one line for each call, and what was expected there."""
        lines = [f"{len(self._calls)} calls were recorded, {len(expected)} expected"]
        none = "no call"
        for number, (call, wanted) in enumerate(zip_longest(self, expected, fillvalue=none), start=1):
            if isinstance(call, RecordedCall) and call.fits(wanted):
                lines.append(f"  {number}. {call}")
            else:
                lines += [f"- {number}. {call}", f"+ {number}. {_expected(wanted)}"]
        return lines


def _value(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _whole(expected: Any) -> tuple[Any, Any, Any]:
    """Tool, arguments and status, with what stands for those that were left away."""
    match expected:
        case (tool,):
            return tool, _ANY, "ok"
        case (tool, arguments):
            return tool, arguments, "ok"
        case (tool, arguments, status):
            return tool, arguments, status
        case _:
            return expected, _ANY, None


def _expected(wanted: Any) -> str:
    tool, arguments, status = _whole(wanted)
    if status is None:
        return str(tool)
    told = (
        "with any arguments" if arguments is _ANY else json.dumps(arguments, ensure_ascii=False, default=repr)
    )
    return f"{tool} {told} {status}"
