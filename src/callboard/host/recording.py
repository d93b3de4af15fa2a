"""From the facts of calls to the store, in the thread of the call."""

from collections.abc import Callable

from callboard.events import CallEvent, CallStarted, ToolCallRecord, call_event_to_json
from callboard.store import Store


class CallRecorder:
    """A listener of the registry: writes each terminal record, with the run and step that it belongs to.

    A call that a tool makes itself belongs to the step of the call around it.
    """

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self._open: dict[str, tuple[str, str]] = {}

    def __call__(self, event: CallEvent) -> None:
        """Take one fact."""
        if isinstance(event, CallStarted):
            place = self._place(event)
            if place is not None:
                self._open[event.invocation_id] = place
        elif isinstance(event, ToolCallRecord):
            place = self._place(event)
            self._open.pop(event.invocation_id, None)
            run, step = place or (None, None)
            self._store().calls.add(call_event_to_json(event), run=run, step=step)

    def _place(self, event: CallStarted | ToolCallRecord) -> tuple[str, str] | None:
        run, space, step = event.call_key.partition(" ")
        if space:
            return run, step
        return self._open.get(event.parents[-1]) if event.parents else None
