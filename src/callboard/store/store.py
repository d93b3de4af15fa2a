"""The store of a state folder: its file, and what is in it."""

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Self

from callboard.store.folder import FILE, OWNERS, prepare
from callboard.store.rows import Pruned, Retention


class Store:
    """Runs, events, call records, large results and recorded steps.

    Safe from any thread; what returned is on disk. SQLAlchemy is loaded when a store is made, not when this
    module is.

    Args:
        folder: the state folder; it is made, readable for its owner only, where it is missing.

    Raises:
        StoreError: if the folder can't be used, or its file is damaged or written by a newer Callboard.
    """

    def __init__(self, folder: Path) -> None:
        from callboard.store.blobs import Blobs  # noqa: PLC0415 - SQLAlchemy takes a second to load
        from callboard.store.calls import Calls  # noqa: PLC0415 - same
        from callboard.store.database import Database  # noqa: PLC0415 - same
        from callboard.store.events import Events  # noqa: PLC0415 - same
        from callboard.store.journal import Journal  # noqa: PLC0415 - same
        from callboard.store.migrate import migrate  # noqa: PLC0415 - same
        from callboard.store.owners import Owners  # noqa: PLC0415 - same
        from callboard.store.runs import Runs  # noqa: PLC0415 - same

        self.path = folder / FILE
        prepare(folder)
        self._database = Database(self.path)
        try:
            migrate(self._database)
        except BaseException:
            self._database.close()
            raise
        self.runs = Runs(self._database)
        self.events = Events(self._database)
        self.calls = Calls(self._database)
        self.blobs = Blobs(self._database)
        self.journal = Journal(self._database)
        self._owners = Owners(folder / OWNERS)

    def this_process(self) -> str:
        """The owner of runs that are started with this store; it lives until the store is closed.

        Raises:
            StoreError: if the state folder can't be written.
        """
        return self._owners.this()

    def settle_abandoned(self, now: float) -> list[str]:
        """End the runs whose owner lives no longer as ``interrupted``, and record what was open in them.

        A call that was running is recorded as ``unknown`` where it may have changed something, else as
        ``interrupted``. The same is done for calls outside of runs, whose starts a process notes as events of
        ``direct-`` and its owner. Where nothing was abandoned, nothing is written.

        Args:
            now: Unix seconds, the moment when it was noticed: noted as the end of these runs.

        Returns:
            The ids of these runs, oldest first.

        Raises:
            StoreError: if the state folder can't be written.
        """
        from callboard.store.settling import settle  # noqa: PLC0415 - SQLAlchemy, as above

        return settle(self._database, self._owners, now)

    def prune(self, kept: Retention, tell: Callable[[Pruned], object] = lambda _: None) -> Pruned:
        """Delete what is no longer kept, with all that belongs to it, and give back the space.

        Args:
            kept: what is kept. A run that has not ended stays in any case.
            tell: is given what went so far, again and again.

        Raises:
            StoreError: if the file can't be written. What went until then is gone, the rest is whole.
        """
        from callboard.store.retention import prune_all  # noqa: PLC0415 - SQLAlchemy, as above

        return prune_all(self._database, kept, tell)

    def prune_in_passing(self, kept: Retention, stopped: Callable[[], bool]) -> Pruned:
        """The same beside other work, in short transactions, until `stopped` says so.

        Space is given back where that can be done in pieces.

        Raises:
            StoreError: as `prune`.
        """
        from callboard.store.retention import Pruning  # noqa: PLC0415 - SQLAlchemy, as above

        return Pruning(self._database, kept, time.time(), stopped).run()

    def would_prune(self, kept: Retention) -> Pruned:
        """What `prune` would delete; nothing is."""
        from callboard.store.retention import Pruning  # noqa: PLC0415 - SQLAlchemy, as above

        return Pruning(self._database, kept, time.time()).rehearse()

    def export(self, runs: Iterable[str] = (), *, since: float | None = None) -> Iterator[str]:
        """Runs as lines of JSON, oldest first; docs/contracts/export.md is the whole contract.

        Args:
            runs: the ids of runs; none means all.
            since: only runs that began at this moment or later, Unix seconds.

        Raises:
            StoreError: when the file can't be read.
        """
        from callboard.store.exporting import lines  # noqa: PLC0415 - SQLAlchemy, as above

        return lines(self._database, tuple(runs), since)

    def close(self) -> None:
        """Close the file. Runs of this store that have not ended are abandoned."""
        self._owners.release()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
