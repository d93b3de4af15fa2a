"""Exports: whole, in a stable form, and read back, also years later."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from callboard.errors import StoreError
from callboard.events import RunEvent
from callboard.store import ExportReader, Store, StoredRun, open_store

CORPUS = Path(__file__).parents[1] / "corpus" / "exports"


def opened(name: str) -> ExportReader:
    return ExportReader((CORPUS / name).read_text(encoding="utf-8").splitlines(keepends=True))


def record(invocation_id: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "call.finished",
        "invocation_id": invocation_id,
        "tool_id": "add",
        "kind": "read",
        "status": "ok",
        "agent": None,
        "started_ns": 1,
        "duration_ns": 41,
        **more,
    }


def fill(store: Store, run: str, *, calls: int = 2) -> None:
    store.runs.start(
        StoredRun(id=run, profile="loop", started_at=float(len(run)), input="gr\u00fc\u00df \ud83d")
    )
    for number in range(calls):
        store.events.append(RunEvent(run, "act#1", number + 1, "notice", 1.0, {"n": number}).to_json())
        store.events.append(RunEvent(f"{run}/n#1/a", "act#1", number + 1, "notice", 1.0, {}).to_json())
        store.calls.add(record(f"{run}-{number}", result="1"), run=run, step=f"s{number}")
        store.journal.save(run, f"s{number}", "about", "{}")
    store.blobs.put('"x"', run=run, principal=("ada", None))


def test_an_export_comes_back_as_it_went_in(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        fill(store, "r1")
        fill(store, "r10")
        reader = ExportReader(store.export(["r1"]))
        read = list(reader)
        kept = store.runs.get("r1")
        assert kept is not None
        assert [kind for kind, _ in read] == ["run", *["event"] * 4, *["call"] * 2, *["step"] * 2, "blob"]
        assert read[0].value == kept.to_json()
        assert [value for kind, value in read if kind == "event"] == list(store.events.of("r1"))
        assert [dict(value) for kind, value in read if kind == "call"] == [
            {**call} for call in reversed(store.calls.list()) if call["run"] == "r1"
        ]
        assert read[-1].value["text"] == '"x"'
    assert (reader.complete, reader.troubles) == (True, [])
    assert reader.header["v"] == 1


def test_the_fields_stand_in_the_order_of_the_page(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "contracts" / "export.md").read_text(encoding="utf-8")
    with open_store(tmp_path) as store:
        fill(store, "r1")
        for kind, value in ExportReader(store.export()):
            [row] = [line for line in page.splitlines() if line.startswith(f"| `{kind}` |")]
            named = dict.fromkeys(name for name in row.split("`")[3::2] if name in value)
            assert list(named) == list(value), kind


def test_runs_are_chosen_by_id_and_by_time_and_come_oldest_first(tmp_path: Path) -> None:
    def ids(**chosen: Any) -> list[str]:
        return [value["id"] for kind, value in ExportReader(store.export(**chosen)) if kind == "run"]

    with open_store(tmp_path) as store:
        for run in ("a", "bb", "ccc"):
            fill(store, run, calls=0)
        assert ids() == ["a", "bb", "ccc"]
        assert ids(runs=["ccc", "a"]) == ["a", "ccc"]
        assert ids(since=2.0) == ["bb", "ccc"]
        assert ids(runs=["none"]) == []


@pytest.mark.parametrize("path", sorted(CORPUS.glob("v1*.jsonl")), ids=lambda path: path.stem)
def test_an_old_export_is_read(path: Path) -> None:
    reader = opened(path.name)
    read = list(reader)
    assert read[0].kind == "run"
    assert read[0].value["text"] == "3"
    assert [value["type"] for kind, value in read if kind == "event"][:2] == ["run.started", "run.finished"]


def test_a_whole_old_export_has_all_of_it() -> None:
    reader = opened("v1.jsonl")
    kinds = [kind for kind, _ in reader]
    assert kinds == ["run", "event", "event", "call", "step", "blob", "run", "event"]
    assert (reader.complete, reader.troubles) == (True, [])


def test_a_line_that_was_cut_off_is_noted_and_the_rest_is_given() -> None:
    reader = opened("v1-cut-off.jsonl")
    assert [kind for kind, _ in reader] == ["run", "event", "event"]
    assert (reader.complete, reader.troubles) == (False, ["line 5 is cut off"])


def test_what_was_added_later_is_passed_over_and_what_is_broken_is_noted() -> None:
    reader = opened("v1-unknown.jsonl")
    assert [kind for kind, _ in reader] == ["run", "event", "event", "call", "step", "blob", "run", "event"]
    assert reader.complete
    assert reader.troubles == ["line 7 is no JSON object", "line 8 is no JSON object"]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("v999-future.jsonl", "export.too_new"),
        ("not-an-export.jsonl", "export.not_one"),
        ("empty.jsonl", "export.not_one"),
    ],
)
def test_what_can_not_be_read_is_refused_with_the_reason(name: str, code: str) -> None:
    with pytest.raises(StoreError) as caught:
        opened(name)
    assert caught.value.code == code
    assert caught.value.hint


@pytest.mark.parametrize(
    "header", ["[]", '{"export":1}', '{"export":{"format":"callboard.runs","v":true}}', "[" * 5000]
)
def test_a_first_line_of_any_kind_is_refused(header: str) -> None:
    with pytest.raises(StoreError, match="no export"):
        ExportReader([header])


@pytest.mark.slow
def test_an_export_holds_a_few_rows_in_memory(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.runs.start(StoredRun(id="r1", profile="loop", started_at=1.0))
        for number in range(400):
            large = {"text": "x" * 100_000}
            store.events.append(RunEvent("r1", "p", number + 1, "notice", 1.0, large).to_json())
        for _ in store.export():  # what is loaded once is loaded
            break
        tracemalloc.start()
        size = sum(len(line) for line in store.export())
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert size > 40_000_000
    assert most < 15_000_000


def test_every_line_is_one_object_of_one_key_in_ascii(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        fill(store, "r1")
        lines = list(store.export())
    assert all(line.isascii() and line.endswith("\n") and line.count("\n") == 1 for line in lines)
    assert [len(json.loads(line)) for line in lines] == [1] * len(lines)
