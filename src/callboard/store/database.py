"""One SQLite file: how it is connected to, written to, and what its errors mean to the operator."""

import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, StatementError

from callboard.errors import StoreError

Done = TypeVar("Done")

PATIENCE = 10.0  # seconds for which a file that another process holds is waited for
# SQLite waits in short stretches: between them Python hears signals, such as the second Ctrl-C
_STRETCH_MS = 100
_BREATH = 0.005  # seconds between two of them, where SQLite does not wait itself

_INCREMENTAL = 2  # what `PRAGMA auto_vacuum` says of a file that can be shortened in pieces

_PRAGMAS = (
    f"busy_timeout={_STRETCH_MS}",
    "journal_mode=WAL",
    "synchronous=NORMAL",  # commits survive the end of the process; the last ones perhaps not a power cut
    "foreign_keys=ON",
)

# the first matching beginning of SQLite's error name -> (what is wrong, next step)
_TROUBLES = (
    ("SQLITE_NOTADB", "is not a Callboard store", "move the file away; a new one is made at the next start"),
    (
        "SQLITE_CORRUPT",
        "is damaged",
        "move the file away (or restore a copy); a new one is made at the next start",
    ),
    (
        "SQLITE_READONLY",
        "can't be written",
        "check who owns the folder, or set [state] folder to another place",
    ),
    (
        "SQLITE_CANTOPEN",
        "can't be opened",
        "check who owns the folder, or set [state] folder to another place",
    ),
    (
        "SQLITE_FULL",
        "can't grow: the disk is full",
        "free some space, or set [state] folder to another place",
    ),
    (
        "SQLITE_IOERR",
        "can't be read or written",
        "check the disk, its free space and the folder's file system",
    ),
    ("SQLITE_BUSY", "is held by another process", "end the other process, or try again"),
    ("SQLITE_LOCKED", "is held by another process", "end the other process, or try again"),
)


class Database:
    """Connections to one file. Safe from any thread; transactions are short, writers take turns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = threading.Lock()  # waiting here is fairer and faster than SQLite's polling
        self._engine = sa.create_engine(
            sa.URL.create("sqlite", database=str(path)),
            connect_args={"factory": _Connection},
        )
        event.listen(self._engine, "connect", _prepare)
        event.listen(self._engine, "begin", _begin)
        self._writer: sa.Connection | None = None  # kept: to check one out costs as much as a short write

    @contextmanager
    def read(self) -> Generator[sa.Connection]:
        """A connection to read from.

        Raises:
            StoreError: when SQLite refuses.
        """
        with self._explained(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Generator[sa.Connection]:
        """A connection in a write transaction: committed at the end, undone by an exception.

        Raises:
            StoreError: when SQLite refuses, or a value is no JSON.
        """
        with self._turn, self._explained():
            if self._writer is None:
                self._writer = self._engine.connect().execution_options(callboard_write=True)
            with self._writer.begin():
                yield self._writer

    def file_size(self) -> int:
        """Bytes of the file, with what has not been folded into it."""
        return sum(
            path.stat().st_size for name in ("", "-wal") if (path := Path(f"{self.path}{name}")).exists()
        )

    def live_size(self, connection: sa.Connection) -> int:
        """Bytes of the file without what is free in it."""
        pages, free, size = (
            _figure(connection, name) for name in ("page_count", "freelist_count", "page_size")
        )
        return (pages - free) * size

    def gives_back_in_pieces(self) -> bool:
        """Whether `give_back` can do anything: files of the first Callboard can only be written anew."""
        with self.read() as connection:
            return _figure(connection, "auto_vacuum") == _INCREMENTAL

    def give_back(self, pages: int) -> bool:
        """Shorten the file by so many free pages; returns whether more are free."""
        with self._turn, self._explained(), self._engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            shorten = f"PRAGMA incremental_vacuum({pages})"
            driver.cursor().executescript(shorten)  # `execute` would give back one page
            return _figure(connection, "freelist_count") > 0

    def rewrite(self) -> None:
        """Write the file anew, without what is free in it; from then on space is given back in pieces."""
        with self._turn, self._explained(), self._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA auto_vacuum=INCREMENTAL")
            connection.exec_driver_sql("VACUUM")

    def fold(self) -> None:
        """Fold the write-ahead log into the file, as far as nobody reads it."""
        with self._turn, self._explained(), self._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close all connections; the write-ahead log is folded into the file."""
        with self._turn:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
        self._engine.dispose()

    @contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._trouble(error.orig) from error
        except StatementError as error:  # a value that is no JSON
            raise StoreError(f"a value can't be stored: {error.orig}") from error
        except sqlite3.Error as error:  # while connecting
            raise self._trouble(error) from error

    def _trouble(self, error: BaseException | None) -> StoreError:
        name = str(getattr(error, "sqlite_errorname", ""))
        for beginning, what, hint in _TROUBLES:
            if name.startswith(beginning):
                return StoreError(f"{self.path} {what} ({error})", hint=hint)
        if str(error).startswith(("no such table", "no such column")):
            return StoreError(
                f"{self.path} is not as Callboard made it ({error})",
                hint="restore a copy, or move the file away; a new one is made at the next start",
            )
        return StoreError(
            f"{self.path}: {error}", hint="run again with CALLBOARD_DEBUG=1 and report what it shows"
        )


def _figure(connection: sa.Connection, pragma: str) -> int:
    return connection.exec_driver_sql(f"PRAGMA {pragma}").scalar_one()


class _Connection(sqlite3.Connection):
    def cursor(self, *_: object) -> sqlite3.Cursor:  # pyright: ignore[reportIncompatibleMethodOverride] - called without arguments
        return super().cursor(_Cursor)


class _Cursor(sqlite3.Cursor):
    """Tries again while another process holds the file."""

    def execute(self, *statement: Any) -> sqlite3.Cursor:
        return _patiently(lambda: super(_Cursor, self).execute(*statement))

    def executescript(self, sql_script: str) -> sqlite3.Cursor:
        return _patiently(lambda: super(_Cursor, self).executescript(sql_script))


def _patiently(work: Callable[[], Done]) -> Done:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(_BREATH)


def _prepare(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so, not where the driver guesses
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: sa.Connection) -> None:
    # IMMEDIATE: a transaction that reads first and writes later could otherwise fail half-way. A reader needs
    # no transaction: each statement sees one state.
    if connection.get_execution_options().get("callboard_write"):
        connection.exec_driver_sql("BEGIN IMMEDIATE")
