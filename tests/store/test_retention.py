"""What is kept and what goes: whole runs, the oldest first, and the space with them."""

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from callboard.events import RunEvent
from callboard.store import CallFilter, Pruned, Retention, Store, StoredRun, open_store

DAY = 86_400.0
CORPUS = Path(__file__).parent / "corpus"
TABLES = {"events": "run", "calls": "run", "steps": "run_id", "blobs": "run"}


def record(invocation_id: str, started: float, **more: Any) -> dict[str, Any]:
    return {
        "type": "call.finished",
        "invocation_id": invocation_id,
        "tool_id": "add",
        "kind": "read",
        "status": "ok",
        "agent": None,
        "started_ns": int(started * 1e9),
        "duration_ns": 41,
        **more,
    }


def fill(store: Store, run: str, started: float, *, status: str = "completed", size: int = 10) -> None:
    """A run with a child, and something of it in every table."""
    store.runs.start(StoredRun(id=run, profile="loop", started_at=started, owner=store.this_process()))
    for name in (run, f"{run}/one#1/a"):
        store.events.append(RunEvent(name, "p", 1, "notice", started, {"text": "x" * size}).to_json())
        store.calls.add(record(f"{name}-call", started), run=name, step="s")
        store.journal.save(name, "s", "about", "{}")
        store.blobs.put(f'"{name}"', run=run, principal=None)
    if status != "running":
        store.runs.finish(run, status, finished_at=started + 1)


def ids(store: Store) -> list[str]:
    return [run.id for run in reversed(store.runs.list())]


def left(store: Store) -> dict[str, set[str]]:
    """The runs (without children) that each table still knows."""
    with sqlite3.connect(store.path) as connection:
        found = {
            table: {str(row[0]).split("/")[0] for row in connection.execute(f"SELECT {column} FROM {table}")}
            for table, column in TABLES.items()
        }
    connection.close()
    return found


def everywhere(runs: Iterable[str]) -> dict[str, set[str]]:
    return {table: set(runs) for table in TABLES}


def test_old_runs_go_with_all_that_belongs_to_them(tmp_path: Path) -> None:
    now = time.time()
    with open_store(tmp_path) as store:
        for number, run in enumerate(("r1", "r1-x", "r2", "r10")):
            fill(store, run, now - (40 - number * 10) * DAY)
        gone = store.prune(Retention(keep_days=25))
        assert gone.runs == [("r1", "keep_days"), ("r1-x", "keep_days")]
        assert ids(store) == ["r2", "r10"]
        assert left(store) == everywhere({"r2", "r10"})


def test_the_newest_runs_are_kept_by_number(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        for number in range(50):
            fill(store, f"r{number:02}", float(number))
        gone = store.prune(Retention(keep_runs=3))
        assert (len(gone.runs), gone.runs[0]) == (47, ("r00", "keep_runs"))
        assert ids(store) == ["r47", "r48", "r49"]
        assert store.prune(Retention(keep_runs=0)).runs == [(f"r{n}", "keep_runs") for n in (47, 48, 49)]
        assert ids(store) == []


@pytest.mark.parametrize("kept", [Retention(keep_days=0), Retention(keep_runs=0), Retention(max_size=0)])
def test_a_run_that_has_not_ended_is_never_deleted(tmp_path: Path, kept: Retention) -> None:
    with open_store(tmp_path) as store:
        fill(store, "old", 1.0, status="running")
        fill(store, "done", 2.0)
        assert store.would_prune(kept).runs[0][0] == "done"
        assert [run for run, _ in store.prune(kept).runs] == ["done"]
        assert ids(store) == ["old"]
        assert left(store) == everywhere({"old"})


def test_the_file_shrinks_to_its_size_and_the_oldest_go_first(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        for number in range(30):
            fill(store, f"r{number:02}", float(number), size=100_000)
        said = store.would_prune(Retention(max_size=2_000_000))
        before = said.bytes_before
        assert len(ids(store)) == 30
        gone = store.prune(Retention(max_size=2_000_000))
        assert before > 6_000_000
        assert {reason for _, reason in gone.runs} == {"max_size"}
        assert ids(store) == [f"r{number:02}" for number in range(len(gone.runs), 30)]
        assert 0 < gone.bytes_after <= 2_000_000
        assert store.path.stat().st_size == gone.bytes_after
        assert abs(len(said.runs) - len(gone.runs)) <= 2
        assert store.prune(Retention(max_size=2_000_000)).runs == []


def test_a_large_result_of_two_calls_outside_of_runs_stays_with_the_newer_one(tmp_path: Path) -> None:
    now = time.time()
    with open_store(tmp_path) as store:
        store.blobs.put('"x"', run="", principal=None)
        store.calls.add(record("old", now - 40 * DAY))
        with sqlite3.connect(store.path) as connection:
            connection.execute("UPDATE blobs SET created_at = ?", (now - 40 * DAY + 1,))
        connection.close()
        handle = store.blobs.put('"x"', run="", principal=None)
        store.calls.add(record("new", now - 1))

        assert store.prune(Retention(keep_days=30)).calls == 1
        assert store.blobs.get(handle, run="", principal=None) == '"x"'


@pytest.mark.parametrize(
    "kept",
    [
        Retention(keep_days=1e300),
        Retention(keep_days=float("inf")),
        Retention(keep_runs=10**30),
        Retention(max_size=10**40),
    ],
)
def test_a_limit_beyond_all_numbers_keeps_everything(kept: Retention, tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        fill(store, "r1", 1.0)
        store.calls.add(record("c1", 1.0))
        for gone in (store.would_prune(kept), store.prune(kept)):
            assert (gone.runs, gone.calls) == ([], 0)


def test_calls_outside_of_runs_go_by_age_and_by_size(tmp_path: Path) -> None:
    now = time.time()
    with open_store(tmp_path) as store:
        for number in range(10):
            store.calls.add(record(f"c{number}", now - (10 - number) * DAY))
        store.blobs.put('"x"', run="", principal=None)
        assert store.would_prune(Retention(keep_days=4.5)).calls == 6
        assert store.prune(Retention(keep_days=4.5)).calls == 6
        assert [call["invocation_id"] for call in store.calls.list()] == ["c9", "c8", "c7", "c6"]
        assert left(store)["blobs"] == {""}
        assert store.prune(Retention(max_size=1)).calls == 4
        assert store.calls.list() == []


def test_nothing_has_to_go_where_everything_is_kept(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        fill(store, "r1", 1.0)
        assert store.prune(Retention()).runs == []
        assert Retention().keeps_all


def test_it_can_be_stopped_between_two_transactions_and_goes_on_the_next_time(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        for number in range(50):
            fill(store, f"r{number:02}", float(number))
        gone = store.prune_in_passing(Retention(keep_runs=1), lambda: True)
        assert (len(gone.runs), gone.whole) == (20, False)
        assert left(store) == everywhere(ids(store))
        assert len(store.prune_in_passing(Retention(keep_runs=1), lambda: False).runs) == 29


def test_how_far_it_is_is_told(tmp_path: Path) -> None:
    told: list[int] = []

    def tell(gone: Pruned) -> None:
        told.append(len(gone.runs))

    with open_store(tmp_path) as store:
        for number in range(50):
            fill(store, f"r{number:02}", float(number))
        store.prune(Retention(keep_runs=1), tell)
    assert told[:3] == [20, 40, 49]


def test_a_file_of_the_first_callboard_is_written_anew_once(tmp_path: Path) -> None:
    (tmp_path / "callboard.db").write_bytes((CORPUS / "0001.db").read_bytes())
    with open_store(tmp_path) as store:
        for number in range(20):
            fill(store, f"n{number}", float(number), size=50_000)
        gone = store.prune(Retention(keep_runs=0))
        assert gone.bytes_after < 300_000
        with sqlite3.connect(store.path) as connection:
            assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        connection.close()


def test_others_write_while_it_works(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        for number in range(100):
            fill(store, f"r{number:03}", float(number))
        pruner = threading.Thread(target=store.prune, args=(Retention(keep_runs=100),))
        pruner.start()
        for number in range(50):
            fill(store, f"s{number:03}", 1000.0 + number)
        pruner.join(30)
        assert not pruner.is_alive()
        store.prune(Retention(keep_runs=100))
        assert ids(store)[-50:] == [f"s{number:03}" for number in range(50)]
        assert left(store) == everywhere(_all(store))


def _all(store: Store) -> list[str]:
    with sqlite3.connect(store.path) as connection:
        found = [row[0] for row in connection.execute("SELECT id FROM runs")]
    connection.close()
    return found


KILLED = """
import sys
from callboard.store import Retention, open_store
with open_store(sys.argv[1]) as store:
    print("begun", flush=True)
    store.prune(Retention(keep_runs=1), lambda gone: print(len(gone.runs), flush=True))
    print("done", flush=True)
"""


def test_a_process_that_is_killed_in_the_middle_leaves_whole_runs(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        for number in range(120):
            fill(store, f"r{number:03}", float(number), size=5_000)
    for lines in range(1, 4):  # killed at the beginning, and a little further each time
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for _ in range(lines):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
        assert process.returncode == -signal.SIGKILL or lines > 1
        with open_store(tmp_path) as store:
            assert left(store) == everywhere(_all(store))
            assert _all(store)[-1] == "r119"
            with sqlite3.connect(store.path) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            connection.close()
    with open_store(tmp_path) as store:
        store.prune(Retention(keep_runs=1))
        assert _all(store) == ["r119"]


def _fill_at_once(store: Store, number: int, chance: random.Random) -> None:
    """What `fill` makes, many times in one transaction."""
    fill(store, "r0000", 0.0)
    with sqlite3.connect(store.path) as connection:
        for table, columns in _COLUMNS.items():
            names = ", ".join(columns)
            copied = ", ".join(made or name for name, made in columns.items())
            for at in range(1, number):
                size = chance.randrange(20_000)
                sql = f"INSERT INTO {table} ({names}) SELECT {copied} FROM {table} WHERE {_FIRST[table]}"
                connection.execute(sql, {"run": f"r{at:04}", "at": float(at), "text": "x" * size})
    connection.close()


_NAMED = ":run || substr({}, 6)"  # r0000/one#1/a of another run
_COLUMNS: dict[str, dict[str, str]] = {
    "runs": {
        "id": ":run",
        "started_at": ":at",
        **dict.fromkeys(("profile", "status", "input", "simulate"), ""),
    },
    "events": {
        "run": _NAMED.format("run"),
        "data": "json_object('text', :text)",
        **dict.fromkeys(("path", "n", "type", "at", "v"), ""),
    },
    "calls": {
        "run": _NAMED.format("run"),
        "invocation_id": _NAMED.format("invocation_id"),
        **dict.fromkeys(("tool_id", "kind", "status", "started_ns", "duration_ns", "record"), ""),
    },
    "steps": {
        "run_id": _NAMED.format("run_id"),
        **dict.fromkeys(("step_id", "attempts", "about", "outcome"), ""),
    },
    "blobs": {
        "run": _NAMED.format("run"),
        **dict.fromkeys(("principal", "handle", "created_at", "length", "text"), ""),
    },
}
_FIRST = {
    "runs": "id = 'r0000'",
    "steps": "substr(run_id, 1, 5) = 'r0000'",
    **dict.fromkeys(("events", "calls", "blobs"), "substr(run, 1, 5) = 'r0000'"),
}


@pytest.mark.slow
def test_a_store_of_two_thousand_runs_is_pruned_while_it_is_used(tmp_path: Path) -> None:
    chance = random.Random(7)
    with open_store(tmp_path) as store:
        _fill_at_once(store, 2_000, chance)
        slowest, stop = 0.0, threading.Event()
        pruner = threading.Thread(target=store.prune_in_passing, args=(Retention(keep_runs=200), stop.is_set))
        began = time.monotonic()
        pruner.start()
        written = 0
        while pruner.is_alive():
            at = time.monotonic()
            store.calls.add(record(f"c{written}", at))
            slowest, written = max(slowest, time.monotonic() - at), written + 1
        took = time.monotonic() - began
        assert _all(store) == [f"r{number:04}" for number in range(1_800, 2_000)]
        assert left(store)["events"] == set(_all(store))
        assert len(store.calls.list(CallFilter(limit=1_000_000))) == 400 + written
        assert written > 10
        assert slowest < 2.0, f"{slowest:.2f} s of {took:.1f} s"
