"""A call's turn: its place among those that run, and its start by the rate."""

import asyncio
from concurrent.futures import Future
from time import monotonic

from callboard.errors import Busy, CallCancelled, DeadlineExceeded
from callboard.tools.limits import Pace, Places, Turn, said
from callboard.types import Abort
from callboard.workers.forks import renewed_after_fork
from callboard.workers.paces import PaceBook
from callboard.workers.places import Chain, PlaceBook
from callboard.workers.threads import standing_by
from callboard.workers.timer import Timer, shared_timer
from callboard.workers.waiting import watched

Until = tuple[int, float | None]  # since when (monotonic nanoseconds) a deadline counts, and the deadline


class Turns:
    """What the calls of a registry wait for before they start.

    Args:
        timer: measures rates; None is the process's own.
    """

    def __init__(self, timer: Timer | None = None) -> None:
        self._places = PlaceBook()
        self._paces = PaceBook(timer or shared_timer())
        renewed_after_fork(self)

    @property
    def timer(self) -> Timer:
        """What rates are measured by."""
        return self._paces.timer

    def renew(self) -> None:
        """Start with nothing held and nobody waiting."""
        self._places.renew()
        self._paces.renew()

    async def acquire(
        self, turn: Turn, chain: Chain, abort: Abort | None, until: Until, *, sync: bool
    ) -> None:
        """Wait for the turn of the call that `chain` ends with: its place first, then its start.

        So a start is counted in the moment in which the call can begin.

        Raises:
            Busy: a sync call would have to wait on an event loop's thread.
            RateLimited: the rate lets it start after its deadline only; said before it waits for anything.
            CallCancelled, DeadlineExceeded: it came to its end meanwhile, in a sync call.
            Ended: the same, in an async one.
        """
        places, pace = turn
        waits = _Wait(abort, until, sync=sync)
        if pace is not None and places is not None:
            self._paces.check(pace, self._latest(until))
        if places is not None:
            await self._placed(places, chain, waits)
        if pace is None:
            return
        try:
            await self._started(pace, waits, until)
        except BaseException:
            self.release(turn, chain[-1])
            raise

    def release(self, turn: Turn, call: str) -> None:
        """Give back what a call holds; a second time changes nothing."""
        if turn.places is not None:
            self._places.leave(turn.places.name, call)

    async def _placed(self, places: Places, chain: Chain, waits: "_Wait") -> None:
        turn = self._places.enter(places, chain)
        if turn is not None:
            try:
                await waits.passed(turn, places)
            except BaseException:
                turn.cancel()  # if its turn came in the same moment, it is given back
                self._places.leave(places.name, chain[-1], turn)
                raise

    async def _started(self, pace: Pace, waits: "_Wait", until: Until) -> None:
        turn = self._paces.start(pace, self._latest(until))
        if turn is not None:
            try:
                await waits.passed(turn, pace)
            except BaseException:
                turn.cancel()
                self._paces.give_up(pace, turn)
                raise

    def _latest(self, until: Until) -> float | None:
        """The deadline, by the timer."""
        left = left_of(until)
        return None if left is None else self.timer.now() + left


def left_of(until: Until) -> float | None:
    """Seconds until the deadline, 0 once it has passed; None where there is none."""
    began_ns, deadline = until
    return None if deadline is None else max(0.0, began_ns / 1e9 + deadline - monotonic())


class _Wait:
    """How one call waits: as a coroutine, or in its thread."""

    __slots__ = ("_abort", "_sync", "_until")

    def __init__(self, abort: Abort | None, until: Until, *, sync: bool) -> None:
        self._abort = abort
        self._until = until
        self._sync = sync

    async def passed(self, turn: "Future[None]", what: Places | Pace) -> None:
        if not self._sync:
            await watched(_resolved(turn), self._abort, *self._until)
        elif asyncio._get_running_loop() is not None:  # noqa: SLF001 - the public form raises
            raise Busy(
                f"there is no turn now ({said(what)}), and a sync call can't wait on an event loop's thread",
                hint="use invoke_async",
            )
        else:
            self._block(turn)

    def _block(self, turn: "Future[None]") -> None:
        abort = self._abort
        take_back = None if abort is None else abort.subscribe(lambda _: turn.cancel())
        try:
            with standing_by():
                turn.result(left_of(self._until))
        except TimeoutError:
            raise DeadlineExceeded("the call waited for its turn until its deadline") from None
        except BaseException as error:
            if abort is not None and abort.aborted and turn.cancelled():
                raise CallCancelled(f"the call was stopped: {abort.reason}") from error
            raise
        finally:
            if take_back is not None:
                take_back()


async def _resolved(turn: "Future[None]") -> None:
    await asyncio.wrap_future(turn)
