"""What is kept, and for how long: old runs go with all that belongs to them, and the space is given back."""

import time
from collections.abc import Callable, Iterator

import sqlalchemy as sa

from callboard.store.database import Database
from callboard.store.events import of_run
from callboard.store.rows import LAST, Pruned, Reason, Retention, nanoseconds
from callboard.store.tables import blobs, calls, events, runs, steps

BATCH = 20  # runs that go in one transaction: others write between two
_CALLS = 1_000  # calls outside of runs that do
_PAGES = 2_000  # pages that are given back in one
_DAY = 86_400

Column = sa.ColumnElement[bool]


class Pruning:
    """One pass over a file. Each transaction takes whole runs: at any end, what is there is complete.

    Args:
        database: the file.
        kept: what is kept.
        now: Unix seconds.
        stopped: asked between two transactions.
        tell: is given what went so far, between two transactions.
    """

    def __init__(
        self,
        database: Database,
        kept: Retention,
        now: float,
        stopped: Callable[[], bool] = lambda: False,
        tell: Callable[[Pruned], object] = lambda _: None,
    ) -> None:
        self._database = database
        self._kept = kept
        self._now = now
        self._oldest = None if kept.keep_days is None else now - kept.keep_days * _DAY
        self._stopped = stopped
        self._tell = tell
        self.gone = Pruned()

    def run(self) -> Pruned:
        """Delete what has to go, and give back the space."""
        self.gone.bytes_before = self._database.file_size()
        for stage in (self._old, self._surplus, self._excess, self._given_back):
            if not self.gone.whole:
                break
            stage()
        self.gone.bytes_after = self._database.file_size()
        return self.gone

    def rehearse(self) -> Pruned:
        """What `run` would delete, without deleting it."""
        gone = self.gone
        gone.bytes_before = gone.bytes_after = self._database.file_size()
        with self._database.read() as connection:
            reasons: dict[str, Reason] = dict.fromkeys(self._by_number(connection), "keep_runs")
            reasons |= dict.fromkeys(self._by_age(connection), "keep_days")
            if self._oldest is not None:
                query = sa.select(sa.func.count()).select_from(calls).where(*_outside(self._oldest))
                gone.calls = connection.execute(query).scalar_one()
            live = self._database.live_size(connection) - sum(_size(connection, run) for run in reasons)
            for run in connection.execute(_ended().order_by(runs.c.seq)).scalars().all():
                if self._kept.max_size is None or live <= self._kept.max_size:
                    break
                if run not in reasons:
                    reasons[run] = "max_size"
                    live -= _size(connection, run)
        gone.runs = list(reasons.items())
        gone.bytes_after = min(gone.bytes_before, live)
        return gone

    def _old(self) -> None:
        if self._oldest is None:
            return
        with self._database.read() as connection:
            found = self._by_age(connection)
        self._drop_all(found, "keep_days")
        while self.gone.whole and self._drop_calls(self._oldest):
            self._between()

    def _surplus(self) -> None:
        with self._database.read() as connection:
            found = self._by_number(connection)
        self._drop_all(found, "keep_runs")

    def _excess(self) -> None:
        """One run at a time, the oldest first, with the calls outside of runs that are older than it."""
        limit = self._kept.max_size
        while limit is not None and self.gone.whole:
            with self._database.read() as connection:
                if self._database.live_size(connection) <= limit:
                    return
                oldest = connection.execute(_ended().order_by(runs.c.seq).limit(1)).first()
            if self._drop_calls(float("inf") if oldest is None else oldest.started_at):
                self._between()
            elif oldest is None:
                return
            else:
                self._drop_all([oldest.id], "max_size")

    def _given_back(self) -> None:
        if self._database.gives_back_in_pieces():
            while not self._stopped() and self._database.give_back(_PAGES):
                self._tell(self.gone)

    def _by_age(self, connection: sa.Connection) -> list[str]:
        if self._oldest is None:
            return []
        old = _ended().where(runs.c.started_at < self._oldest).order_by(runs.c.seq)
        return [row.id for row in connection.execute(old)]

    def _by_number(self, connection: sa.Connection) -> list[str]:
        if self._kept.keep_runs is None:
            return []
        newest = sa.select(runs.c.seq).order_by(runs.c.seq.desc()).limit(min(self._kept.keep_runs, LAST))
        surplus = _ended().where(runs.c.seq.not_in(newest)).order_by(runs.c.seq)
        return [row.id for row in connection.execute(surplus)]

    def _drop_all(self, found: list[str], reason: Reason) -> None:
        for start in range(0, len(found), BATCH):
            if not self.gone.whole:
                return
            with self._database.write() as connection:
                dropped = [run for run in found[start : start + BATCH] if _drop(connection, run)]
            self.gone.runs.extend((run, reason) for run in dropped)
            self._between()

    def _drop_calls(self, until: float) -> int:
        """Some calls outside of runs that began before that moment; those left are dropped the next time."""
        with self._database.write() as connection:
            some = sa.select(calls.c.seq).where(*_outside(until)).order_by(calls.c.seq).limit(_CALLS)
            dropped = connection.execute(sa.delete(calls).where(calls.c.seq.in_(some))).rowcount
            left = connection.execute(sa.select(sa.func.min(calls.c.started_ns)).where(calls.c.run.is_(None)))
            oldest = min(until, (left.scalar() or self._now * 1e9) / 1e9)
            connection.execute(sa.delete(blobs).where(blobs.c.run == "", blobs.c.created_at < oldest))
        self.gone.calls += dropped
        return dropped

    def _between(self) -> None:
        self._tell(self.gone)
        self.gone.whole = not self._stopped()


def prune_all(database: Database, kept: Retention, tell: Callable[[Pruned], object]) -> Pruned:
    """All of it; a file of an older Callboard, that can't give back space in pieces, is written anew."""
    gone = Pruning(database, kept, time.time(), tell=tell).run()
    if not database.gives_back_in_pieces():
        database.rewrite()
    database.fold()
    gone.bytes_after = database.file_size()
    return gone


def _ended() -> "sa.Select[str, float]":
    return sa.select(runs.c.id, runs.c.started_at).where(runs.c.status != "running")


def _outside(until: float) -> Iterator[Column]:
    yield calls.c.run.is_(None)
    if until != float("inf"):
        yield calls.c.started_ns < nanoseconds(until)


def _drop(connection: sa.Connection, run: str) -> bool:
    """Delete a run with its children's and its own records, unless it was taken up again meanwhile."""
    row = sa.delete(runs).where(runs.c.id == run, runs.c.status != "running")
    if not connection.execute(row).rowcount:
        return False
    for table, column in _parts():
        connection.execute(sa.delete(table).where(of_run(column, run)))
    return True


def _parts() -> "Iterator[tuple[sa.Table, sa.ColumnElement[str]]]":
    yield events, events.c.run
    yield calls, calls.c.run
    yield steps, steps.c.run_id
    yield blobs, blobs.c.run


def _size(connection: sa.Connection, run: str) -> int:
    """About how many bytes a run takes."""
    total = 0
    texts = {
        "events": events.c.data,
        "calls": calls.c.record,
        "steps": steps.c.outcome,
        "blobs": blobs.c.text,
    }
    for table, column in _parts():
        held = sa.func.coalesce(sa.func.sum(sa.func.length(texts[table.name]) + _ROW), 0)
        total += connection.execute(sa.select(held).where(of_run(column, run))).scalar_one()
    return total


_ROW = 200  # bytes of a row beside its text, with its share of the indexes
