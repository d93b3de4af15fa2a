"""What is noted, afterwards, of runs whose process ended without a word."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

import sqlalchemy as sa

from callboard.store.calls import add_call
from callboard.store.database import Database
from callboard.store.events import of_run
from callboard.store.owners import Owners
from callboard.store.tables import events, runs

DIRECT = "direct-"  # and the owner: the stream of events in which a process notes its calls outside of runs
_DIRECT = (events.c.run >= DIRECT, events.c.run < "direct.")  # "." follows "-"
_REASON = "process.ended"
_MESSAGE = "the process that ran it ended without a word"
# of a record: what is not known of a call that never came to its end
_UNKNOWN: Mapping[str, Any] = {"duration_ns": 0, "late": False, "result": None, "debug_steps": None}


def settle(database: Database, owners: Owners, now: float) -> list[str]:
    """See `Store.settle_abandoned`. A run that was started without an owner is left alone."""
    query = sa.select(runs.c.id, runs.c.owner).where(runs.c.status == "running", runs.c.owner.is_not(None))
    with database.read() as connection:
        running = connection.execute(query.order_by(runs.c.seq)).all()
        noted = connection.execute(sa.select(events.c.run).where(*_DIRECT).distinct()).scalars().all()
    gone = {
        owner for owner in {row.owner for row in running} | set(map(_owner, noted)) if not owners.alive(owner)
    }
    abandoned = [row for row in running if row.owner in gone]
    streams = [stream for stream in noted if _owner(stream) in gone]
    if not abandoned and not streams:
        return []
    with database.write() as connection:
        ended = [row.id for row in abandoned if _ended(connection, row.id, row.owner, now)]
        for stream in streams:
            _taken_up(connection, stream)
    return ended


def _owner(stream: str) -> str:
    return stream.removeprefix(DIRECT)


def _taken_up(connection: sa.Connection, stream: str) -> None:
    """What a dead process noted of its calls outside of runs: records that are missing are written."""
    for _, started in _open(connection, stream):
        add_call(connection, _record(started), run=None, step=None)
    connection.execute(sa.delete(events).where(events.c.run == stream))


def _ended(connection: sa.Connection, run: str, owner: str, now: float) -> bool:
    still = (runs.c.id == run, runs.c.status == "running", runs.c.owner == owner)  # nobody was faster
    values = {"status": "interrupted", "reason": _REASON, "message": _MESSAGE, "finished_at": now}
    if not connection.execute(sa.update(runs).where(*still).values(values)).rowcount:
        return False
    for event, started in _open(connection, run):
        add_call(
            connection, _record(started), run=event.run, step=event.path.rpartition("@")[0] or event.path
        )
    return True


def _open(connection: sa.Connection, run: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The facts ``call.started`` that no ``call.finished`` follows; a damaged one is passed over."""
    query = sa.select(events.c.run, events.c.path, events.c.type, sa.type_coerce(events.c.data, sa.Text))
    wanted = events.c.type.in_(("call.started", "call.finished"))
    found: dict[str, tuple[Any, dict[str, Any]]] = {}
    for row in connection.execute(query.where(of_run(events.c.run, run), wanted).order_by(events.c.seq)):
        try:
            fact = cast("dict[str, Any]", json.loads(row.data))
            call = str(fact["invocation_id"])
        except (ValueError, RecursionError, KeyError, TypeError):
            continue
        if row.type == "call.started":
            found[call] = (row, fact)
        else:
            found.pop(call, None)
    yield from found.values()


def _record(started: Mapping[str, Any]) -> dict[str, Any]:
    harmless = started["kind"] == "read" or started.get("simulated", False)
    if harmless:
        failure = {
            "code": "call.interrupted",
            "message": "the process ended while the call ran; it changes nothing",
            "hint": "call it again",
        }
    else:
        failure = {
            "code": "call.unknown",
            "message": "the process ended while the call ran; nobody knows whether it happened",
            "hint": "look at what it would have changed before you call it again",
        }
    made = {name: value for name, value in started.items() if name != "at_ns"}
    return {
        "type": "call.finished",
        **made,
        **_UNKNOWN,
        "started_ns": started["at_ns"],
        "status": "interrupted" if harmless else "unknown",
        "failure": failure,
    }
