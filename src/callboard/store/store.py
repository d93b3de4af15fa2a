"""The store of a state folder: its file, and the four kinds of things in it."""

from pathlib import Path
from typing import Self

from callboard.store.folder import FILE, OWNERS, prepare


class Store:
    """Runs, events, call records and recorded steps. Safe from any thread; what returned is on disk.

    SQLAlchemy is loaded when a store is made, not when this module is.

    Args:
        folder: the state folder; it is made, readable for its owner only, where it is missing.

    Raises:
        StoreError: if the folder can't be used, or its file is damaged or written by a newer Callboard.
    """

    def __init__(self, folder: Path) -> None:
        from callboard.store.calls import Calls  # noqa: PLC0415 - SQLAlchemy takes a second to load
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

    def close(self) -> None:
        """Close the file. Runs of this store that have not ended are abandoned."""
        self._owners.release()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
