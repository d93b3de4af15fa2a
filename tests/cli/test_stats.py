"""`callboard calls stats`: figures of what was recorded."""

import json
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from callboard.cli import main
from callboard.store import StoredRun, open_store
from callboard.views import Measure, figures


def record(
    number: int, tool: str, status: str, ms: float, code: str | None = None, **more: Any
) -> dict[str, Any]:
    failure = None if code is None else {"code": code, "message": "no", "hint": None}
    return {
        "type": "call.finished",
        "invocation_id": f"i-{number}",
        "tool_id": tool,
        "kind": "read",
        "status": status,
        "agent": "main",
        "started_ns": 1_764_500_000_000_000_000 + number,
        "duration_ns": int(ms * 1e6),
        "arguments": "{}",
        "simulated": False,
        "failure": failure,
        **more,
    }


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with open_store(tmp_path / ".callboard") as store:
        store.runs.start(StoredRun(id="r1", profile="loop", started_at=1000.0))
        store.runs.finish("r1", "completed", finished_at=1001.0)
        for number in range(1, 21):
            store.calls.add(record(number, "add", "ok", number), run="r1", step="tool.1")
        store.calls.add(record(21, "add", "failed", 12_345, "call.deadline"))
        store.calls.add(record(22, "save", "denied", 1, "permission.denied"))
        store.calls.add(record(23, "save", "unknown", 2, "call.unknown", simulated=True))
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["calls", "stats", *options]) == 0
    said = capsys.readouterr()
    assert not said.err
    return said.out


def test_calls_are_counted_by_tool(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recorded.exists()
    assert printed(capsys) == snapshot("""\
tool  calls  ok  failed  denied  other  p50      p95      max     codes
add   21     20  1       0       0      11.0 ms  20.0 ms  12.3 s  1 call.deadline
save  2      0   0       1       1      2.0 ms   2.0 ms   2.0 ms  1 permission.denied, 1 call.unknown
""")


def test_a_program_gets_figures_and_the_filters_hold(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert recorded.exists()
    (add,) = json.loads(printed(capsys, "--run", "r", "--json"))
    assert (add["tool"], add["calls"], add["p50_ms"], add["p95_ms"]) == ("add", 20, 10.0, 19.0)
    (save,) = json.loads(printed(capsys, "--simulated", "--json"))
    assert (save["statuses"], save["simulated"]) == ({"unknown": 1}, 1)
    assert json.loads(printed(capsys, "--since", "1d", "--json")) == []


def test_a_folder_without_records_has_no_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert json.loads(printed(capsys, "--json")) == []
    assert not (tmp_path / ".callboard").exists()


def test_wrong_words_are_named(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recorded.exists()
    assert main(["calls", "stats", "--status", "odd"]) == 2
    assert main(["calls", "stats", "--run", "none"]) == 1
    assert main(["calls", "stats", "--tool", "ad"]) == 0
    said = capsys.readouterr().err
    for part in ("no status 'odd'", "there is no run 'none'", "no call with the tool 'ad'"):
        assert part in said


def test_what_is_left_early_frees_the_store(recorded: Path) -> None:
    with open_store(recorded / ".callboard") as store:
        first = next(iter(store.calls.measures()))
        assert figures(map(Measure._make, [first]))[0].calls == 1
        store.calls.add(record(24, "add", "ok", 1))
        assert len(list(store.calls.measures())) == 24
