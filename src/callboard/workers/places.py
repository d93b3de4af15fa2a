"""Named places that calls hold while they run, first come first served, across threads and event loops."""

import threading
from collections import OrderedDict
from concurrent.futures import Future

from callboard.tools.limits import Places

Chain = tuple[str, ...]  # invocation ids, outermost first
Waiting = Future[None]


class _Held:
    """The places of one name. A place is held by a call and the calls inside it that entered it."""

    __slots__ = ("holders", "queue", "taken")

    def __init__(self) -> None:
        self.taken = 0
        self.holders: dict[str, list[str]] = {}  # from each call that is in to all of its place, newest last
        self.queue: OrderedDict[Waiting, tuple[Chain, int]] = OrderedDict()

    def around(self, chain: Chain) -> list[str] | None:
        """The place whose newest holder is an ancestor of the call that `chain` ends with."""
        if self.taken:
            for call in chain:
                place = self.holders.get(call)
                if place is not None and place[-1] == call:
                    return place
        return None

    def enter(self, chain: Chain, size: int, place: list[str] | None) -> bool:
        """Let a call in, where there is room for it."""
        if place is None:
            if self.taken >= size:
                return False
            self.taken += 1
            place = []
        place.append(chain[-1])
        self.holders[chain[-1]] = place
        return True


class PlaceBook:
    """Who holds what. A call may always enter the place that one of its ancestors is the holder of.

    It is then the holder until it ends, so that two siblings inside one holder still take turns.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Start with nothing held."""
        self._mutex = threading.Lock()
        self._held: dict[str, _Held] = {}

    def enter(self, wanted: Places, chain: Chain) -> Waiting | None:
        """Take a place, or wait in line: None where the call is in, else what is done when it is."""
        with self._mutex:
            held = self._held.get(wanted.name)
            if held is None:
                held = self._held[wanted.name] = _Held()
            place = held.around(chain)
            if (place is not None or not held.queue) and held.enter(chain, wanted.size, place):
                return None
            turn: Waiting = Future()
            held.queue[turn] = (chain, wanted.size)
            return turn

    def leave(self, name: str, call: str, turn: Waiting | None = None) -> None:
        """Give a place back, or the place in line that `turn` is; a second time changes nothing."""
        with self._mutex:
            held = self._held.get(name)
            if held is None:
                return
            if turn is not None:
                held.queue.pop(turn, None)
            place = held.holders.pop(call, None)
            if place is not None:
                place.remove(call)
                held.taken -= not place
            _let_in(held, place)
            if not held.taken and not held.queue:
                del self._held[name]


def _let_in(held: _Held, place: list[str] | None) -> None:
    """Whoever has its turn now: the first in line, then those whose ancestor holds what was given back."""
    while held.queue:
        turn, (chain, size) = next(iter(held.queue.items()))
        if not held.enter(chain, size, held.around(chain)):
            break
        _tell(held, turn)
    if not place:
        return
    inside = next((item for item in held.queue.items() if held.around(item[1][0]) is place), None)
    if inside is not None:
        turn, (chain, size) = inside
        held.enter(chain, size, place)
        _tell(held, turn)


def _tell(held: _Held, turn: Waiting) -> None:
    """Say it to who waits; one that has just given up leaves by itself."""
    del held.queue[turn]
    if turn.set_running_or_notify_cancel():
        turn.set_result(None)
