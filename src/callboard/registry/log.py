"""A registry's own log of calls, bounded by number and by size, and who listens to it."""

import logging
import threading
from asyncio import CancelledError
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from weakref import WeakSet

from callboard.events import (
    CallEvent,
    CallProgress,
    CallStarted,
    EventName,
    Listener,
    ToolCallRecord,
    event_name,
)
from callboard.types import ExecutionOptions
from callboard.workers import renewed_after_fork

_logs: WeakSet["CallLog"] = WeakSet()
_everywhere: list[Listener] = []
LARGE = 4_096  # characters of a fact that count against the log's size
_log = logging.getLogger("callboard.registry")


class CallLog:
    """Keeps the newest facts; listeners hear of all of them, in order, in the thread of the call.

    Appending takes no lock; small facts are bounded by their number, large ones are counted.
    """

    __slots__ = (
        "__weakref__",
        "_emitted",
        "_kept",
        "_large",
        "_listeners",
        "_lock",
        "_max_bytes",
        "_number",
    )

    def __init__(self, max_events: int, max_bytes: int, listeners: tuple[Listener, ...]) -> None:
        self._kept: deque[CallEvent] = deque(maxlen=max_events)
        self._number = count(1)
        self._emitted = 0
        self._large = 0  # characters of large facts, at most
        self._max_bytes = max_bytes
        self._listeners = (*listeners, *_everywhere)
        _logs.add(self)
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start with a lock that nobody holds."""
        self._lock = threading.Lock()

    def emit(self, event: CallEvent, options: ExecutionOptions) -> None:
        """Record one fact. A listener that fails is logged and never disturbs the call."""
        self._kept.append(event)
        self._emitted = next(self._number)
        if type(event) is not CallStarted and (size := _size(event)) > LARGE:
            self._make_room(size)
        for listener in self._listeners:
            try:
                listener(event)
            except (Exception, CancelledError):  # noqa: BLE001 - logged: never in the call's way
                _log.exception("a listener failed")
        if options.diagnostics is not None or options.logger is not None:
            _tell(event, options)

    def tell(self, listener: Listener) -> None:
        """Let one more hear of all that follows."""
        self._listeners = (*self._listeners, listener)

    def leave(self, listener: Listener) -> None:
        """Take it out again."""
        self._listeners = tuple(one for one in self._listeners if one is not listener)

    @property
    def dropped(self) -> int:
        """How many facts were given up for newer ones."""
        return max(0, self._emitted - len(self.kept()))

    def kept(self) -> tuple[CallEvent, ...]:
        """A snapshot of what is kept, oldest first."""
        return tuple(self._kept.copy())

    def _make_room(self, added: int) -> None:
        """Give up what is too large: counted again only when it may be too much."""
        with self._lock:
            self._large += added
            if self._large <= self._max_bytes:
                return
            sizes = [size if size > LARGE else 0 for size in map(_size, self._kept.copy())]
            self._large = sum(sizes)
            for given_up in sizes[:-1]:
                if self._large <= self._max_bytes:
                    break
                self._kept.popleft()
                self._large -= given_up


@contextmanager
def listening(listener: Listener) -> Generator[None]:
    """Hear of every call in this process for a while: of registries that are there, and that are made."""
    _everywhere.append(listener)
    for log in tuple(_logs):
        log.tell(listener)
    try:
        yield
    finally:
        _everywhere.remove(listener)
        for log in tuple(_logs):
            log.leave(listener)


def _size(event: CallEvent) -> int:
    """Characters of what was sent and what came back; a start shares its text with the record."""
    if type(event) is ToolCallRecord:
        return len(event.arguments or "") + len(event.result or "")
    return len(event.value) if type(event) is CallProgress else 0


def _tell(event: CallEvent, options: ExecutionOptions) -> None:
    name: EventName = event_name(event)
    debug = event.debug_steps if isinstance(event, ToolCallRecord) else None
    try:
        if options.diagnostics is not None:
            options.diagnostics.emit(name, lambda: event, debug)
        if options.logger is not None:
            level = logging.INFO if getattr(event, "failure", None) is None else logging.WARNING
            options.logger.log(level, "%s %s", name, event.tool_id, extra={"callboard": event})
    except Exception:  # noqa: BLE001 - a scope of the host's own: logged, never in the call's way
        _log.exception("the diagnostics of a call failed")
