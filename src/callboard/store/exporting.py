"""Writing an export: runs as lines of JSON, a few rows in memory at a time."""

import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

import sqlalchemy as sa

from callboard.store.calls import call_of
from callboard.store.database import Database
from callboard.store.events import event_of, of_run
from callboard.store.exports import FORMAT, VERSION, line
from callboard.store.runs import run_of
from callboard.store.tables import blobs, calls, events, runs, steps

_PAGE = 20  # rows that are read at once: each may hold a large result
_EVENT = ("v", "seq", "run", "path", "n", "type", "at", "data")
_CALL = (
    "seq",
    "run",
    "step",
    "type",
    "invocation_id",
    "tool_id",
    "kind",
    "call_key",
    "parents",
    "principal",
    "agent",
    "started_ns",
    "duration_ns",
    "status",
    "arguments",
    "repaired",
    "simulated",
    "late",
    "verdict",
    "reasons",
    "result",
    "failure",
    "debug_steps",
)


def lines(database: Database, wanted: tuple[str, ...], since: float | None) -> Iterator[str]:
    """See `Store.export`."""
    yield _header()
    counted = 0
    for row in _runs(database, wanted, since):
        counted += 1
        yield line("run", run_of(row).to_json())
        for table, column, kind, shaped in _PARTS:
            for part in _rows(database, table, of_run(column, row["id"])):
                yield line(kind, shaped(part))
    yield line("end", {"runs": counted})


def nothing() -> Iterator[str]:
    """The export of a folder that has no store."""
    yield _header()
    yield line("end", {"runs": 0})


def _header() -> str:
    return line(
        "export", {"format": FORMAT, "v": VERSION, "callboard": version("callboard"), "at": time.time()}
    )


def _runs(database: Database, wanted: tuple[str, ...], since: float | None) -> Iterator[Mapping[Any, Any]]:
    which: list[sa.ColumnElement[bool]] = [runs.c.id.in_(wanted)] if wanted else []
    if since is not None:
        which.append(runs.c.started_at >= since)
    return _rows(database, runs, *which)


def _rows(database: Database, table: sa.Table, *which: sa.ColumnElement[bool]) -> Iterator[Mapping[Any, Any]]:
    """The rows in the order in which they were stored, a page at a time: no reader holds up a writer."""
    place = _place(table)
    after: Any = None
    while True:
        query = sa.select(table, place.label("place")).where(*which).order_by(place).limit(_PAGE)
        if after is not None:
            query = query.where(place > after)
        with database.read() as connection:
            page = connection.execute(query).mappings().all()
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1]["place"]


def _place(table: sa.Table) -> sa.ColumnElement[int]:
    return table.c.seq if "seq" in table.c else sa.literal_column("steps.rowid", sa.Integer)


def _event(row: Mapping[Any, Any]) -> dict[str, Any]:
    event = event_of(row)
    return {name: event[name] for name in _EVENT}


def _call(row: Mapping[Any, Any]) -> dict[str, Any]:
    """The known fields in their order, then what else the record has."""
    call = call_of(row)
    return {name: call[name] for name in _CALL if name in call} | call


def _step(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {
        "run": row["run_id"],
        "step": row["step_id"],
        "attempts": row["attempts"],
        "about": row["about"],
        "outcome": row["outcome"],
    }


def _blob(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("run", "handle", "principal", "created_at", "length", "text")}


Shaped = Callable[[Mapping[Any, Any]], dict[str, Any]]
_PARTS: tuple[tuple[sa.Table, sa.ColumnElement[str], str, Shaped], ...] = (
    (events, events.c.run, "event", _event),
    (calls, calls.c.run, "call", _call),
    (steps, steps.c.run_id, "step", _step),
    (blobs, blobs.c.run, "blob", _blob),
)
