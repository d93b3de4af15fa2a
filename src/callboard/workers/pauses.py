"""Let time pass between two tries: by the timer, in a thread or in a coroutine, and woken by an abort."""

import asyncio
from concurrent.futures import CancelledError, Future

from callboard.types import Abort
from callboard.workers.threads import standing_by
from callboard.workers.timer import Timer


async def paused(timer: Timer, seconds: float) -> None:
    """Wait; whatever ends the call cancels it."""
    over = _over(timer, seconds)
    await asyncio.wrap_future(over)


def paused_in_thread(timer: Timer, seconds: float, abort: Abort) -> None:
    """Wait in this thread.

    Raises:
        Aborted: the abort was set.
    """
    over = _over(timer, seconds)
    take_back = abort.subscribe(lambda _: over.cancel())
    try:
        with standing_by():
            over.result()
    except CancelledError:
        abort.check()
    finally:
        take_back()


def _over(timer: Timer, seconds: float) -> "Future[None]":
    over: Future[None] = Future()
    take_back = timer.call_at(timer.now() + seconds, lambda: _end(over))
    over.add_done_callback(lambda done: take_back() if done.cancelled() else None)
    return over


def _end(over: "Future[None]") -> None:
    if over.set_running_or_notify_cancel():
        over.set_result(None)
