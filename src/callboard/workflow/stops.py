"""What ends work early: a clock that stands still while a person is asked, and the wait that heeds it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from callboard.errors import Aborted, BudgetExhausted, WorkflowError
from callboard.types import Abort

T = TypeVar("T")

# Seconds that cancelled work gets to unwind before it is left behind.
GRACE = 0.3


@dataclass(slots=True, eq=False)
class _Alarm:
    at: float
    ring: Callable[[], None]
    timer: asyncio.TimerHandle | None = None

    def silence(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class WorkClock:
    """Seconds of work on a run and its children.

    It stands still while a person is asked, and does not count the time in which no process had the run: what
    earlier processes used comes back with their recorded steps.

    Args:
        now: a clock in seconds that never goes backwards.
    """

    __slots__ = ("_alarms", "_base", "_held", "_now", "_since")

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._base = 0.0
        self._since = now()
        self._held = 0
        self._alarms: set[_Alarm] = set()

    def used(self) -> float:
        """Seconds of work until now."""
        return self._base if self._held else self._base + self._now() - self._since

    def restore(self, used: float) -> None:
        """At least `used` seconds had been worked when a step was recorded."""
        if used > self.used():
            self._base, self._since = used, self._now()
            self._arm_all()

    @contextmanager
    def hold(self) -> Generator[None]:
        """Stand still while the block runs; blocks may overlap."""
        self._base, self._since = self.used(), self._now()
        self._held += 1
        self._arm_all()
        try:
            yield
        finally:
            self._held -= 1
            if not self._held:
                self._since = self._now()
                self._arm_all()

    def alarm(self, at: float, ring: Callable[[], None]) -> Callable[[], None]:
        """Call `ring` once when `at` seconds have been worked; returns what takes it back."""
        alarm = _Alarm(at, ring)
        self._alarms.add(alarm)
        self._arm(alarm)

        def take_back() -> None:
            self._alarms.discard(alarm)
            alarm.silence()

        return take_back

    def _arm_all(self) -> None:
        for alarm in self._alarms:
            self._arm(alarm)

    def _arm(self, alarm: _Alarm) -> None:
        alarm.silence()
        if not self._held:
            left = max(0.0, alarm.at - self.used())
            alarm.timer = asyncio.get_running_loop().call_later(left, self._due, alarm)

    def _due(self, alarm: _Alarm) -> None:
        if self.used() < alarm.at:  # timers may fire early, and the clock may be a slower one
            self._arm(alarm)
            return
        self._alarms.discard(alarm)
        alarm.ring()


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the work clock. `limit` is the budget in seconds that it came from."""

    at: float
    limit: float

    def error(self) -> BudgetExhausted:
        """What a run that reaches it ends with."""
        return BudgetExhausted("wall_clock", self.limit)


@dataclass(frozen=True, slots=True)
class Stops:
    """All that can stop a run's work."""

    abort: Abort
    clock: WorkClock
    deadline: Deadline | None = None

    def check(self) -> None:
        """Do nothing while work may go on.

        Raises:
            Aborted: somebody stopped the run.
            BudgetExhausted: the deadline has passed.
        """
        self.abort.check()
        if self.deadline is not None and self.clock.used() >= self.deadline.at:
            raise self.deadline.error()


def _no_patience() -> float:
    return 0.0


async def bounded(
    work: Callable[[], Awaitable[T]],
    stops: Stops,
    *,
    told: Callable[[str], object] | None = None,
    patience: Callable[[], float] = _no_patience,
) -> T:
    """Await `work` until it ends or something stops it. What ignores its cancellation is left behind.

    Args:
        work: starts what is awaited.
        stops: what can stop it.
        told: hears the reason first, so that the work can end by itself.
        patience: asked when the work is stopped: seconds that it gets to do so before it is cancelled.

    Raises:
        Aborted: the abort was set, and the work did not end by itself.
        BudgetExhausted: the deadline passed, and the work did not end by itself.
        WorkflowError: the work raised CancelledError though nobody cancelled it.
    """
    stops.check()
    task = asyncio.ensure_future(work())
    task.add_done_callback(_heard)
    stopped, unsubscribe = _stopped(stops)
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            if told is not None:
                told(str(getattr(stopped.result(), "reason", "")))
            seconds = patience()
            if seconds > 0:
                await asyncio.wait({task}, timeout=seconds)
    finally:
        unsubscribe()
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE)
    return _result(task, stopped)


def _result(task: "asyncio.Future[T]", stopped: "asyncio.Future[BaseException]") -> T:
    """What the work gave; the stop only where it gave nothing, so that nothing finished is lost."""
    if task.done() and not task.cancelled() and task.exception() is None:
        return task.result()
    if stopped.done():
        raise stopped.result()
    if task.cancelled():
        raise WorkflowError(
            "the work raised CancelledError though nobody cancelled it", code="step.cancelled_itself"
        )
    return task.result()


def _stopped(stops: Stops) -> "tuple[asyncio.Future[BaseException], Callable[[], None]]":
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[BaseException] = loop.create_future()

    def stop(error: BaseException) -> None:
        if not stopped.done():
            stopped.set_result(error)

    def aborted(reason: str) -> None:
        loop.call_soon_threadsafe(stop, Aborted(reason))

    forget = stops.abort.subscribe(aborted)
    deadline = stops.deadline
    if deadline is None:
        return stopped, forget
    silence = stops.clock.alarm(deadline.at, lambda: stop(deadline.error()))

    def unsubscribe() -> None:
        forget()
        silence()

    return stopped, unsubscribe


def _heard(task: "asyncio.Future[T]") -> None:
    """Look at the exception of work that was left behind, so that nobody warns of it."""
    if not task.cancelled():
        task.exception()
