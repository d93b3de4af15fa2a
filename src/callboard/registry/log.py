"""A registry's own log of calls, bounded by number and by size, and who listens to it."""

import logging
import threading
from collections import deque

from callboard.events import CallEvent, CallStarted, EventName, Listener, ToolCallRecord
from callboard.events.calls import event_name
from callboard.types import ExecutionOptions

_log = logging.getLogger("callboard.registry")


class CallLog:
    """Keeps the newest facts; listeners hear of all of them, in order, in the thread of the call."""

    __slots__ = ("_bytes", "_kept", "_listeners", "_lock", "_max_bytes", "_max_events", "dropped")

    def __init__(self, max_events: int, max_bytes: int, listeners: tuple[Listener, ...]) -> None:
        self._kept: deque[CallEvent] = deque()
        self._bytes = 0
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._listeners = listeners
        self._lock = threading.Lock()
        self.dropped = 0

    def emit(self, event: CallEvent, options: ExecutionOptions) -> None:
        """Record one fact. A listener that fails is logged and never disturbs the call."""
        size = _size(event)
        with self._lock:
            self._kept.append(event)
            self._bytes += size
            while len(self._kept) > self._max_events or (
                self._bytes > self._max_bytes and len(self._kept) > 1
            ):
                self._bytes -= _size(self._kept.popleft())
                self.dropped += 1
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - logged: a listener never disturbs the call
                _log.exception("a listener failed")
        if options.diagnostics is not None or options.logger is not None:
            _tell(event, options)

    def kept(self) -> tuple[CallEvent, ...]:
        """A snapshot of what is kept, oldest first."""
        with self._lock:
            return tuple(self._kept)


def _size(event: CallEvent) -> int:
    if type(event) is ToolCallRecord:
        return len(event.result or "")
    if type(event) is CallStarted:
        return len(event.arguments or "")
    return 200


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
