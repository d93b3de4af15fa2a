"""The store that commands look into."""

import os
import time
from typing import TYPE_CHECKING

from callboard.cli.exits import FAILED
from callboard.cli.flags import ConfigPath
from callboard.cli.output import print_error

if TYPE_CHECKING:
    from callboard.store import Store


def opened(config: ConfigPath) -> "Store | None":
    """The store, where there is one: looking never makes it. Runs of dead processes are ended first."""
    from callboard.config import load  # noqa: PLC0415 - pydantic
    from callboard.store import open_store  # noqa: PLC0415 - SQLAlchemy comes with it

    folder = load(config).state_folder
    if not os.path.lexists(folder):
        return None
    store = open_store(folder)
    store.settle_abandoned(time.time())
    return store


def whole_id(store: "Store", run: str) -> str | None:
    """The whole id of a run, or of a child of one; None where there is no such run."""
    root, slash, child = run.partition("/")
    found = store.runs.get(root)
    return None if found is None else found.id + slash + child


def no_run(run: str) -> int:
    """Say that there is no such run; returns the exit code."""
    print_error(f"there is no run {run!r}", hint="callboard runs list shows them")
    return FAILED
