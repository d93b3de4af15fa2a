"""The receipts of calls."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from callboard.errors import StoreError
from callboard.store.database import Database
from callboard.store.events import of_run
from callboard.store.rows import LAST, CallFilter, nanoseconds
from callboard.store.tables import DAMAGED, calls

_COLUMNS = ("invocation_id", "tool_id", "kind", "status", "agent", "started_ns", "duration_ns")
_PAGE = 5_000  # rows that are read at once
_SAID = 50  # different words of a column that are worth naming


class Calls:
    """One terminal record per call, inside of runs and outside."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, record: Mapping[str, Any], *, run: str | None = None, step: str | None = None) -> None:
        """Store a record, as `call_event_to_json` gives it; one that is known is dropped."""
        with self._database.write() as connection:
            add_call(connection, record, run=run, step=step)

    def list(self, wanted: CallFilter | None = None) -> list[dict[str, Any]]:
        """The records asked for, newest first, each with `seq`, `run` and `step`.

        One whose text in the file is damaged comes as what else is known of it, with `damaged`: True.
        """
        wanted = wanted or CallFilter()
        query = sa.select(calls).where(*_conditions(wanted)).order_by(calls.c.seq.desc()).limit(wanted.limit)
        with self._database.read() as connection:
            rows = connection.execute(query).mappings().all()
        return [call_of(row) for row in rows]

    def get(self, invocation_id: str) -> dict[str, Any] | None:
        """The record of that call, or of the only one whose id begins so; None where there is none.

        Raises:
            StoreError: if several begin so.
        """
        beginning = sa.func.substr(calls.c.invocation_id, 1, len(invocation_id)) == invocation_id
        with self._database.read() as connection:
            exact = sa.select(calls).where(calls.c.invocation_id == invocation_id)
            row = connection.execute(exact).mappings().first()
            if row is not None:
                return call_of(row)
            rows = connection.execute(sa.select(calls).where(beginning).limit(2)).mappings().all()
        if len(rows) > 1:
            raise StoreError(
                f"several calls begin with {invocation_id!r}", hint="give more characters of the id"
            )
        return call_of(rows[0]) if rows else None

    def measures(self, wanted: CallFilter | None = None) -> Iterator[tuple[str, str, str | None, int, bool]]:
        """Tool, status, error code, duration in nanoseconds and whether simulated, of each call asked for.

        There may be millions: they are read as they are taken, in no order; `limit` does not count here.
        """
        row = calls.c
        query = sa.select(row.tool_id, row.status, row.code, row.duration_ns, row.simulated)
        query = query.where(*_conditions(wanted or CallFilter()))
        with self._database.read() as connection:
            for tool, status, code, duration, simulated in connection.execute(query).yield_per(_PAGE):
                yield tool, status, code, duration, bool(simulated)

    def words(self, column: Literal["tool_id", "agent", "user", "tenant", "code"]) -> tuple[str, ...]:
        """The words that this column holds, at most 50 of them, for an error that names what there is."""
        held = calls.c[column]
        query = sa.select(held).where(held.is_not(None)).distinct().order_by(held).limit(_SAID)
        with self._database.read() as connection:
            return tuple(connection.execute(query).scalars())


def call_of(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row of the table as the record that it holds, with its place."""
    return {"seq": row["seq"], "run": row["run"], "step": row["step"], **_record(row)}


def _conditions(wanted: CallFilter) -> Iterator[sa.ColumnElement[bool]]:
    if wanted.run is not None:
        yield of_run(calls.c.run, wanted.run)
    for column, words in (
        (calls.c.status, wanted.status),
        (calls.c.tool_id, wanted.tool),
        (calls.c.code, wanted.code),
    ):
        if words:
            yield column.in_(words)
    for name in ("agent", "user", "tenant"):
        value = getattr(wanted, name)
        if value is not None:
            yield calls.c[name] == value
    yield from _figures(wanted)


def _figures(wanted: CallFilter) -> Iterator[sa.ColumnElement[bool]]:
    if wanted.simulated is not None:
        yield calls.c.simulated.is_(sa.true() if wanted.simulated else sa.false())
    if wanted.since is not None:
        yield calls.c.started_ns >= nanoseconds(wanted.since)
    if wanted.until is not None:
        yield calls.c.started_ns < nanoseconds(wanted.until)
    if wanted.slow is not None:
        yield calls.c.duration_ns >= nanoseconds(wanted.slow)
    if wanted.before is not None:
        yield calls.c.seq < min(wanted.before, LAST)


def _record(row: Mapping[Any, Any]) -> dict[str, Any]:
    if row["record"] is not DAMAGED:
        return row["record"]
    return {"type": "call.finished", **{name: row[name] for name in _COLUMNS}, "damaged": True}


def add_call(
    connection: sa.Connection, record: Mapping[str, Any], *, run: str | None, step: str | None
) -> None:
    """Store a record in a transaction that is open."""
    row = {name: record[name] for name in _COLUMNS}
    given: Sequence[str | None] = record.get("principal") or ()
    user, tenant, *_ = (*given, None, None)
    failure: Mapping[str, Any] = record.get("failure") or {}
    row.update(run=run, step=step, record=dict(record))
    row.update(user=user, tenant=tenant, code=failure.get("code"), simulated=record.get("simulated"))
    connection.execute(insert(calls).values(row).on_conflict_do_nothing(index_elements=["invocation_id"]))
