"""What outlives the process: runs, their events, call records and recorded steps, in one SQLite file.

Importing this room is cheap; SQLAlchemy is loaded by `open_store`.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from callboard.store.rows import CallFilter, RunFilter, StoredRun, StoredStep

if TYPE_CHECKING:
    from callboard.store.store import Store

__all__ = ["CallFilter", "RunFilter", "StoredRun", "StoredStep", "open_store"]


def open_store(folder: str | Path) -> "Store":
    """Open the store of a state folder; folder and file are made where they are missing, old files upgraded.

    Raises:
        StoreError: if the folder can't be used, or its file is damaged or written by a newer Callboard.
    """
    from callboard.store.store import Store  # noqa: PLC0415 - SQLAlchemy takes a second to load

    return Store(Path(folder))
