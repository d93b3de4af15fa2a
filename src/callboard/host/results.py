"""Large results of this host's calls: kept in its store, and read again by the run that they came up in."""

from collections.abc import Callable

from callboard.builtin.results import READ_RESULT
from callboard.calls.ports import frame_around
from callboard.host.recording import Ledger
from callboard.store.store import Store
from callboard.types import ToolContext


class Results:
    """The gate's blobs. A result belongs to the run and the principal of its call, and is read by these only.

    Args:
        store: where they are kept.
        ledger: knows which run a call belongs to.
    """

    def __init__(self, store: Callable[[], Store], ledger: Ledger) -> None:
        self._store = store
        self._ledger = ledger

    def put(self, text: str) -> str:
        """Keep a result of the call that this code runs in.

        Raises:
            StoreError: it can't be written, or is too large.
        """
        run, principal = "", None
        if (frame := frame_around()) is not None:
            chain, options = frame[0], frame[1]
            run, principal = self._ledger.run_of(chain[-1]), options.principal
        return self._store().blobs.put(text, run=run, principal=principal)

    def reading(self, handle: str) -> str:
        """How the agent of the call that this code runs in reads on; empty where it can't."""
        frame = frame_around()
        grant = None if frame is None else frame[1].grant
        return f"{READ_RESULT} reads it, handle {handle}" if grant is None or READ_RESULT in grant else ""

    def held(self, handle: str, ctx: ToolContext) -> str | None:
        """The result of that handle, for this call's run and principal."""
        run = self._ledger.run_of(ctx.invocation_id)
        return self._store().blobs.get(handle, run=run, principal=ctx.principal)
