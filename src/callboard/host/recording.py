"""No call without its records: the start before it runs, the end once it has ended."""

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from time import time
from typing import NamedTuple

from callboard.errors import StoreError, ToolError
from callboard.events import CallEvent, CallStarted, RunEvent, ToolCallRecord, call_event_to_json
from callboard.store.store import Store
from callboard.types import Abort, PendingCall


class _Open(NamedTuple):
    started: CallStarted
    place: tuple[str, str] | None  # run and step


class _Run(NamedTuple):
    abort: Abort
    troubles: list[StoreError]


class Ledger:
    """A listener of the host's registry that writes the terminal records, and the barrier of every call.

    A call that a tool makes itself belongs to the step of the call around it. The start of a step's call is
    among the events of its run; that of any other call is noted here, as an event of ``direct-<owner>``.

    What can't be written is never passed over in silence: a start that can't be refuses its call, a record or
    event of a run that can't be ends the run, and a record of any other call that can't be fails its caller
    (`lost`).
    """

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self._runs: dict[str, _Run] = {}
        self._open: dict[str, _Open] = {}
        self._lost: dict[str, StoreError] = {}

    def ready(self) -> None:
        """Open the store before a call's own time begins. If it can't be opened, the barrier says so."""
        with suppress(StoreError):
            self._store()

    @contextmanager
    def run(self, run_id: str, abort: Abort) -> Generator[list[StoreError]]:
        """Know a run while the block runs; yields what could not be written of it."""
        run = self._runs[run_id] = _Run(abort, [])
        try:
            yield run.troubles
        finally:
            del self._runs[run_id]

    def failed(self, run_id: str, error: StoreError) -> None:
        """End a run of which something could not be written: nothing goes on unrecorded."""
        run = self._runs.get(run_id.partition("/")[0])
        if run is not None:  # else it has ended, and a thread that was left behind still reports
            run.troubles.append(error)
            run.abort.set(error.code)

    def lost(self, invocation_id: str) -> StoreError | None:
        """Why the record of a call outside of runs could not be written; asked once, None if it was."""
        return self._lost.pop(invocation_id, None)

    def __call__(self, event: CallEvent) -> None:
        """Take one fact of a call, in the thread of the call."""
        if isinstance(event, CallStarted):
            self._open[event.invocation_id] = _Open(event, self._place(event))
        elif isinstance(event, ToolCallRecord):
            known = self._open.pop(event.invocation_id, None)
            place = self._place(event) if known is None else known.place
            self._record(event, place)

    def run_of(self, invocation_id: str) -> str:
        """The root of the runs that a call in progress belongs to; empty for one outside of runs."""
        known = self._open.get(invocation_id)
        return "" if known is None or known.place is None else known.place[0].partition("/")[0]

    async def barrier(self, call: PendingCall) -> None:
        """Let a call start once that is on disk.

        Raises:
            ToolError: `store.unusable`: it can't be written, or something of its run could not.
        """
        known = self._open.get(call.invocation_id)
        if known is None:  # of another registry, which keeps its own log
            return
        try:
            if known.place is not None and not known.started.parents:
                self._check(known.place[0])
            else:
                self._note(known.started)
        except StoreError as error:
            raise ToolError(
                f"the call can't be recorded, so it was not made: {error}", code=error.code, hint=error.hint
            ) from error

    def _check(self, run_id: str) -> None:
        run = self._runs.get(run_id.partition("/")[0])
        if run is not None and run.troubles:
            raise run.troubles[0]

    def _note(self, started: CallStarted) -> None:
        fact = call_event_to_json(started)
        del fact["type"]
        store = self._store()
        stream = f"direct-{store.this_process()}"
        event = RunEvent(stream, started.invocation_id, 1, "call.started", time(), fact)
        store.events.append(event.to_json())

    def _record(self, record: ToolCallRecord, place: tuple[str, str] | None) -> None:
        run, step = place or (None, None)
        try:
            self._store().calls.add(call_event_to_json(record), run=run, step=step)
        except StoreError as error:
            if run is not None and run.partition("/")[0] in self._runs:
                self.failed(run, error)
            else:
                self._lost[record.invocation_id] = error

    def _place(self, event: CallStarted | ToolCallRecord) -> tuple[str, str] | None:
        run, space, step = event.call_key.partition(" ")
        if space and run.partition("/")[0] in self._runs:
            return run, step
        around = self._open.get(event.parents[-1]) if event.parents else None
        return None if around is None else around.place
