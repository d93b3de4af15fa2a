"""The list of runs."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from callboard.errors import StoreError
from callboard.store.database import Database
from callboard.store.rows import RunFilter, StoredRun
from callboard.store.tables import DAMAGED, runs

_FIELDS = frozenset(field.name for field in fields(StoredRun))


class Runs:
    """One row per run: written when it starts, completed when it ends."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def start(self, run: StoredRun) -> None:
        """Note a run that starts, or that is taken up again."""
        row = asdict(run)
        again = {name: row[name] for name in ("status", "reason", "message", "finished_at", "owner")}
        with self._database.write() as connection:
            connection.execute(
                insert(runs).values(row).on_conflict_do_update(index_elements=["id"], set_=again)
            )

    def finish(
        self,
        run_id: str,
        status: str,
        *,
        finished_at: float,
        reason: str | None = None,
        message: str | None = None,
        text: str | None = None,
        rounds: int | None = None,
        usage: Mapping[str, int] | None = None,
    ) -> None:
        """Note how a run ended.

        Raises:
            StoreError: if no run of that id was started.
        """
        values = {
            "status": status,
            "finished_at": finished_at,
            "reason": reason,
            "message": message,
            "text": text,
            "rounds": rounds,
            "usage": None if usage is None else dict(usage),
        }
        with self._database.write() as connection:
            found = connection.execute(sa.update(runs).where(runs.c.id == run_id).values(values)).rowcount
        if not found:
            raise StoreError(f"no run {run_id!r} was started")

    def get(self, run_id: str) -> StoredRun | None:
        """The run of that id, or the only one whose id begins so; None where there is none.

        Raises:
            StoreError: if several begin so.
        """
        with self._database.read() as connection:
            row = connection.execute(sa.select(runs).where(runs.c.id == run_id)).mappings().first()
            if row is not None:
                return run_of(row)
            beginning = sa.func.substr(runs.c.id, 1, len(run_id)) == run_id
            rows = connection.execute(sa.select(runs).where(beginning).limit(2)).mappings().all()
        if len(rows) > 1:
            raise StoreError(f"several runs begin with {run_id!r}", hint="give more characters of the id")
        return run_of(rows[0]) if rows else None

    def list(self, wanted: RunFilter | None = None) -> list[StoredRun]:
        """The runs asked for, newest first."""
        wanted = wanted or RunFilter()
        query = sa.select(runs).order_by(runs.c.seq.desc()).limit(wanted.limit).offset(wanted.skip)
        if wanted.status:
            query = query.where(runs.c.status.in_(wanted.status))
        with self._database.read() as connection:
            return [run_of(row) for row in connection.execute(query).mappings()]


def run_of(row: Mapping[Any, Any]) -> StoredRun:
    """A row of the table as a run; what is damaged in it is None, and its message says so."""
    fields = {str(name): value for name, value in row.items() if name in _FIELDS}
    for name in [name for name, value in fields.items() if value is DAMAGED]:
        fields[name] = None
        fields["message"] = f"its {name} is damaged in the file: row {row['seq']} of the table runs"
    if fields["principal"] is not None:
        fields["principal"] = tuple(fields["principal"])
    return StoredRun(**fields)
