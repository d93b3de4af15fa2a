"""`callboard run` where nobody is: what scripts read, and who answers; with a scripted model."""

import json
import os
import uuid
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from typing import NamedTuple

import pytest

from callboard import host
from callboard.cli import main
from callboard.store import open_store
from tests.cli.driver import Scripted

REAL_HOST = host.Host
TOOLS = '''
from callboard import tool

@tool(mode="read")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    print("adding")
    return a + b
'''


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    module = f"tools_{uuid.uuid4().hex}"
    (tmp_path / f"{module}.py").write_text(TOOLS)
    (tmp_path / "callboard.toml").write_text(
        f'tools = ["{module}:add"]\n\n[profiles.short]\nmax_rounds = 2\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(host, "Host", Scripted)
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        yield tmp_path


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> "Command":
    return Command(capsys)


class Command:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Done:
        code = main(["run", *arguments])
        said = self._capsys.readouterr()
        return Done(code, said.out, said.err)


def recorded(folder: Path) -> tuple[str, list[tuple[str, str]]]:
    """The status of the only run, and (tool, status) of its calls, oldest first."""
    with open_store(folder / ".callboard") as store:
        [run] = store.runs.list()
        return run.status, [(call["tool_id"], call["status"]) for call in reversed(store.calls.list())]


def test_a_run_as_json_is_one_object_a_line(folder: Path, command: Command) -> None:
    done = command("add", "--json")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert lines[0]["type"] == "run.opened"
    assert lines[0]["model"] == "scripted"
    assert lines[-1] == {**lines[-1], "type": "run.result", "status": "completed", "text": "It is 3."}
    with open_store(folder / ".callboard") as store:
        assert lines[1:-1] == list(store.events.of(lines[0]["id"]))
    assert (done.code, done.err) == (0, "adding\n")


def test_without_a_terminal_a_write_is_denied_and_the_run_goes_on(folder: Path, command: Command) -> None:
    done = command("write")
    assert done.code == 0
    assert "denied     write_file" in done.out
    assert "nobody could be asked: there is no terminal" in done.out
    assert "--yes allows every call that asks" in done.out
    assert "do not try the same call again" not in done.out
    assert "completed  2 rounds, 1 call (1 denied), " in done.out
    assert not (folder / "out.txt").exists()
    assert recorded(folder) == ("completed", [("write_file", "denied")])


def test_the_help_says_what_the_exit_code_of_a_run_says_of_its_calls(command: Command) -> None:
    assert "0 the run completed, also where calls of it were denied or failed" in command("--help").out


def test_a_model_without_prose_calls_what_was_denied_denied(command: Command) -> None:
    said = command("write without prose").out
    assert "| write_file (content: two lines, path: out.txt)\n|   denied: nobody could be asked" in said
    assert "failed" not in said


def test_yes_allows_the_writes_of_this_run(folder: Path, command: Command) -> None:
    assert "ok         write_file" in command("write", "--yes").out
    assert (folder / "out.txt").read_text() == "two\nlines"


def test_an_answer_file_allows_exactly_what_it_lists_and_prints_it(folder: Path, command: Command) -> None:
    (folder / "answers.toml").write_text(
        '[[allow]]\ntool = "write_file"\narguments = { path = "a.txt", content = "a" }\n',
    )
    done = command("write thrice", "--answers", "answers.toml")
    assert 'allow   write_file {"path": "a.txt", "content": "a"} (answered by answers.toml)' in done.out
    assert 'deny    write_file {"path": "b.txt", "content": "b"} (answered by answers.toml)' in done.out
    assert [(folder / f"{name}.txt").exists() for name in "abc"] == [True, False, False]


def test_an_answer_for_a_tool_that_is_not_there_starts_nothing(folder: Path, command: Command) -> None:
    (folder / "answers.toml").write_text('[[allow]]\ntool = "write_fiel"\n')
    done = command("write", "--answers", "answers.toml")
    assert (done.code, done.out) == (2, "")
    assert "there is no tool 'write_fiel'; did you mean 'write_file'?" in done.err
    assert not (folder / ".callboard").exists()


def test_another_workspace_is_where_files_are_written(folder: Path, command: Command) -> None:
    (folder / "work").mkdir()
    assert command("write", "--yes", "--workspace", "work").code == 0
    assert (folder / "work" / "out.txt").exists()


def test_a_limit_has_an_exit_code_of_its_own(folder: Path, command: Command) -> None:
    done = command("for ever", "--profile", "short")
    assert done.code == 3
    assert "budget exhausted  " in done.out
    assert recorded(folder)[0] == "budget_exhausted"


def test_a_local_model_that_is_not_installed_is_wrong_configuration(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Distribution:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(host, "Host", REAL_HOST)
    monkeypatch.setattr("callboard.models.engine.distribution", missing)
    done = command("add", "--model", "local")
    assert done.code == 2
    assert "the embedded model is not installed" in done.out + done.err


def test_an_unknown_profile_is_wrong_usage(command: Command) -> None:
    done = command("add", "--profile", "shrt")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: there is no profile 'shrt'; did you mean 'short'?\n")
