"""Runs whose process ended without a word: they are noticed, ended, and what was open in them is recorded."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from callboard.events import RunEvent
from callboard.store import CallFilter, RunFilter, Store, StoredRun, open_store


def started(invocation_id: str, **more: Any) -> dict[str, Any]:
    return {
        "invocation_id": invocation_id,
        "tool_id": "save",
        "kind": "write",
        "call_key": "r1 act#1/tool.save.1",
        "parents": [],
        "principal": None,
        "agent": "main",
        "at_ns": 1_764_502_000_123_456_789,
        "arguments": '{"a":1}',
        "repaired": False,
        "simulated": False,
        "verdict": "allow",
        "reasons": ["the profile's writes"],
        **more,
    }


def tell(store: Store, n: int, type_: Any, data: dict[str, Any], run: str = "r1") -> None:
    store.events.append(RunEvent(run, "act#1/tool.save.1@1", n, type_, 12.5, data).to_json())


def start(store: Store, run: str = "r1") -> None:
    store.runs.start(StoredRun(id=run, profile="loop", started_at=1.0, owner=store.this_process()))


def test_a_run_whose_store_is_open_is_running_for_everybody(tmp_path: Path) -> None:
    with open_store(tmp_path) as store, open_store(tmp_path) as other:
        start(store)
        assert other.settle_abandoned(50.0) == []
        assert store.settle_abandoned(50.0) == []
        assert [run.status for run in other.runs.list()] == ["running"]


def test_a_run_that_was_left_by_its_store_is_interrupted(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        start(store)
    with open_store(tmp_path) as store:
        assert store.settle_abandoned(50.0) == ["r1"]
        assert store.settle_abandoned(60.0) == []
        [run] = store.runs.list(RunFilter(status=("interrupted",)))
        assert (run.reason, run.finished_at) == ("process.ended", 50.0)
        assert run.message == "the process that ran it ended without a word"


def test_open_calls_are_recorded_by_what_they_may_have_done(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        start(store)
        tell(store, 1, "call.started", started("write"))
        tell(store, 2, "call.started", started("read", kind="read"))
        tell(store, 3, "call.started", started("simulated", simulated=True))
        tell(store, 4, "call.started", started("done"))
        tell(store, 5, "call.finished", {"invocation_id": "done"})
        tell(store, 1, "call.started", started("child"), run="r1/one#1/a")
        tell(store, 1, "call.started", started("namesake"), run="r10")
    with open_store(tmp_path) as store:
        store.settle_abandoned(50.0)
        found = {call["invocation_id"]: call["status"] for call in store.calls.list()}
        assert found == {
            "write": "unknown",
            "read": "interrupted",
            "simulated": "interrupted",
            "child": "unknown",
        }
        [child, write] = store.calls.list(CallFilter(status=("unknown",)))
        assert (child["run"], write["run"], write["step"]) == ("r1/one#1/a", "r1", "act#1/tool.save.1")
        assert write["failure"]["code"] == "call.unknown"
        assert (write["arguments"], write["started_ns"]) == ('{"a":1}', 1_764_502_000_123_456_789)


def test_a_call_that_has_its_record_keeps_it(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        start(store)
        tell(store, 1, "call.started", started("c1"))
        record = {**started("c1"), "status": "ok", "started_ns": 1, "duration_ns": 2}
        store.calls.add(record, run="r1")
    with open_store(tmp_path) as store:
        store.settle_abandoned(50.0)
        assert [call["status"] for call in store.calls.list()] == ["ok"]


def test_a_run_without_an_owner_and_one_that_has_ended_are_left_alone(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.runs.start(StoredRun(id="r1", profile="loop", started_at=1.0))
        start(store, "r2")
        store.runs.finish("r2", "completed", finished_at=2.0)
    with open_store(tmp_path) as store:
        assert store.settle_abandoned(50.0) == []
        assert [run.status for run in store.runs.list()] == ["completed", "running"]


def test_a_run_that_is_taken_up_again_has_a_new_owner(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        start(store)
    with open_store(tmp_path) as store, open_store(tmp_path) as other:
        store.settle_abandoned(50.0)
        start(store)
        assert other.settle_abandoned(60.0) == []
        assert [run.status for run in other.runs.list()] == ["running"]


def test_calls_outside_of_runs_are_recorded_too_and_their_notes_taken_away(tmp_path: Path) -> None:
    with open_store(tmp_path) as store, open_store(tmp_path) as other:
        stream = f"direct-{store.this_process()}"
        for call in ("done", "lost"):
            note = RunEvent(stream, call, 1, "call.started", 12.5, started(call))
            store.events.append(note.to_json())
        store.calls.add({**started("done"), "status": "ok", "started_ns": 1, "duration_ns": 2})
        assert other.settle_abandoned(50.0) == []
        assert len(other.calls.list()) == 1
    with open_store(tmp_path) as store:
        assert store.settle_abandoned(50.0) == []
        found = [(call["invocation_id"], call["status"], call["run"]) for call in store.calls.list()]
        assert found == [("lost", "unknown", None), ("done", "ok", None)]
        assert list(store.events.of(stream)) == []


def test_owners_leave_nothing_behind(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        start(store)
        assert len(list((tmp_path / "owners").iterdir())) == 1
    assert list((tmp_path / "owners").iterdir()) == []


RUNNING = """
import sys, time
from callboard.store import StoredRun, open_store
store = open_store(sys.argv[1])
store.runs.start(StoredRun(id="r1", profile="loop", started_at=1.0, owner=store.this_process()))
print("started", flush=True)
sys.stdin.read()
"""


def test_a_killed_process_lives_no_longer(tmp_path: Path) -> None:
    with (
        open_store(tmp_path) as store,
        subprocess.Popen(
            [sys.executable, "-c", RUNNING, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as running,
    ):
        assert running.stdout is not None
        assert running.stdout.readline() == b"started\n"
        assert store.settle_abandoned(50.0) == []
        os.kill(running.pid, signal.SIGKILL)
        running.wait(timeout=50)
        assert store.settle_abandoned(50.0) == ["r1"]
        assert list((tmp_path / "owners").iterdir()) == []
