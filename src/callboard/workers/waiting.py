"""Await a tool under abort and deadline; a tool that never waits pays nothing for either."""

import asyncio
import sys
import types
import weakref
from collections.abc import Callable, Coroutine, Generator
from time import monotonic
from typing import Any

from callboard.errors import CallCancelled, DeadlineExceeded, Denied, ToolError
from callboard.types import Abort

TICK = 0.02  # seconds: how late a deadline may be
GRACE = 1.0  # seconds: how long a tool may go on after it was told to end


class Ended(Exception):
    """What was awaited was ended from outside: `error` says by what. No tool raises it."""

    def __init__(self, error: ToolError) -> None:
        super().__init__(str(error))
        self.error = error


class CallerCancelled(asyncio.CancelledError):
    """The surrounding task was cancelled, and not what was awaited by itself.

    Its cause is an `Ended` where a write was left running.
    """


def cannot_wait() -> Denied:
    """What a sync call ends with when something on its way has to be waited for."""
    return Denied(
        "something on this call's way waits, and a sync call can't",
        code="approval.needs_async",
        hint="use invoke_async",
    )


class Clock:
    """One timer for all deadlines of an event loop: buckets of a tick, constant time in and out."""

    def __init__(self) -> None:
        self._buckets: dict[int, set[Watch]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0

    def arm(self, watch: "Watch", at: float) -> None:
        """Have `watch` told at `at`, in seconds of the monotonic clock."""
        bucket = int(at / TICK) + 1
        watch.bucket = bucket
        self._buckets.setdefault(bucket, set()).add(watch)
        if self._timer is None or bucket < self._due:
            self._schedule(watch.loop)

    def disarm(self, watch: "Watch") -> None:
        """Forget it. The timer stays: to set a new one for each call costs more than one idle tick."""
        waiting = self._buckets.get(watch.bucket)
        if waiting is None:
            return
        waiting.discard(watch)
        if not waiting:
            del self._buckets[watch.bucket]

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._buckets:
            self._due = min(self._buckets)
            self._timer = loop.call_later(max(0.0, self._due * TICK - monotonic()), self._fire, loop)

    def _fire(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = monotonic() / TICK
        for bucket in [b for b in self._buckets if b <= now]:
            for watch in self._buckets.pop(bucket):
                watch.end(DeadlineExceeded("the call took longer than its deadline"))
        self._schedule(loop)


_clocks: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Clock]" = weakref.WeakKeyDictionary()


def _clock_of(loop: asyncio.AbstractEventLoop) -> Clock:
    clock = _clocks.get(loop)
    if clock is None:
        clock = _clocks[loop] = Clock()
    return clock


class Watch:
    """Ends one call that is waiting: asks once by cancelling its task, then closes the work.

    The work runs in the caller's own task, so cancellations of three origins meet there: the watch's own
    (counted), those inside the work (a timeout of its own takes them back), and the caller's.
    """

    __slots__ = (
        "_asked",
        "_before",
        "_clock",
        "_grace",
        "_groups",
        "_open",
        "_take_back",
        "bucket",
        "error",
        "force",
        "loop",
        "task",
    )

    def __init__(self, abort: Abort | None, began_ns: int, deadline: float | None) -> None:
        try:
            task = asyncio.current_task()
        except RuntimeError:  # no event loop runs here
            task = None
        if task is None:
            raise cannot_wait()
        self.task = task
        self.loop = task.get_loop()
        self.bucket = -1
        self._clock: Clock | None = None
        self.error: ToolError | None = None
        self.force = False
        self._open = True
        self._asked = 0
        self._before = task.cancelling()
        self._groups: tuple[Any, ...] = ()
        self._grace: asyncio.TimerHandle | None = None
        self._take_back: Callable[[], None] | None = None
        if deadline is not None:
            self._clock = _clock_of(self.loop)
            self._clock.arm(self, began_ns / 1e9 + deadline)
        if abort is not None:
            self._take_back = abort.subscribe(self)

    def __call__(self, reason: str) -> None:
        """The abort is set."""
        try:
            self.loop.call_soon_threadsafe(self.end, CallCancelled(f"the call was stopped: {reason}"))
        except RuntimeError:  # the loop was closed: the call is over
            return

    def end(self, error: ToolError) -> None:
        """Ask the call to end with `error`; the first reason stays."""
        if self._open and self.error is None:
            self.error = error
            self._cancel()

    def _cancel(self) -> None:
        self._asked += 1
        self.task.cancel()

    def caller_cancelled(self) -> bool:
        """Whether somebody outside cancelled the task, and it was not taken back."""
        return self.task.cancelling() - self._asked - len(self._groups) > self._before

    def delivering(self, work: Any) -> None:
        """A cancellation is on its way into `work`: if it came from outside, the grace runs from now on."""
        group = _group_that_keeps(work)
        if group is not None and group not in self._groups:
            self._groups = (*self._groups, group)
        if self._grace is None:
            self._grace = self.loop.call_later(GRACE, self._insist)

    def _insist(self) -> None:
        self._grace = None
        if self._open and (self.error is not None or self.caller_cancelled()):
            self.force = True
            self._cancel()

    def close(self) -> None:
        """Take the watch down, with the cancellations that were its own."""
        self._open = False
        if self._clock is not None:
            self._clock.disarm(self)
        if self._grace is not None:
            self._grace.cancel()
        if self._take_back is not None:
            self._take_back()
        for _ in range(self._asked):
            self.task.uncancel()
        self._asked = 0


async def watched(
    work: Coroutine[Any, Any, Any],
    abort: Abort | None,
    began_ns: int = 0,
    deadline: float | None = None,
) -> Any:
    """Await `work` until it ends, `abort` is set, or the deadline passes; see `resumed`."""
    try:
        ended, value = first_step(work)
    except asyncio.CancelledError as error:
        raise _cancelled_itself() from error
    return value if ended else await resumed(work, value, abort, began_ns, deadline)


def first_step(work: Coroutine[Any, Any, Any]) -> tuple[bool, Any]:
    """Take `work` to its first wait: (False, what it waits for), or (True, its value) if it never waits.

    A function of its own: an exception caught costs by the length of the function that catches it.
    """
    try:
        return False, work.send(None)
    except StopIteration as done:
        return True, done.value


@types.coroutine
def resumed(
    work: Coroutine[Any, Any, Any],
    waiting_for: Any,
    abort: Abort | None,
    began_ns: int,
    deadline: float | None,
) -> Generator[Any, Any, Any]:
    """Await the rest of `work`, which waits for the first time.

    Args:
        work: what is awaited.
        waiting_for: what its first step gave.
        abort: ends it.
        began_ns: since when the deadline counts, on the monotonic clock.
        deadline: seconds.

    Raises:
        Ended: by the abort, by the deadline, or because a write was given up.
        Denied: a sync call had to wait.
        ToolError: `work` cancelled itself.
        CallerCancelled: the surrounding task was cancelled, whatever `work` made of it.
    """
    watch = Watch(abort, began_ns, deadline)
    failed: BaseException | None = None
    value: Any = None
    try:
        while True:
            try:
                sent = yield waiting_for
            except asyncio.CancelledError as error:
                if watch.force:
                    _closed(work)
                    raise
                watch.delivering(work)
                waiting_for = work.throw(error)
            except BaseException as error:  # noqa: BLE001 - the loop's word, handed on
                waiting_for = work.throw(error)
            else:
                waiting_for = work.send(sent)
    except StopIteration as done:
        value = done.value
    except BaseException as error:  # noqa: BLE001 - raised below, unless something ended the work
        failed = error
    finally:
        watch.close()
    if failed is None and watch.error is None and not watch.caller_cancelled():
        return value
    try:
        raise _verdict(watch, failed)
    finally:
        del failed, watch  # what was raised holds this frame


def _verdict(watch: Watch, failed: BaseException | None) -> BaseException:
    """What a call ends with whose work failed, or that was ended from outside."""
    if watch.caller_cancelled():
        cancelled = CallerCancelled()
        cancelled.__cause__ = failed if isinstance(failed, Ended) else None
        return cancelled
    if isinstance(failed, Ended):
        failed.error.__cause__ = watch.error
        return failed
    if failed is None or watch.error is not None:
        return Ended(watch.error or _cancelled_itself())
    if isinstance(failed, asyncio.CancelledError):
        itself = _cancelled_itself()
        itself.__cause__ = failed
        return itself
    return failed


def _cancelled_itself() -> ToolError:
    return ToolError("the tool cancelled itself", code="tool.cancelled_itself")


def _closed(work: Coroutine[Any, Any, Any]) -> None:
    try:
        work.close()
    except RuntimeError:  # it goes on even after that: never resumed again
        return


_LEAVES_GROUP = asyncio.TaskGroup.__aexit__.__code__
_DRIVES = resumed.__code__


def _group_that_keeps(work: Any) -> Any:
    """The TaskGroup that cancelled its own task because a child failed, where it is what is awaited.

    Before Python 3.13 it never takes that cancellation back, so it must not count as the caller's.
    """
    awaiting: Any = None if sys.version_info >= (3, 13) else work
    while awaiting is not None:
        frame: Any = getattr(awaiting, "cr_frame", None) or getattr(awaiting, "gi_frame", None)
        code = getattr(frame, "f_code", None)
        names: dict[str, Any] = getattr(frame, "f_locals", {}) if code in {_LEAVES_GROUP, _DRIVES} else {}
        if code is _LEAVES_GROUP and names["self"]._parent_cancel_requested:  # noqa: SLF001 - not told otherwise
            return names["self"]
        if code is _DRIVES:
            awaiting = names["work"]
        else:
            awaiting = getattr(awaiting, "cr_await", None) or getattr(awaiting, "gi_yieldfrom", None)
    return None
