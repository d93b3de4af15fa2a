"""What outlives the process: runs, events, call records, results and recorded steps, in one SQLite file.

Importing this room is cheap; SQLAlchemy is loaded by `open_store`.
"""

from pathlib import Path

from callboard.store.exports import ExportReader
from callboard.store.rows import CallFilter, Pruned, Retention, RunFilter, StoredRun, StoredStep
from callboard.store.store import Store

__all__ = [
    "CallFilter",
    "ExportReader",
    "Pruned",
    "Retention",
    "RunFilter",
    "Store",
    "StoredRun",
    "StoredStep",
    "open_store",
]


def open_store(folder: str | Path) -> Store:
    """Open the store of a state folder; folder and file are made where they are missing, old files upgraded.

    Raises:
        StoreError: if the folder can't be used, or its file is damaged or written by a newer Callboard.
    """
    return Store(Path(folder))
