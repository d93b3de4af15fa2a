"""Named locks: one call at a time, first come first served, across threads and event loops."""

import asyncio
import threading
from collections import deque
from concurrent.futures import Future
from time import monotonic

from callboard.errors import Busy, CallCancelled, DeadlineExceeded
from callboard.types import Abort
from callboard.workers.forks import renewed_after_fork
from callboard.workers.threads import standing_by
from callboard.workers.waiting import watched

Chain = tuple[str, ...]  # invocation ids, outermost first
Until = tuple[int, float | None]  # since when (monotonic nanoseconds) a deadline counts, and the deadline


class Locks:
    """The locks of a registry. A call may enter where the holder is one of its ancestors.

    It is then the holder until it ends, so that two siblings inside one holder still take turns.
    """

    def __init__(self) -> None:
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start with nothing held."""
        self._mutex = threading.Lock()
        self._holders: dict[str, list[str]] = {}
        self._queues: dict[str, deque[tuple[Chain, Future[None]]]] = {}

    async def acquire(
        self, name: str, chain: Chain, abort: Abort | None, until: Until, *, sync: bool
    ) -> None:
        """Wait for the turn of the call that `chain` ends with.

        Raises:
            Busy: a sync call would have to wait on an event loop's thread.
            CallCancelled, DeadlineExceeded: it came to its end meanwhile, in a sync call.
            Ended: the same, in an async one.
        """
        turn = self._enter(name, chain)
        if turn is None:
            return
        try:
            if sync:
                self._wait(name, turn, abort, until)
            else:
                await watched(_resolved(turn), abort, *until)
        except BaseException:
            if not turn.cancel():  # its turn came in the same moment
                self.release(name, chain[-1])
            raise

    def release(self, name: str, call: str) -> None:
        """Give the lock back; a second time changes nothing."""
        with self._mutex:
            holders = self._holders.get(name)
            if holders is None or call not in holders:
                return
            holders.remove(call)
            self._pass_on(name, holders)
            if not holders:
                del self._holders[name]
                self._queues.pop(name, None)

    def _enter(self, name: str, chain: Chain) -> "Future[None] | None":
        with self._mutex:
            holders = self._holders.setdefault(name, [])
            if not holders or holders[-1] in chain:
                holders.append(chain[-1])
                return None
            turn: Future[None] = Future()
            self._queues.setdefault(name, deque()).append((chain, turn))
            return turn

    def _pass_on(self, name: str, holders: list[str]) -> None:
        queue = self._queues.get(name)
        while queue:
            following = next((item for item in queue if not holders or holders[-1] in item[0]), None)
            if following is None:
                return
            queue.remove(following)
            chain, turn = following
            if turn.set_running_or_notify_cancel():
                holders.append(chain[-1])
                turn.set_result(None)
                return

    def _wait(self, name: str, turn: "Future[None]", abort: Abort | None, until: Until) -> None:
        if asyncio._get_running_loop() is not None:  # noqa: SLF001 - the public form raises
            raise Busy(
                f"the lock {name!r} is held, and a sync call can't wait for it on an event loop's thread",
                hint="use invoke_async",
            )
        began_ns, deadline = until
        left = None if deadline is None else max(0.0, began_ns / 1e9 + deadline - monotonic())
        take_back = None if abort is None else abort.subscribe(lambda _: turn.cancel())
        try:
            with standing_by():
                turn.result(left)
        except TimeoutError:
            raise DeadlineExceeded("the call waited for its lock until its deadline") from None
        except BaseException as error:
            if abort is not None and abort.aborted and turn.cancelled():
                raise CallCancelled(f"the call was stopped: {abort.reason}") from error
            raise
        finally:
            if take_back is not None:
                take_back()


async def _resolved(turn: "Future[None]") -> None:
    await asyncio.wrap_future(turn)
