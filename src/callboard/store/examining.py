"""Looking at a state folder without changing anything in it, whatever is in it."""

import errno
import fcntl
import os
import shutil
import sqlite3
import stat
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from callboard.store.folder import FILE, OWNERS
from callboard.store.version import HEAD

_COUNTING = "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM calls)"
_MOST = 3  # complaints of SQLite that are told


@dataclass(frozen=True, slots=True)
class Examined:
    """What there is in a state folder.

    Attributes:
        size: bytes of the file.
        free: bytes that are free on its disk.
        version: of the tables; None where there are none.
        known: the version that this Callboard makes.
        foreign: a table of another program, where there is one and no version.
        damage: what SQLite complains of.
        runs: how many there are.
        calls: how many records of calls there are.
        living: runs whose process lives.
        abandoned: ids of runs that have not ended and whose process is gone.
        open_to_others: whether others than the owner may read the file.
    """

    size: int
    free: int
    version: str | None
    known: str
    foreign: str | None
    damage: tuple[str, ...]
    runs: int
    calls: int
    living: int
    abandoned: tuple[str, ...]
    open_to_others: bool


def examine(folder: Path) -> Examined:
    """Look at the store in a folder that is there.

    Raises:
        OSError: the folder or the file can't be read.
        sqlite3.Error: it is no database, or none that can be read.
    """
    file = folder / FILE
    status = file.stat()
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for whoever writes to it
        raise OSError(errno.EINVAL, f"{FILE} is no regular file")
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=2)) as connection:
        damage = _damage(connection)
        version = _version(connection)
        running = [] if version is None else _running(connection)
        living = [run for run, owner in running if owner is None or _lives(folder / OWNERS, owner)]
        counted = (0, 0) if version is None else connection.execute(_COUNTING).fetchone()
        return Examined(
            size=status.st_size,
            free=shutil.disk_usage(folder).free,
            version=version,
            known=HEAD,
            foreign=_foreign(connection) if version is None else None,
            damage=damage,
            runs=counted[0],
            calls=counted[1],
            living=len(living),
            abandoned=tuple(run for run, _ in running if run not in living),
            open_to_others=bool(status.st_mode & 0o077),
        )


def _damage(connection: sqlite3.Connection) -> tuple[str, ...]:
    said = [str(row[0]) for row in connection.execute(f"PRAGMA quick_check({_MOST})")]
    return () if said == ["ok"] else tuple(said)


def _version(connection: sqlite3.Connection) -> str | None:
    tables = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone()
    row = tables and connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return None if row is None else str(row[0])


def _foreign(connection: sqlite3.Connection) -> str | None:
    row = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 1").fetchone()
    return None if row is None else str(row[0])


def _running(connection: sqlite3.Connection) -> list[tuple[str, str | None]]:
    return connection.execute("SELECT id, owner FROM runs WHERE status = 'running' ORDER BY seq").fetchall()


def _lives(folder: Path, owner: str) -> bool:
    """Whether that owner holds its file; unlike `Owners.alive`, nothing is removed."""
    if not owner.isalnum():
        return False
    try:
        descriptor = os.open(folder / owner, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
