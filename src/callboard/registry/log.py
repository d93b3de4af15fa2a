"""A registry's own log of calls, bounded by number and by size, and who listens to it."""

import logging
import threading
from collections import deque
from itertools import count

from callboard.events import CallEvent, EventName, Listener, ToolCallRecord
from callboard.events.calls import event_name
from callboard.types import ExecutionOptions

LARGE = 4_096  # characters of a result that count against the log's size
_log = logging.getLogger("callboard.registry")


class CallLog:
    """Keeps the newest facts; listeners hear of all of them, in order, in the thread of the call."""

    __slots__ = ("_emitted", "_kept", "_large", "_listeners", "_lock", "_max_bytes", "_number")

    def __init__(self, max_events: int, max_bytes: int, listeners: tuple[Listener, ...]) -> None:
        self._kept: deque[CallEvent] = deque(maxlen=max_events)
        self._number = count(1)
        self._emitted = 0
        self._large = 0  # characters of large facts since they were last counted
        self._max_bytes = max_bytes
        self._listeners = listeners
        self._lock = threading.Lock()

    def emit(self, event: CallEvent, options: ExecutionOptions) -> None:
        """Record one fact. A listener that fails is logged and never disturbs the call."""
        self._kept.append(event)
        self._emitted = next(self._number)
        if type(event) is ToolCallRecord and event.result is not None and len(event.result) > LARGE:
            self._make_room(len(event.result))
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - logged: a listener never disturbs the call
                _log.exception("a listener failed")
        if options.diagnostics is not None or options.logger is not None:
            _tell(event, options)

    @property
    def dropped(self) -> int:
        """How many facts were given up for newer ones."""
        return max(0, self._emitted - len(self._kept))

    def kept(self) -> tuple[CallEvent, ...]:
        """A snapshot of what is kept, oldest first."""
        with self._lock:
            return tuple(self._kept)

    def _make_room(self, size: int) -> None:
        """Small facts are bounded by their number; large ones are counted again when they may be too many."""
        with self._lock:
            self._large += size
            if self._large <= self._max_bytes:
                return
            sizes = [_size(event) for event in self._kept]
            total = sum(sizes)
            for given_up in sizes[:-1]:
                if total <= self._max_bytes:
                    break
                self._kept.popleft()
                total -= given_up
            self._large = total


def _size(event: CallEvent) -> int:
    size = len(event.result) if type(event) is ToolCallRecord and event.result is not None else 0
    return size if size > LARGE else 0


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
