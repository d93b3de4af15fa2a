"""When something is due: one thread for all of a process, which sleeps until the next moment."""

import heapq
import itertools
import threading
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from callboard.workers.forks import renewed_after_fork

IDLE_SECONDS = 30.0


class Timer(Protocol):
    """What rates and pauses are measured by."""

    def now(self) -> float:
        """Seconds, from any beginning, never backwards."""
        ...

    def call_at(self, when: float, callback: Callable[[], object]) -> Callable[[], None]:
        """Call back once at that moment, from any thread; returns what takes it back.

        `callback` is quick and raises nothing.
        """
        ...


class ThreadTimer:
    """The real one: on the monotonic clock, by a daemon thread that is there while something is due."""

    def __init__(self) -> None:
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start with nothing due."""
        self._changed = threading.Condition(threading.Lock())
        self._due: list[tuple[float, int]] = []
        self._callbacks: dict[int, Callable[[], object]] = {}  # without those that were taken back
        self._numbers = itertools.count()
        self._runs = False

    def now(self) -> float:
        """The monotonic clock."""
        return monotonic()

    def call_at(self, when: float, callback: Callable[[], object]) -> Callable[[], None]:
        """See `Timer.call_at`."""
        with self._changed:
            number = next(self._numbers)
            self._callbacks[number] = callback
            heapq.heappush(self._due, (when, number))
            if not self._runs:
                threading.Thread(target=self._serve, name="callboard-timer", daemon=True).start()
                self._runs = True
            elif self._due[0][1] == number:
                self._changed.notify()
        return lambda: self._take_back(number)

    def _take_back(self, number: int) -> None:
        with self._changed:
            self._callbacks.pop(number, None)
            if not self._callbacks:
                self._due.clear()

    def _serve(self) -> None:
        while (callback := self._next()) is not None:
            callback()

    def _next(self) -> Callable[[], object] | None:
        """Sleep until something is due; None after half a minute with nothing to wait for."""
        with self._changed:
            while True:
                left = self._due[0][0] - monotonic() if self._due else IDLE_SECONDS
                if self._due and left <= 0:
                    callback = self._callbacks.pop(heapq.heappop(self._due)[1], None)
                    if callback is not None:
                        return callback
                elif not self._changed.wait(left) and not self._due:
                    self._runs = False
                    return None


_shared: list[ThreadTimer] = []


def shared_timer() -> ThreadTimer:
    """The process's own timer."""
    if not _shared:
        _shared.append(ThreadTimer())
    return _shared[0]
