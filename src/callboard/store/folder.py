"""The state folder: it is its owner's alone, and stays out of version control."""

import os
import secrets
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from callboard.errors import StoreError

FILE = "callboard.db"
OWNERS = "owners"

_FILES = (FILE, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal")
_ELSEWHERE = "set [state] folder to another place"


def prepare(folder: Path) -> None:
    """Make the folder where it is missing, and see to it that nobody else reads the files in it.

    Raises:
        StoreError: if the folder can't be made, or is none.
    """
    try:
        folder.mkdir(parents=True, mode=0o700)
    except FileExistsError:
        if not folder.is_dir():
            what = "is a link that leads nowhere" if folder.is_symlink() else "is a file"
            raise StoreError(
                f"the state folder {folder} {what}", hint=f"move it away, or {_ELSEWHERE}"
            ) from None
    except OSError as error:
        raise StoreError(
            f"the state folder {folder} can't be made: {error.strerror}",
            hint=f"check who owns the folder above it, or {_ELSEWHERE}",
        ) from error
    _close(folder)
    _ignore(folder)


def _close(folder: Path) -> None:
    """The database is the owner's alone, also in a folder that others may look into; SQLite follows it.

    One that is there is never opened here: closing it would let go of the locks that SQLite holds on it for
    another store of this process.
    """
    try:
        if not os.path.lexists(folder / FILE):
            _make(folder / FILE)
        with suppress(FileExistsError):
            os.close(os.open(folder / FILE, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        for path in (folder / name for name in _FILES):
            if path.exists() and path.stat().st_mode & 0o077:
                path.chmod(0o600)
    except OSError:  # SQLite says what is wrong with it
        return


def _make(path: Path) -> None:
    """A file without tables that can later be shortened in pieces: SQLite lets only a new one choose that.

    It gets its name when it is complete, so that nobody else finds half of it. Where that can't be done,
    SQLite makes a plain one.
    """
    made = path.with_name(f"{FILE}-{secrets.token_hex(4)}")
    try:
        os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        with closing(sqlite3.connect(made, isolation_level=None)) as connection:
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
            connection.execute("PRAGMA user_version=1")  # writes the choice down
        os.link(made, path)
    except (OSError, sqlite3.Error):
        return
    finally:
        made.unlink(missing_ok=True)


def _ignore(folder: Path) -> None:
    """All of a folder that is Callboard's alone is ignored, else what is Callboard's in it."""
    path = folder / ".gitignore"
    try:
        if os.path.lexists(path):
            return
        alone = {entry.name for entry in folder.iterdir()} <= {*_FILES, OWNERS}
        path.write_text("*\n" if alone else f"/{FILE}*\n/{OWNERS}/\n", encoding="utf-8")
    except OSError:  # version control is not worth refusing to work
        return
