"""The receipts of calls."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from callboard.store.database import Database
from callboard.store.events import of_run
from callboard.store.rows import CallFilter
from callboard.store.tables import DAMAGED, calls

_COLUMNS = ("invocation_id", "tool_id", "kind", "status", "agent", "started_ns", "duration_ns")


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
        query = sa.select(calls).order_by(calls.c.seq.desc()).limit(wanted.limit)
        if wanted.run is not None:
            query = query.where(of_run(calls.c.run, wanted.run))
        if wanted.status:
            query = query.where(calls.c.status.in_(wanted.status))
        if wanted.tool is not None:
            query = query.where(calls.c.tool_id == wanted.tool)
        if wanted.before is not None:
            query = query.where(calls.c.seq < wanted.before)
        with self._database.read() as connection:
            rows = connection.execute(query).mappings().all()
        return [{"seq": row["seq"], "run": row["run"], "step": row["step"], **_record(row)} for row in rows]


def _record(row: Mapping[Any, Any]) -> dict[str, Any]:
    if row["record"] is not DAMAGED:
        return row["record"]
    return {"type": "call.finished", **{name: row[name] for name in _COLUMNS}, "damaged": True}


def add_call(
    connection: sa.Connection, record: Mapping[str, Any], *, run: str | None, step: str | None
) -> None:
    """Store a record in a transaction that is open."""
    row = {name: record[name] for name in _COLUMNS}
    row.update(run=run, step=step, record=dict(record))
    connection.execute(insert(calls).values(row).on_conflict_do_nothing(index_elements=["invocation_id"]))
