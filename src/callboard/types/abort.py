"""The switch that ends calls and runs."""

import asyncio
import itertools
import logging
import threading
import weakref
from collections.abc import Callable
from functools import partial

from callboard.errors import Aborted

_keys = itertools.count()
_log = logging.getLogger("callboard")


class Abort:
    """Set once, from any thread or signal handler; whoever subscribed hears of it once, in that thread.

    Children are set with their parent, never the other way round.
    """

    __slots__ = ("__weakref__", "_listeners", "_lock", "reason")

    def __init__(self) -> None:
        self.reason: str | None = None
        self._listeners: dict[int, Callable[[str], object]] = {}
        # Re-entrant: a signal handler or a finaliser may come in while this very thread holds it.
        self._lock = threading.RLock()

    @property
    def aborted(self) -> bool:
        """Whether it is set."""
        return self.reason is not None

    def set(self, reason: str = "user_stopped") -> None:
        """Set it; a second call changes nothing. A listener that fails is logged; the others hear."""
        with self._lock:
            if self.reason is not None:
                return
            self.reason = reason
        for key in list(self._listeners):
            self._tell(key, reason)

    def check(self) -> None:
        """Do nothing while it is not set.

        Raises:
            Aborted: once it is set.
        """
        if self.reason is not None:
            raise Aborted(self.reason)

    def subscribe(self, listener: Callable[[str], object]) -> Callable[[], None]:
        """Call `listener` with the reason when it is set, at once if it is; returns what takes it back."""
        key = next(_keys)
        self._listeners[key] = listener
        if self.reason is not None:
            self._tell(key, self.reason)
        return partial(self._forget, key)

    def _tell(self, key: int, reason: str) -> None:
        listener = self._listeners.pop(key, None)  # whoever takes it out tells it: once, without a lock
        if listener is None:
            return
        try:
            listener(reason)
        except Exception:  # noqa: BLE001 - logged: one bad listener must not disarm the switch
            _log.exception("a listener of an abort failed")

    def _forget(self, key: int) -> None:
        self._listeners.pop(key, None)

    async def wait(self) -> str:
        """Wait until it is set; returns the reason."""
        loop = asyncio.get_running_loop()
        heard: asyncio.Future[str] = loop.create_future()

        def resolve(reason: str) -> None:
            if not heard.done():
                heard.set_result(reason)

        take_back = self.subscribe(lambda reason: loop.call_soon_threadsafe(resolve, reason))
        try:
            return await heard
        finally:
            take_back()

    def child(self) -> "Abort":
        """An abort of its own that is also set with this one."""
        return Abort.first_of(self)

    @staticmethod
    def first_of(*aborts: "Abort") -> "Abort":
        """An abort that is set with the first of several."""
        one = Abort()
        for abort in aborts:
            _link(abort, one)
        return one


def _link(parent: Abort, child: Abort) -> None:
    """Tell `child` without keeping it alive: a run's abort outlives thousands of calls."""
    reference = weakref.ref(child)

    def tell(reason: str) -> None:
        alive = reference()
        if alive is not None:
            alive.set(reason)

    take_back = parent.subscribe(tell)
    weakref.finalize(child, take_back).atexit = False
