"""What the store keeps, and how it is asked for it."""

import threading
from pathlib import Path
from typing import Any

import pytest

from callboard.errors import StoreError
from callboard.events import RunEvent
from callboard.store import CallFilter, RunFilter, StoredRun, open_store


def event(run: str = "r1", n: int = 1, path: str = "act#1", **data: Any) -> dict[str, Any]:
    return RunEvent(run, path, n, "notice", 12.5, data).to_json()


def record(invocation_id: str, status: str = "ok", tool: str = "add", **more: Any) -> dict[str, Any]:
    return {
        "type": "call.finished",
        "invocation_id": invocation_id,
        "tool_id": tool,
        "kind": "read",
        "status": status,
        "agent": None,
        "started_ns": 1_764_502_000_123_456_789,
        "duration_ns": 41,
        **more,
    }


def test_a_run_is_noted_when_it_starts_and_completed_when_it_ends(tmp_path: Path) -> None:
    with open_store(tmp_path / "state") as store:
        started = StoredRun(id="r1", profile="loop", started_at=1.0, input="hello", principal=("ann", None))
        store.runs.start(started)
        assert store.runs.get("r1") == started
        store.runs.finish("r1", "completed", finished_at=2.0, text="hi", rounds=1, usage={"output": 3})
    with open_store(tmp_path / "state") as store:
        run = store.runs.get("r1")
        assert run is not None
        assert (run.status, run.text, run.rounds, run.usage) == ("completed", "hi", 1, {"output": 3})
        assert run.to_json()["principal"] == ["ann", None]


def test_a_run_that_is_taken_up_again_is_running_and_keeps_its_start(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.runs.start(StoredRun(id="r1", profile="loop", started_at=1.0, input="first"))
        store.runs.finish("r1", "failed", finished_at=2.0, message="gone")
        store.runs.start(StoredRun(id="r1", profile="loop", started_at=9.0, input="second"))
        run = store.runs.get("r1")
        assert run is not None
        assert (run.status, run.started_at, run.input, run.message) == ("running", 1.0, "first", None)


def test_runs_come_newest_first_by_status_and_in_pages(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        for number in range(5):
            store.runs.start(StoredRun(id=f"r{number}", profile="loop", started_at=float(number)))
        store.runs.finish("r3", "failed", finished_at=9.0)
        assert [run.id for run in store.runs.list()] == ["r4", "r3", "r2", "r1", "r0"]
        assert [run.id for run in store.runs.list(RunFilter(status=("failed",)))] == ["r3"]
        assert [run.id for run in store.runs.list(RunFilter(limit=2, skip=2))] == ["r2", "r1"]


def test_a_run_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        for run_id in ("abc1", "abd2", "ab"):
            store.runs.start(StoredRun(id=run_id, profile="loop", started_at=0.0))
        assert (found := store.runs.get("abc")) is not None
        assert found.id == "abc1"
        assert (exact := store.runs.get("ab")) is not None
        assert exact.id == "ab"
        assert store.runs.get("x") is None
        assert store.runs.get("%") is None
        with pytest.raises(StoreError, match="several runs begin with 'a'") as caught:
            store.runs.get("a")
        assert caught.value.hint == "give more characters of the id"


def test_finishing_a_run_that_never_started_is_an_error(tmp_path: Path) -> None:
    with open_store(tmp_path) as store, pytest.raises(StoreError, match="no run 'r9' was started"):
        store.runs.finish("r9", "completed", finished_at=1.0)


def test_an_event_that_is_stored_again_is_known_and_dropped(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        assert store.events.append(event(n=1, text="first")) == 1
        assert store.events.append(event(n=1, text="again")) is None
        assert store.events.append_all([event(n=1), event(n=2)])[0] is None
        assert [(e["n"], e["data"]) for e in store.events.of("r1")] == [(1, {"text": "first"}), (2, {})]


def test_an_event_comes_back_as_it_went_in_with_its_position(tmp_path: Path) -> None:
    sent = event(n=7, text='tab\t "quoted" \u202e \ud83d', deep={"a": [1, 2.5, None, True, 2**70]})
    with open_store(tmp_path) as store:
        seq = store.events.append(sent)
        assert next(iter(store.events.of("r1"))) == {**sent, "seq": seq}


def test_transient_events_are_never_stored(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        assert store.events.append(event(n=0)) is None
        assert list(store.events.of("r1")) == []


def test_a_batch_with_a_bad_event_stores_none_of_it(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        with pytest.raises(StoreError, match="can't be stored: Out of range float"):
            store.events.append_all([event(n=1), event(n=2, x=float("nan"))])
        assert list(store.events.of("r1")) == []


def test_a_runs_events_hold_those_of_its_children_and_of_no_namesake(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        for run in ("r1", "r1/one#1/a", "r10", "r1-x", "r1/one#1/a/b#1/c"):
            store.events.append(event(run))
        assert [e["run"] for e in store.events.of("r1")] == ["r1", "r1/one#1/a", "r1/one#1/a/b#1/c"]
        assert [e["run"] for e in store.events.of("r1", children=False)] == ["r1"]
        assert [e["run"] for e in store.events.of("r1/one#1/a")] == ["r1/one#1/a", "r1/one#1/a/b#1/c"]


def test_events_are_read_in_pages_and_after_a_position(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.events.append_all(event(n=n) for n in range(1, 1201))
        assert [e["n"] for e in store.events.of("r1")] == list(range(1, 1201))
        assert [e["n"] for e in store.events.of("r1", after=1198)] == [1199, 1200]


def test_call_records_come_newest_first_by_run_status_and_tool(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.calls.add(record("c1"), run="r1", step="act#1/tool.add.1")
        store.calls.add(record("c2", "denied", "write_file"), run="r1/one#1/a")
        store.calls.add(record("c3", "failed"), run="r2")
        store.calls.add(record("c4"))

        def found(**wanted: Any) -> list[str]:
            return [call["invocation_id"] for call in store.calls.list(CallFilter(**wanted))]

        assert found() == ["c4", "c3", "c2", "c1"]
        assert found(run="r1") == ["c2", "c1"]
        assert found(status=("failed", "denied")) == ["c3", "c2"]
        assert found(tool=("add",), run="r1") == ["c1"]
        newest = store.calls.list(CallFilter(limit=2))
        assert found(before=newest[-1]["seq"]) == ["c2", "c1"]
        [first] = store.calls.list(CallFilter(tool=("add",), run="r1"))
        assert first == {**record("c1"), "seq": 1, "run": "r1", "step": "act#1/tool.add.1"}


def test_a_call_record_is_stored_once(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.calls.add(record("c1", "ok"))
        store.calls.add(record("c1", "failed"))
        assert [call["status"] for call in store.calls.list()] == ["ok"]


def test_a_name_with_a_lone_surrogate_is_kept_as_an_escape(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.calls.add(record("c1", tool="bad\ud800name"))
        [call] = store.calls.list(CallFilter(tool=("bad\ud800name",)))
        assert call["tool_id"] == "bad\ud800name"


def test_steps_are_begun_with_a_count_and_saved_once(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        assert store.journal.begin("r1", "act#1/tool.add.1") == 1
        assert store.journal.begin("r1", "act#1/tool.add.1") == 2
        assert store.journal.begin("r2", "act#1/tool.add.1") == 1
        store.journal.save("r1", "act#1/tool.add.1", "add {}", '{"ok":true}')
        store.journal.save("r1", "act#1/tool.add.1", "add {}", '{"ok":false}')
        store.journal.save("r1", "act#1/now.1", "", "12.5")
    with open_store(tmp_path) as store:
        now, tool = store.journal.load("r1")
        assert tuple(now) == ("act#1/now.1", 1, "", "12.5")
        assert tuple(tool) == ("act#1/tool.add.1", 2, "add {}", '{"ok":true}')
        [begun] = store.journal.load("r2")
        assert begun.outcome is None


def test_threads_may_write_and_read_at_once(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        failures: list[BaseException] = []

        def work(worker: int) -> None:
            try:
                for n in range(1, 41):
                    store.events.append(event(f"r{worker}", n))
                    list(store.events.of(f"r{worker}", after=0))
                    assert store.journal.begin("shared", "step") >= 1
            except BaseException as error:  # noqa: BLE001 - shown below, in the test's own thread
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=50)
        assert failures == []
        assert [len(list(store.events.of(f"r{number}"))) for number in range(6)] == [40] * 6
        assert store.journal.begin("shared", "step") == 241
