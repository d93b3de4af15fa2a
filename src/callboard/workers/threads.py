"""A bounded pool of daemon threads: a tool that hangs must not keep the process from ending."""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any

from callboard.errors import OutcomeUnknown, ToolError
from callboard.workers.descendants import kill_started_by, since_boot
from callboard.workers.forks import renewed_after_fork
from callboard.workers.waiting import Ended

MAX_THREADS = 32
IDLE_SECONDS = 30.0


class Job:
    """One function on its way through a thread. A started one can't be stopped."""

    __slots__ = ("_callbacks", "_lock", "_since", "_state", "_thread", "_work", "error", "value")

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._state = "queued"
        self._callbacks: list[Callable[[], object]] = []
        self._thread = 0
        self._since = 0.0
        self.value: Any = None
        self.error: BaseException | None = None

    @property
    def finished(self) -> bool:
        """Whether it ran to its end."""
        return self._state == "finished"

    @property
    def succeeded(self) -> bool:
        """Whether it ran to its end and gave a value."""
        return self._state == "finished" and self.error is None

    def withdraw(self) -> bool:
        """Take it back; False once it has started."""
        with self._lock:
            if self._state != "queued":
                return self._state == "withdrawn"
            self._state = "withdrawn"
        self._tell()
        return True

    def when_done(self, callback: Callable[[], object]) -> None:
        """Call back in the thread that ends it, or at once if it ended."""
        with self._lock:
            if self._state in {"queued", "running"}:
                self._callbacks.append(callback)
                return
        callback()

    def run(self) -> None:
        """Run it, unless it was withdrawn."""
        with self._lock:
            if self._state != "queued":
                return
            self._state = "running"
            self._thread, self._since = threading.get_native_id(), since_boot()
        try:
            self.value = self._work()
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            self.error = error
        with self._lock:
            self._state = "finished"
        self._tell()

    def _tell(self) -> None:
        for callback in self._callbacks:
            callback()
        self._callbacks.clear()

    def abandon(self) -> bool:
        """Nobody waits any more: withdraw it, or kill what it started; returns whether it is left running."""
        if self.withdraw() or self.finished:
            return False
        with self._lock:
            if self._state == "running":
                kill_started_by(self._thread, self._since)
        return not self.finished

    async def outcome(self, *, writes: bool) -> Any:
        """Wait for it.

        Raises:
            Ended: a started write was given up; it still runs, and nobody knows its outcome.
            ToolError: it raised StopIteration, which can't cross a coroutine.
        """
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        self.when_done(lambda: _resolve(loop, ended))
        try:
            await ended
        except asyncio.CancelledError as error:
            if self.abandon() and writes:
                raise Ended(_left_running()) from error
            raise
        if isinstance(self.error, StopIteration):
            raise ToolError(str(self.error) or "StopIteration") from self.error
        if self.error is not None:
            try:
                raise self.error
            finally:
                self.error = None  # its traceback holds this frame
        return self.value


def _left_running() -> OutcomeUnknown:
    return OutcomeUnknown(
        "the write was left running: a thread can't be stopped",
        hint="find out whether it happened before trying again",
    )


def _resolve(loop: asyncio.AbstractEventLoop, ended: "asyncio.Future[None]") -> None:
    try:
        loop.call_soon_threadsafe(lambda: ended.done() or ended.set_result(None))
    except RuntimeError:  # the loop was closed: nobody waits any more
        return


class ThreadPool:
    """At most `size` threads that work, started when needed, gone after half a minute without work.

    A thread of the pool that itself waits for work of the pool, or for a lock, does not count: its place is
    given to another, so that calls inside calls can't wait for each other for ever.
    """

    def __init__(self, size: int = MAX_THREADS) -> None:
        self._size = size
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start without threads."""
        self._lock = threading.Lock()
        self._queue: SimpleQueue[Job] = SimpleQueue()
        self._threads = 0
        self._free = 0  # threads waiting, less jobs that were put in for them
        self._standing_by = 0  # threads that wait for something else and count no more

    def submit(self, work: Callable[[], Any]) -> Job:
        """Queue `work`; it runs with the caller's context variables.

        Raises:
            RuntimeError: no thread can be started; the work is not queued.
        """
        context = contextvars.copy_context()
        job = Job(lambda: context.run(work))
        inside = getattr(_mine, "pool", None) is self
        with self._lock:
            self._free -= 1
            grow = self._free < 0 and (inside or self._threads - self._standing_by < self._size)
            if grow:
                try:
                    self._grow()
                except RuntimeError:
                    self._free += 1
                    raise
        self._queue.put(job)
        return job

    @contextmanager
    def stand_by(self) -> Generator[None]:
        """While a thread of the pool waits for something, another may work in its place."""
        with self._lock:
            self._standing_by += 1
            if self._free < 0:
                self._grow()
        try:
            yield
        finally:
            with self._lock:
                self._standing_by -= 1

    def _grow(self) -> None:
        threading.Thread(target=self._serve, name="callboard-tool", daemon=True).start()
        self._threads += 1

    def _serve(self) -> None:
        _mine.pool = self
        queue = self._queue
        while True:
            with self._lock:
                self._free += 1
            job = self._next(queue)
            if job is None:
                return
            job.run()
            del job  # an idle thread keeps no result alive

    def _next(self, queue: SimpleQueue[Job]) -> Job | None:
        while True:
            try:
                return queue.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if self._free > 0:
                        self._free -= 1
                        self._threads -= 1
                        return None


class _Mine(threading.local):
    """Which pool the current thread belongs to."""

    pool: ThreadPool | None = None


_mine = _Mine()


@contextmanager
def standing_by() -> Generator[None]:
    """Wait for something in this thread: if it belongs to a pool, another may work in its place."""
    if _mine.pool is None:
        yield
        return
    with _mine.pool.stand_by():
        yield


_shared: list[ThreadPool] = []


def shared_pool() -> ThreadPool:
    """The process's own pool."""
    if not _shared:
        _shared.append(ThreadPool())
    return _shared[0]
