"""`callboard runs` and `callboard calls`: what was recorded, for people and for programs."""

import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from inline_snapshot import snapshot

from callboard.cli import main
from callboard.cli.flags import CALL_STATUSES, RUN_STATUSES
from callboard.events import CallStatus
from callboard.host import RunStatus
from callboard.store import ExportReader, StoredRun, open_store
from tests.cli.told import Script, main_job


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as utc:
        utc.setenv("TZ", "UTC")
        time.tzset()
        yield tmp_path
    time.tzset()


def record(invocation_id: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "call.finished",
        "invocation_id": invocation_id,
        "tool_id": "add",
        "kind": "read",
        "status": "ok",
        "agent": "main",
        "started_ns": 1_764_500_000_000_000_000,
        "duration_ns": 1_250_000,
        "arguments": '{"a":1}',
        "simulated": False,
        "failure": None,
        **more,
    }


@pytest.fixture
def recorded(here: Path) -> None:
    events, _ = main_job()
    with open_store(here / ".callboard") as store:
        store.runs.start(
            StoredRun(
                id="r1",
                profile="loop",
                started_at=1000.0,
                input="what is\nin notes.md?",
                model="scripted",
                model_reason="--model",
                workspace="/srv/work",
            ),
        )
        store.events.append_all(event.to_json() for event in events)
        store.runs.finish("r1", "completed", finished_at=1021.0, text="Done: 3.", rounds=2)
        store.runs.start(StoredRun(id="r2", profile="careful", started_at=2000.0, input="go"))
        store.runs.finish("r2", "failed", finished_at=2001.0, reason="model.failed", message="no key")
        denied = {"code": "permission.denied", "message": "no\x1b[2J", "hint": None}
        store.calls.add(record("c1"), run="r1", step="act#1/add.1")
        store.calls.add(record("c2", tool_id="write_file", status="denied", failure=denied), run="r1/a")
        store.calls.add(record("c3", simulated=True))


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(arguments) == code
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


@pytest.mark.parametrize("command", [["runs", "list"], ["calls"]])
def test_a_folder_without_records_shows_none_and_makes_nothing(
    command: list[str],
    here: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert printed(capsys, *command).count("\n") == 1
    assert json.loads(printed(capsys, *command, "--json")) == []
    assert list(here.iterdir()) == []


@pytest.mark.usefixtures("recorded")
def test_runs_are_listed_newest_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "runs", "list") == snapshot("""\
run  started              status                 profile  model     asked
r2   1970-01-01 00:33:20  failed (model.failed)  careful            go
r1   1970-01-01 00:16:40  completed              loop     scripted  what is in notes.md?
""")
    assert printed(capsys, "runs", "list", "--status", "failed,cancelled").count("\n") == 2
    assert printed(capsys, "runs", "list", "--limit", "1").count("\n") == 2
    assert printed(capsys, "runs") == printed(capsys, "runs", "list")
    assert printed(capsys, "runs", "--limit", "1").count("\n") == 2
    runs = json.loads(printed(capsys, "runs", "list", "--json"))
    assert [(run["id"], run["status"], run["message"]) for run in runs] == [
        ("r2", "failed", "no key"),
        ("r1", "completed", None),
    ]


@pytest.mark.usefixtures("recorded")
def test_a_run_is_shown_as_it_was_while_it_happened(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "runs", "show", "r1") == snapshot("""\
run: r1, profile loop, started 1970-01-01 00:16:40
model: scripted (--model)
workspace: /srv/work
asked:
| what is
| in notes.md?
| Let me look.
ok         read_file path="notes.md"  (12 ms)
           # Notes
           first\\x1b[2J
denied     write_file path="a.md" content="x"  (12 ms)
           no [permission.denied]
           ask first
ok         add a=1 b=2  (simulated, repaired, 12 ms)
           3
note       `odd` can't be expressed [tool.left_out]
| Done: 3.
completed  2 rounds, 3 calls (1 denied), 21.0 s, 11 output tokens
""")


@pytest.mark.usefixtures("recorded")
def test_a_run_as_json_has_its_events(capsys: pytest.CaptureFixture[str]) -> None:
    shown = json.loads(printed(capsys, "runs", "show", "r1", "--json"))
    assert shown["run"]["id"] == "r1"
    assert [event["seq"] for event in shown["events"]] == list(range(1, len(shown["events"]) + 1))
    assert shown["events"][-1]["type"] == "run.finished"


@pytest.mark.usefixtures("recorded")
def test_a_run_that_is_not_there_or_not_the_only_one_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "show", "x"]) == 1
    assert capsys.readouterr().err == "error: there is no run 'x'\nhint: callboard runs list shows them\n"
    assert main(["runs", "show", "r"]) == 1
    assert capsys.readouterr().err.startswith(
        "error: several runs begin with 'r'\nhint: give more characters"
    )


@pytest.mark.usefixtures("recorded")
def test_calls_are_listed_with_what_went_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "calls") == snapshot("""\
call  started              run   tool        status          took    what
c3    2025-11-30 10:53:20  -     add         ok (simulated)  1.2 ms  {"a":1}
c2    2025-11-30 10:53:20  r1/a  write_file  denied          1.2 ms  permission.denied: no\\x1b[2J  {"a":1}
c1    2025-11-30 10:53:20  r1    add         ok              1.2 ms  {"a":1}
""")


@pytest.mark.usefixtures("recorded")
def test_calls_are_chosen_by_run_status_tool_and_number(capsys: pytest.CaptureFixture[str]) -> None:
    def ids(*arguments: str) -> list[str]:
        return [call["invocation_id"] for call in json.loads(printed(capsys, "calls", "--json", *arguments))]

    assert ids() == ["c3", "c2", "c1"]
    assert ids("--run", "r1") == ["c2", "c1"]
    assert ids("--status", "failed,denied") == ["c2"]
    assert ids("--tool", "add", "--limit", "1") == ["c3"]
    assert ids("--run", "r1/a") == ["c2"]


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    return [call["invocation_id"] for call in json.loads(printed(capsys, "calls", "--json", *arguments))]


@pytest.fixture
def various(here: Path) -> None:
    now = time.time_ns()
    failed = {"code": "args.invalid", "message": "no", "hint": None}
    with open_store(here / ".callboard") as store:
        for number, more in enumerate(
            (
                {"principal": ["ada", "acme"], "duration_ns": 600_000_000},
                {"principal": ["bob", None], "failure": failed, "status": "failed"},
                {"agent": "main/scout", "simulated": True},
                {"started_ns": now - 3 * 3600 * 10**9},
                {"started_ns": now - 60 * 10**9, "tool_id": "write_file"},
            )
        ):
            store.calls.add(record(f"c{number}", **more))


@pytest.mark.usefixtures("various")
@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("--user ada", "c0"),
        ("--tenant acme", "c0"),
        ("--user bob --code args.invalid,other", "c1"),
        ("--agent main/scout", "c2"),
        ("--simulated", "c2"),
        ("--real", "c4 c3 c1 c0"),
        ("--slow 500ms", "c0"),
        ("--slow 1s", ""),
        ("--since 2h", "c4"),
        ("--since 1d", "c4 c3"),
        ("--since 1d --until 1h", "c3"),
        ("--until 2025-11-30T10:53:21", "c2 c1 c0"),
        ("--since 2025-12-01", "c4 c3"),
        ("--tool add,write_file --limit 2", "c4 c3"),
        ("--before 3", "c1 c0"),
    ],
)
def test_calls_are_found_by(arguments: str, found: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, *arguments.split()) == found.split()
    rows = printed_with_notes(capsys, *arguments.split()).splitlines()
    assert len(rows) == 1 + len(found.split())


def printed_with_notes(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["calls", "list", *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.usefixtures("various")
def test_the_next_page_and_what_was_never_recorded_are_said_beside_the_list(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["calls", "--limit", "2"]) == 0
    assert "there are older ones: --before 4" in capsys.readouterr().err
    assert main(["calls", "--limit", "5"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["calls", "--tool", "ad", "--code", "nope"]) == 0
    said = capsys.readouterr().err
    assert "no call with the tool 'ad' is recorded (there are add, write_file)" in said
    assert "no call with the code 'nope' is recorded (there are args.invalid)" in said


@pytest.mark.usefixtures("recorded")
def test_one_call_is_shown_with_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "calls", "show", "c2") == snapshot("""\
seq:            2
run:            r1/a
invocation_id:  c2
tool_id:        write_file
kind:           read
status:         denied
agent:          main
started:        2025-11-30 10:53:20
took:           1.2 ms
simulated:      false
code:           permission.denied
message:        no\\x1b[2J
arguments:
{"a":1}
""")
    assert json.loads(printed(capsys, "calls", "show", "c2", "--json"))["tool_id"] == "write_file"
    assert main(["calls", "show", "x"]) == 1
    assert "there is no call 'x'" in capsys.readouterr().err
    assert main(["calls", "show", "c"]) == 1
    assert "several calls begin with 'c'" in capsys.readouterr().err


def test_a_large_result_is_shown_whole(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = "line\n" * 50_000
    with open_store(here / ".callboard") as store:
        handle = store.blobs.put(json.dumps(whole), run="r1", principal=None)
        kept = json.dumps({"blob": handle, "length": 300_002}, separators=(",", ":"))
        store.calls.add(record("c1", result=kept), run="r1/a#1/b")
        store.calls.add(record("c2", result='{"blob":"mine"}'))
    assert printed(capsys, "calls", "show", "c1", "--result") == whole
    assert json.loads(json.loads(printed(capsys, "calls", "show", "c1", "--json"))["result"]) == whole
    assert printed(capsys, "calls", "show", "c1").endswith("result:\n" + whole)
    assert printed(capsys, "calls", "show", "c2", "--result") == '{"blob":"mine"}\n'


@pytest.mark.usefixtures("recorded")
def test_runs_are_exported_to_a_pipe_and_to_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "runs", "export").splitlines(keepends=True)
    assert [value["id"] for kind, value in ExportReader(lines) if kind == "run"] == ["r1", "r2"]
    assert main(["runs", "export", "r2", "--output", "out.jsonl"]) == 0
    assert capsys.readouterr() == ("", "note: 3 lines are in out.jsonl\n")
    file = here / "out.jsonl"
    assert file.stat().st_mode & 0o777 == 0o600
    reader = ExportReader(file.read_text().splitlines(keepends=True))
    assert [value["id"] for _, value in reader] == ["r2"]
    assert reader.complete
    told = json.loads(
        printed(capsys, "runs", "export", "--since", "1970-01-01T00:20", "--output", "o", "--json")
    )
    assert told == {"file": "o", "lines": 3, "bytes": (here / "o").stat().st_size}
    assert sorted(path.name for path in here.iterdir()) == [".callboard", "o", "out.jsonl"]


def test_without_a_store_the_export_is_empty_and_whole(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reader = ExportReader(printed(capsys, "runs", "export").splitlines(keepends=True))
    assert (list(reader), reader.complete) == ([], True)
    assert list(here.iterdir()) == []


def test_an_export_that_can_not_be_written_leaves_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "export", "--output", "nowhere/out.jsonl"]) == 2
    assert "nowhere/out.jsonl: can't be written: No such file" in capsys.readouterr().err
    (here / "folder").mkdir()
    assert main(["runs", "export", "--output", "folder"]) == 2
    assert [path.name for path in here.iterdir()] == ["folder"]


@pytest.mark.usefixtures("recorded")
def test_runs_are_pruned_and_a_rehearsal_deletes_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = printed(capsys, "runs", "prune", "--keep-runs", "1", "--dry-run")
    assert said.startswith(
        "r1  would go by keep_runs\n1 run, 0 calls outside of runs would go; the store has "
    )
    assert printed(capsys, "runs").count("\n") == 3
    told = json.loads(printed(capsys, "runs", "prune", "--keep-runs", "1", "--json"))
    assert (told["dry_run"], told["runs"], told["calls"]) == (False, [{"id": "r1", "reason": "keep_runs"}], 0)
    assert [run["id"] for run in json.loads(printed(capsys, "runs", "--json"))] == ["r2"]
    assert asked(capsys) == ["c3"]
    (here / "callboard.toml").write_text("[store]\nkeep_days = 30\n")
    assert "1 run, 1 call outside of runs went" in printed(capsys, "runs", "prune")


def test_pruning_needs_to_be_told_what_is_kept(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "prune"]) == 2
    assert "nothing says what is kept: give --keep-days" in capsys.readouterr().err
    assert printed(capsys, "runs", "prune", "--keep-runs", "1").startswith("0 runs")
    assert list(here.iterdir()) == []


@pytest.mark.usefixtures("recorded")
def test_calls_of_a_run_that_is_not_there_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    for run in ("nope", "nope/a"):
        assert main(["calls", "--run", run]) == 1
        assert (
            capsys.readouterr().err
            == f"error: there is no run '{run}'\nhint: callboard runs list shows them\n"
        )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["calls", "--limit", "0"], "Must be >= 1"),
        (["calls", "--limit", "-1"], "Must be >= 1"),
        (["runs", "list", "--limit", "99999999999999999999"], "Must be <= 1000000"),
        (["calls", "--status", "ok,nonsense"], "there is no status 'nonsense' (there are ok, failed, denied"),
        (
            ["calls", "--since", "yesterday"],
            "'yesterday' is no moment; write it as 2h, 3d (so long ago), 2026",
        ),
        (["calls", "--slow", "9" * 400 + "s"], "a duration of 400 digits is more than can be counted"),
        (["runs", "prune", "--max-size", "9" * 400 + "TB"], "a size of 400 digits is more than"),
        (["calls", "--slow", "fast"], "'fast' is not a duration such as 500ms, 90s"),
        (["runs", "prune", "--max-size", "big"], "'big' is not a size such as 500MB (B, kB"),
        (["runs", "prune", "--keep-runs", "-1"], "Must be >= 0"),
        (["runs", "export", "--since", "2026-13-01"], "is no moment"),
        (["runs", "list", "--status", "ok"], "there is no status 'ok' (there are running, completed"),
    ],
)
def test_a_choice_that_is_none_is_wrong_usage(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("asked", "all_of_them"),
    [
        ("--until 9999-12-31", True),
        ("--since 9999-12-31", False),
        ("--since 99999999999999d", True),
        ("--slow 99999999999999w", False),
        ("--before 99999999999999999999999", True),
    ],
)
def test_a_filter_beyond_all_numbers_finds_everything_or_nothing(
    asked: str, all_of_them: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calls", "--json"]) == 0
    everything = json.loads(capsys.readouterr().out)
    assert main(["calls", "--json", *asked.split()]) == 0
    assert json.loads(capsys.readouterr().out) == (everything if all_of_them else [])
    assert everything


def test_the_statuses_that_can_be_chosen_are_those_that_are_recorded() -> None:
    assert set(RUN_STATUSES) == {"running", "interrupted", *get_args(RunStatus)}
    assert set(CALL_STATUSES) == set(get_args(CallStatus))


@pytest.fixture
def abandoned(here: Path) -> None:
    """A run whose process died while a read and a write were running."""
    fact: dict[str, Any] = {"parents": [], "principal": None, "agent": "main", "repaired": False}
    fact |= {"simulated": False, "verdict": "allow", "reasons": [], "at_ns": 1_764_500_000_000_000_000}
    with open_store(here / ".callboard") as store:
        owner = store.this_process()
        store.runs.start(StoredRun(id="r1", profile="loop", started_at=1000.0, input="go", owner=owner))
        script = Script()
        script.add("run.started", simulate=False)
        for kind in ("read", "write"):
            script.add(
                "call.started",
                path=f"act#1/tool.{kind}.1@1",
                invocation_id=kind,
                tool_id=f"{kind}_file",
                kind=kind,
                call_key="r1 x",
                arguments='{"path":"a"}',
                **fact,
            )
        store.events.append_all(event.to_json() for event in script.events)


@pytest.mark.usefixtures("abandoned")
def test_a_run_that_a_dead_process_left_is_interrupted_and_its_open_calls_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "interrupted (process.ended)" in printed(capsys, "runs", "list")
    assert printed(capsys, "runs", "show", "r1") == snapshot("""\
run: r1, profile loop, started 1970-01-01 00:16:40
model: unknown
asked:
| go
interrupted  read_file path="a"
unknown    write_file path="a"
interrupted  process.ended, 0 rounds, 2 calls (1 interrupted, 1 unknown)
           the process that ran it ended without a word
""")
    _, write, read = printed(capsys, "calls", "--status", "unknown,interrupted").splitlines()
    assert write.split()[3:7] == ["r1", "write_file", "unknown", "-"]
    assert "call.unknown: the process ended while the call ran; nobody knows whether it happened" in write
    assert read.split()[3:7] == ["r1", "read_file", "interrupted", "-"]
    assert "call.interrupted: the process ended while the call ran; it changes nothing" in read


@pytest.mark.usefixtures("abandoned")
def test_the_calls_of_a_dead_process_are_there_without_looking_at_its_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    calls = json.loads(printed(capsys, "calls", "--status", "unknown", "--json"))
    assert [(call["tool_id"], call["run"], call["step"]) for call in calls] == [
        ("write_file", "r1", "act#1/tool.write.1")
    ]


@pytest.mark.usefixtures("abandoned")
def test_a_run_that_is_going_on_elsewhere_shows_what_is_open(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_store(here / ".callboard") as store:
        store.settle_abandoned(5.0)
        owner = store.this_process()
        store.runs.start(StoredRun(id="r1", profile="loop", started_at=1000.0, owner=owner))
        lines = printed(capsys, "runs", "show", "r1").splitlines()
    assert lines[-1] == "the run has not ended"
    assert [line.split()[:2] for line in lines[-3:-1]] == [
        ["running", "read_file"],
        ["running", "write_file"],
    ]


@pytest.mark.usefixtures("recorded")
def test_a_damaged_record_hides_no_other(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(here / ".callboard" / "callboard.db") as connection:
        connection.execute("UPDATE calls SET record = '{' WHERE invocation_id = 'c2'")
    connection.close()
    lines = printed(capsys, "calls").splitlines()
    assert lines[2].endswith("the rest is damaged in the file: row 2 of the table calls")
    assert len(lines) == 4


def test_nothing_that_was_said_passes_for_a_line_of_the_terminal(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forged = 'ok         write_file path="x"  (1 ms)\n-- done\ncompleted  1 round, 1 call'
    script = Script()
    script.add("model.finished", agent="main", text=forged, usage={})
    script.add("model.finished", agent="main/scout", text=forged, usage={})
    with open_store(here / ".callboard") as store:
        store.runs.start(StoredRun(id="r1", profile="loop", started_at=1000.0, input=forged))
        store.events.append_all(event.to_json() for event in script.events)
        store.runs.finish("r1", "completed", finished_at=1001.0, text="other:\n" + forged)
    lines = printed(capsys, "runs", "show", "r1").splitlines()
    assert [line for line in lines if line.startswith(("ok", "--", "completed"))] == [lines[-1]]
    assert lines.count("| -- done") == 3
    assert lines.count("main/scout | -- done") == 1


@pytest.mark.usefixtures("recorded")
def test_another_configuration_has_other_records(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "other.toml").write_text('[state]\nfolder = "other"\n')
    assert json.loads(printed(capsys, "calls", "--json", "--config", "other.toml")) == []
