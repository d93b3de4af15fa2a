"""What the configuration does not keep goes while the host is open, beside its work."""

import logging
import threading

from callboard.errors import StoreError
from callboard.store import Retention
from callboard.store.store import Store

_log = logging.getLogger("callboard.host")


class Keeper:
    """A thread that prunes a store once. Closing it waits for one short transaction at most."""

    def __init__(self, store: Store, kept: Retention) -> None:
        self._store = store
        self._kept = kept
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="callboard-prune", daemon=True)

    def start(self) -> None:
        """Begin, unless all is kept."""
        if not self._kept.keeps_all:
            self._thread.start()

    def close(self) -> None:
        """End it where it is; what is left to do is done the next time."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        try:
            self._store.prune_in_passing(self._kept, self._stop.is_set)
        except StoreError as error:  # nothing was lost by it: the next host tries again
            _log.warning("the store could not be pruned: %s", error)
