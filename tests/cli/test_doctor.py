"""`callboard doctor`: says what is wrong and what to do, and is never itself what breaks."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from callboard.cli import main
from callboard.store import StoredRun, open_store

CORPUS = Path(__file__).parents[1] / "store" / "corpus"
KEY = "sk-very-secret-1234567890"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    return tmp_path


def found(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> list[dict[str, Any]]:
    assert main(["doctor", "--json", *arguments]) == code
    said = capsys.readouterr()
    assert said.err == ""
    told = json.loads(said.out)
    assert told["ok"] is (code == 0)
    return told["findings"]


def of(findings: list[dict[str, Any]], area: str, level: str) -> str:
    return "\n".join(
        f"{each['text']} -> {each['hint']}"
        for each in findings
        if (each["area"], each["level"]) == (area, level)
    )


def test_a_folder_without_anything_is_in_order(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    findings = found(capsys)
    assert {each["area"] for each in findings} == {
        "configuration",
        "python",
        "tools",
        "profiles",
        "store",
        "models",
        "extras",
        "kernel",
    }
    assert "the defaults are in force" in of(findings, "configuration", "ok")
    assert "read_file, read_result" in of(findings, "tools", "ok")
    assert list(here.iterdir()) == []


def test_each_line_is_a_finding_and_the_next_step_stands_below_it(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "callboard.toml").write_text('tools = ["nowhere:add"]\n')
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out.splitlines()
    [line] = [number for number, text in enumerate(said) if "nowhere" in text]
    assert said[line].startswith("problem  tools          nowhere:add: there is no module 'nowhere'")
    assert re.match(r" {23} next: it is looked for in ", said[line + 1])
    assert said[-1] == "1 problem, 0 warnings"


def test_tools_that_do_not_load_and_profiles_that_name_none_are_all_named(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "doctored_tools.py").write_text(
        "from callboard import tool\n"
        "@tool(mode='read')\ndef add(a: int) -> int:\n    'Add.'\n    return a\n"
        "@tool(mode='read')\ndef read_file() -> str:\n    'Taken.'\n    return ''\n"
    )
    (here / "doctored_broken.py").write_text("print('noise')\nraise SystemExit(3)\n")
    names = ["doctored_tools:add", "doctored_tools:ad", "doctored_tools:read_file", "doctored_broken:x"]
    (here / "callboard.toml").write_text(
        f"tools = {json.dumps(names)}\n"
        "[profiles.a]\ntools = ['ad']\n[profiles.b]\nwrites = 'no'\n[profiles.c]\n"
    )
    assert main(["doctor", "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    tools = of(findings, "tools", "problem")
    assert "doctored_tools:ad: 'doctored_tools' has no 'ad'; did you mean 'add'?" in tools
    assert "tool 'read_file' is registered already" in tools
    assert "doctored_broken:x: importing 'doctored_broken' failed: SystemExit: 3" in tools
    profiles = of(findings, "profiles", "problem")
    assert "a: " in profiles
    assert "there is no tool 'ad'; did you mean 'add'?" in profiles
    assert "writes: must be 'ask' or 'allow', not 'no'" in profiles
    assert "c: all tools" in of(findings, "profiles", "ok")


def test_keys_are_named_and_never_shown(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    (here / "callboard.toml").write_text(
        '[models.mine]\nmodel = "openai:gpt"\napi_key_env = "MINE"\n[models.near]\nmodel = "ollama:x"\n'
    )
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "keys in the environment: ANTHROPIC_API_KEY" in said
    assert "a run uses anthropic:" in said
    assert "[models.near] can be used" in said
    assert "warning  models         [models.mine]: mine needs a key: the environment variable MINE" in said
    assert KEY not in said


def test_a_model_that_a_run_would_use_and_can_not_is_a_problem(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "callboard.toml").write_text('[models]\ndefault = "openai:gpt"\n')
    assert "OPENAI_API_KEY is not set" in of(found(capsys, code=1), "models", "problem")


def test_what_is_going_on_and_what_was_left_is_told_and_nothing_is_changed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_store(here / ".callboard") as store:
        gone = store.this_process()
        store.runs.start(StoredRun(id="left", profile="loop", started_at=1.0, owner=gone))
    with open_store(here / ".callboard") as store:
        store.runs.start(StoredRun(id="live", profile="loop", started_at=1.0, owner=store.this_process()))
        findings = found(capsys)
        assert "runs that are going on: 1" in of(findings, "store", "ok")
        assert "the process of these runs is gone: left" in of(findings, "store", "warning")
        assert [run.status for run in store.runs.list()] == ["running", "running"]


def no_toml(folder: Path) -> None:
    (folder / "callboard.toml").write_text("tools = [")


def unknown_key(folder: Path) -> None:
    (folder / "callboard.toml").write_text("tols = 1\n[store]\nmax_size = 5\n")


def link_to_nowhere(folder: Path) -> None:
    (folder / "callboard.toml").symlink_to("nowhere")


def no_database(folder: Path) -> None:
    (folder / ".callboard").mkdir()
    (folder / ".callboard" / "callboard.db").write_bytes(b"no database at all" * 100)


def torn_database(folder: Path) -> None:
    state = folder / ".callboard"
    with open_store(state) as store:
        for number in range(300):
            store.runs.start(StoredRun(id=f"r{number}", profile="loop", started_at=1.0, input="x" * 500))
    data = bytearray((state / "callboard.db").read_bytes())
    for page in range(8, len(data) // 4096, 3):
        data[page * 4096 : page * 4096 + 64] = os.urandom(64)
    (state / "callboard.db").write_bytes(data)


def newer_database(folder: Path) -> None:
    open_store(folder / ".callboard").close()
    with sqlite3.connect(folder / ".callboard" / "callboard.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9000'")
    connection.close()


def module_that_skips(folder: Path) -> None:
    (folder / "skips.py").write_text("class Skipped(BaseException): ...\nraise Skipped('not here')\n")
    (folder / "callboard.toml").write_text('tools = ["skips:tool"]\n')


def state_that_is_a_file(folder: Path) -> None:
    (folder / ".callboard").write_text("")


def database_of_another_program(folder: Path) -> None:
    (folder / ".callboard").mkdir()
    with sqlite3.connect(folder / ".callboard" / "callboard.db") as connection:
        connection.execute("CREATE TABLE songs (title)")
    connection.close()


def database_that_is_a_pipe(folder: Path) -> None:
    (folder / ".callboard").mkdir()
    os.mkfifo(folder / ".callboard" / "callboard.db")


@pytest.mark.parametrize(
    ("break_", "area"),
    [
        (no_toml, "configuration"),
        (unknown_key, "configuration"),
        (link_to_nowhere, "configuration"),
        (no_database, "store"),
        (torn_database, "store"),
        (newer_database, "store"),
        (state_that_is_a_file, "store"),
        (database_that_is_a_pipe, "store"),
        (database_of_another_program, "store"),
        (module_that_skips, "tools"),
    ],
)
def test_what_is_broken_is_told_and_the_rest_is_looked_at(
    break_: Callable[[Path], None], area: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    break_(here)
    findings = found(capsys, code=1)
    assert next(each["area"] for each in findings if each["level"] == "problem") == area
    assert {each["area"] for each in findings} >= {"python", "tools", "store", "models", "extras", "kernel"}


def test_an_owners_file_that_is_a_pipe_holds_nothing_up(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_store(here / ".callboard") as store:
        store.runs.start(StoredRun(id="r1", profile="loop", started_at=1.0, owner="abc"))
    owners = here / ".callboard" / "owners"
    owners.mkdir(exist_ok=True)
    os.mkfifo(owners / "abc")
    assert "r1" in of(found(capsys), "store", "warning")


def test_an_older_store_is_told_to_be_upgraded_and_is_not(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / ".callboard").mkdir(mode=0o700)
    shutil.copy(CORPUS / "0001.db", here / ".callboard" / "callboard.db")
    before = (here / ".callboard" / "callboard.db").read_bytes()
    findings = found(capsys)
    assert "it has tables of version 0001: the next run upgrades them" in of(findings, "store", "ok")
    assert "others can read" in of(findings, "store", "warning")
    assert (here / ".callboard" / "callboard.db").read_bytes() == before


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that any user can reach, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="callboard-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


WITHOUT = """
import importlib.abc, os, sys
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"openai", "anthropic", "google", "keyring", "opentelemetry", "needle"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
from callboard.cli import main
import callboard.host.checkup
os.chdir(sys.argv[1])
if os.getuid() == 0: os.setuid(65534)
sys.exit(main(["doctor"]))
"""


def test_a_user_without_rights_and_without_extras_gets_an_answer(open_to_all: Path) -> None:
    open_store(open_to_all / ".callboard").close()
    (open_to_all / ".callboard").chmod(0o700)
    keyless = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(open_to_all)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        env={**keyless, "ANTHROPIC_API_KEY": KEY},
    )
    assert done.stderr == ""
    assert done.returncode == 1
    assert "problem  models" in done.stdout
    assert "not installed: anthropic" in done.stdout
    assert re.search(r"problem +store .* can't be read: Permission denied", done.stdout)
    assert KEY not in done.stdout
