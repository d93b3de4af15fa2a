"""The log of events."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from callboard.store.database import Database
from callboard.store.tables import DAMAGED, events

_PAGE = 500
_COLUMNS = ("run", "path", "n", "type", "at", "v")
_STORING = insert(events).on_conflict_do_nothing(index_elements=["run", "path", "n"]).returning(events.c.seq)


class Events:
    """Events in the order in which they were stored.

    An event is known by (run, path, n): one that is stored again, at a resume, is dropped. Transient events
    (n = 0) are never stored.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, event: Mapping[str, Any]) -> int | None:
        """Store an event, as `RunEvent.to_json` gives it; returns its position, None where it was dropped."""
        return self.append_all([event])[0]

    def append_all(self, batch: Iterable[Mapping[str, Any]]) -> list[int | None]:
        """Store several in one transaction: all of them or none."""
        with self._database.write() as connection:
            return [_append(connection, event) for event in batch]

    def of(self, run: str, *, after: int = 0, children: bool = True) -> Iterator[dict[str, Any]]:
        """The events of a run, and of its children, after a position; `seq` is filled in.

        They are read a page at a time, and those that are stored meanwhile come, too. One whose data is
        damaged in the file comes as a notice.
        """
        which = of_run(events.c.run, run) if children else events.c.run == run
        while True:
            query = sa.select(events).where(which, events.c.seq > after).order_by(events.c.seq).limit(_PAGE)
            with self._database.read() as connection:
                page = connection.execute(query).mappings().all()
            for row in page:
                yield event_of(row)
                after = row["seq"]
            if len(page) < _PAGE:
                return


def _append(connection: sa.Connection, event: Mapping[str, Any]) -> int | None:
    if event["n"] == 0:
        return None
    row = {name: event[name] for name in _COLUMNS}
    row["data"] = dict(event["data"])
    return connection.execute(_STORING, row).scalar()


def event_of(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row of the table as the event that it holds; one that is damaged as a notice."""
    if row["data"] is not DAMAGED:
        return dict(row)
    text = f"an event is damaged in the file: {row['type']}, row {row['seq']} of its table events"
    return {**row, "type": "notice", "data": {"code": "store.damaged", "text": text}}


def of_run(column: sa.ColumnElement[Any], run: str) -> sa.ColumnElement[bool]:
    """Whether a row belongs to a run or one of its children: their ids begin with the run's and a slash."""
    return sa.or_(column == run, sa.and_(column >= run + "/", column < run + "0"))  # "0" follows "/"
