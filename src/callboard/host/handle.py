"""A run in progress: its events as they come, its end, and a way to stop it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from callboard.events import RunEvent
from callboard.host.result import RunResult
from callboard.models import Choice
from callboard.types import Abort

# Events that a reader may have before it: pieces of text beyond that are not kept for it.
BEHIND = 1_000


class RunHandle:
    """What `Host.start` gives.

    Attributes:
        id: the run's id.
        model: which model answers, and why that one.
    """

    def __init__(self, run_id: str, model: Choice, abort: Abort) -> None:
        self.id = run_id
        self.model = model
        self._abort = abort
        self._loop = asyncio.get_running_loop()
        self._kept: list[RunEvent] = []
        self._readers: set[asyncio.Queue[RunEvent | None]] = set()
        self._task: asyncio.Task[RunResult] | None = None

    def follow(self, task: "asyncio.Task[RunResult]") -> None:
        """The work behind the handle; events end when it does."""
        self._task = task
        task.add_done_callback(lambda _: self._end())

    def publish(self, event: RunEvent) -> None:
        """Hand an event to all readers, from any thread."""
        with suppress(RuntimeError):  # the loop was closed: nobody reads any more
            self._loop.call_soon_threadsafe(self._deliver, event)

    def _deliver(self, event: RunEvent) -> None:
        if event.n:
            self._kept.append(event)
        for reader in self._readers:
            if event.n or reader.qsize() < BEHIND:
                reader.put_nowait(event)

    def _end(self) -> None:
        for reader in self._readers:
            reader.put_nowait(None)

    async def events(self) -> AsyncIterator[RunEvent]:
        """All events from the beginning, then live until the run ends.

        Pieces of text come live only, and not to a reader that is far behind: the whole text follows them.
        """
        reader: asyncio.Queue[RunEvent | None] = asyncio.Queue()
        for event in self._kept:
            reader.put_nowait(event)
        if self._task is not None and self._task.done():
            reader.put_nowait(None)
        self._readers.add(reader)
        try:
            while (event := await reader.get()) is not None:
                yield event
        finally:
            self._readers.discard(reader)

    def cancel(self, reason: str = "user_stopped") -> None:
        """Stop the run: what is in progress is ended and recorded. A second time changes nothing."""
        self._abort.set(reason)

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self._task is not None and self._task.done()

    async def result(self) -> RunResult:
        """Wait for the end. Cancelling the wait does not stop the run."""
        if self._task is None:
            raise RuntimeError("the run has not been started")
        return await asyncio.shield(self._task)
