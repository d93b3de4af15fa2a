"""Named rates: so many calls may start in any stretch of a time, the surplus in order."""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future

from callboard.errors import RateLimited
from callboard.tools.limits import Pace, said
from callboard.workers.timer import Timer

Waiting = Future[None]


class _Kept:
    """The newest starts of one rate, and who waits for the next."""

    __slots__ = ("pace", "queue", "starts", "take_back")

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.starts: deque[float] = deque(maxlen=pace.starts)
        self.queue: OrderedDict[Waiting, None] = OrderedDict()
        self.take_back: Callable[[], None] | None = None  # of the alarm for the first in line

    def expected(self, now: float, ahead: int) -> float:
        """When a call could start that has so many waiting before it."""
        _, count, seconds = self.pace
        rounds, place = divmod(ahead, count)
        free = count - len(self.starts)  # starts that nobody has taken yet
        first = now if place < free else max(now, self.starts[place - free] + seconds)
        return first + rounds * seconds


class PaceBook:
    """What started when, by rate.

    Args:
        timer: tells the time, and when the next start is due.
    """

    def __init__(self, timer: Timer) -> None:
        self.timer = timer
        self.renew()

    def renew(self) -> None:
        """Start with nothing counted, nobody waiting."""
        self._mutex = threading.Lock()
        self._kept: dict[Pace, _Kept] = {}

    def check(self, pace: Pace, latest: float | None) -> None:
        """Do nothing while a call could start in time.

        Args:
            pace: the rate.
            latest: the moment until which the call would wait, by the timer; None is for ever.

        Raises:
            RateLimited: it could not.
        """
        with self._mutex:
            kept = self._kept.get(pace)
            if kept is not None and latest is not None:
                _check(kept, self.timer.now(), latest)

    def start(self, pace: Pace, latest: float | None) -> Waiting | None:
        """Count a start, or wait in line for it: None where it is counted, else what is done when it is.

        Raises:
            RateLimited: its turn would come after `latest`.
        """
        with self._mutex:
            kept = self._kept.get(pace)
            if kept is None:
                kept = self._kept[pace] = _Kept(pace)
            now = self.timer.now()
            if not kept.queue and kept.expected(now, 0) <= now:
                kept.starts.append(now)
                return None
            if latest is not None:
                _check(kept, now, latest)
            turn: Waiting = Future()
            kept.queue[turn] = None
            if kept.take_back is None:
                self._wake(kept, now)
            return turn

    def give_up(self, pace: Pace, turn: Waiting) -> None:
        """Leave the line; whoever is behind moves up."""
        with self._mutex:
            kept = self._kept.get(pace)
            if kept is None:
                return
            kept.queue.pop(turn, None)
            if not kept.queue and kept.take_back is not None:
                kept.take_back()
                kept.take_back = None

    def _wake(self, kept: _Kept, now: float) -> None:
        """Have the first in line told when it is due."""
        kept.take_back = self.timer.call_at(kept.expected(now, 0), lambda: self._due(kept))

    def _due(self, kept: _Kept) -> None:
        with self._mutex:
            kept.take_back = None
            now = self.timer.now()
            while kept.queue and kept.expected(now, 0) <= now:
                turn, _ = kept.queue.popitem(last=False)
                if turn.set_running_or_notify_cancel():
                    kept.starts.append(now)
                    turn.set_result(None)
            if kept.queue:
                self._wake(kept, now)


def _check(kept: _Kept, now: float, latest: float) -> None:
    due = kept.expected(now, len(kept.queue))
    if due > latest:
        raise RateLimited(
            f"the rate is used up ({said(kept.pace)}): the call could start in {due - now:.1f} s, "
            "which is after its deadline",
            hint=f"try again in {due - now:.0f} s",
        )
