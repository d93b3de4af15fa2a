"""What the tests of calls share: a registry in one line, its records, the code of a failing call."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from callboard import ToolError, ToolRegistry, tool
from callboard.events import ToolCallRecord

BOUND = 10.0


def registry(*tools: Any, **options: Any) -> ToolRegistry:
    return ToolRegistry(**options).register_all(tools)


def records(tools: ToolRegistry) -> list[ToolCallRecord]:
    return [event for event in tools.events if isinstance(event, ToolCallRecord)]


async def code_of(call: Any) -> str:
    with pytest.raises(ToolError) as caught:
        await asyncio.wait_for(call, BOUND)
    return caught.value.code


@tool
def one() -> int:
    return 1


def boom(*_: object) -> Any:
    raise RuntimeError("broken")


class HandTimer:
    """Time that the test moves."""

    def __init__(self) -> None:
        self._now = 1_000.0
        self._due: list[tuple[float, int, Callable[[], object]]] = []
        self._number = 0
        self.changed = threading.Condition()

    def now(self) -> float:
        return self._now

    def call_at(self, when: float, callback: Callable[[], object]) -> Callable[[], None]:
        with self.changed:
            self._number += 1
            entry = (when, self._number, callback)
            self._due.append(entry)
            self.changed.notify_all()
        return lambda: self._due.remove(entry) if entry in self._due else None

    def move(self, seconds: float) -> None:
        """Let time pass; what is due happens in its order."""
        until = self._now + seconds
        while True:
            due = sorted(entry for entry in self._due if entry[0] <= until)
            if not due:
                break
            self._due.remove(due[0])
            self._now = max(self._now, due[0][0])
            due[0][2]()
        self._now = until

    @property
    def waiting(self) -> int:
        return len(self._due)


async def settled() -> None:
    """Let all that can go on without time go on."""
    for _ in range(20):
        await asyncio.sleep(0)
