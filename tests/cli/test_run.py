"""`callboard run` as people and scripts meet it: a real process, a pseudo-terminal, a scripted model."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from callboard.store import CallFilter, open_store

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "tests.cli.driver"]
TOOLS = '''
import asyncio
import time
from pathlib import Path
from callboard import tool

@tool(mode="read")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b

@tool(mode="read")
async def wait() -> str:
    """Wait for ever."""
    Path("begun").touch()
    await asyncio.Event().wait()
    return ""

@tool(mode="read", blocking=False)
def stubborn() -> str:
    """Hold up everything."""
    while True:
        time.sleep(0.01)
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mytools.py").write_text(TOOLS)
    names = ", ".join(f'"mytools:{name}"' for name in ("add", "wait", "stubborn"))
    (tmp_path / "callboard.toml").write_text(f"tools = [{names}]\n\n[profiles.short]\nmax_rounds = 2\n")
    open_store(tmp_path / ".callboard").close()  # made here: each process would load Alembic for it
    return tmp_path


def environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT), "TERM": "xterm", "NO_COLOR": "1"}


def piped(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "run", *arguments],
        capture_output=True,
        text=True,
        timeout=50,
        cwd=folder,
        env=environment() | more,
        stdin=subprocess.DEVNULL,
        check=False,
    )


class Terminal:
    """A person at a terminal: sees what is drawn, types, and presses Ctrl-C."""

    def __init__(
        self, folder: Path, *arguments: str, command: str = "run", piped: Path | None = None
    ) -> None:
        self._master, slave = pty.openpty()
        with Path(os.devnull if piped is None else piped).open("wb") as pipe:
            self._start(folder, [*COMMAND, command, *arguments], slave, slave if piped is None else pipe)
        os.close(slave)
        self.seen = ""

    def _start(self, folder: Path, command: list[str], slave: int, output: Any) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=output,
            stderr=slave,
            cwd=folder,
            env=environment(),
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], 30)
        assert ready, self.seen
        try:
            chunk = os.read(self._master, 65536)
        except OSError:  # the other end was closed
            return False
        self.seen += chunk.decode()
        return bool(chunk)

    def sees(self, text: str, times: int = 1) -> None:
        until = time.monotonic() + 30
        while self.seen.count(text) < times:
            assert time.monotonic() < until, self.seen
            assert self._read(), self.seen

    def types(self, text: str) -> None:
        os.write(self._master, text.encode())

    def end(self) -> int:
        while self._read():
            pass
        return self.process.wait(timeout=30)

    @property
    def plain(self) -> str:
        """All that was printed, without control sequences."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", self.seen)


def recorded(folder: Path) -> tuple[str, list[tuple[str, str]]]:
    """The status of the only run, and (tool, status) of its calls, oldest first."""
    with open_store(folder / ".callboard") as store:
        [run] = store.runs.list()
        calls = store.calls.list(CallFilter(run=run.id))
        return run.status, [(call["tool_id"], call["status"]) for call in reversed(calls)]


def test_a_run_is_readable_when_piped(folder: Path) -> None:
    done = piped(folder, "add")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("model: scripted (")
    assert re.fullmatch(rf"run: [\w-]+, profile loop, workspace {re.escape(str(folder))}", lines[1])
    assert re.fullmatch(r"ok         add a=1 b=2  \([\d.]+ m?s\)", lines[2])
    assert lines[3:5] == ["           3", "It is 3."]
    assert lines[5].startswith("completed  2 rounds, 1 call, ")
    assert "\x1b" not in done.stdout
    assert recorded(folder) == ("completed", [("add", "ok")])


def test_a_run_as_json_is_one_object_a_line(folder: Path) -> None:
    done = piped(folder, "add", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["type"] == "run.opened"
    assert lines[0]["model"] == "scripted"
    assert lines[-1] == {**lines[-1], "type": "run.result", "status": "completed", "text": "It is 3."}
    with open_store(folder / ".callboard") as store:
        assert lines[1:-1] == list(store.events.of(lines[0]["id"]))
    assert done.stderr == ""


def test_without_a_terminal_a_write_is_denied_and_the_run_goes_on(folder: Path) -> None:
    done = piped(folder, "write")
    assert done.returncode == 0
    assert "denied     write_file" in done.stdout
    assert "nobody could be asked: there is no terminal" in done.stdout
    assert not (folder / "out.txt").exists()
    assert recorded(folder) == ("completed", [("write_file", "denied")])


def test_yes_allows_the_writes_of_this_run(folder: Path) -> None:
    done = piped(folder, "write", "--yes")
    assert "ok         write_file" in done.stdout
    assert (folder / "out.txt").read_text() == "two\nlines"


def test_an_answer_file_allows_exactly_what_it_lists_and_prints_it(folder: Path) -> None:
    (folder / "answers.toml").write_text(
        '[[allow]]\ntool = "write_file"\narguments = { path = "a.txt", content = "a" }\n',
    )
    done = piped(folder, "write twice", "--answers", "answers.toml")
    assert 'allow   write_file {"path": "a.txt", "content": "a"} (answered by answers.toml)' in done.stdout
    assert 'deny    write_file {"path": "b.txt", "content": "b"} (answered by answers.toml)' in done.stdout
    assert [(folder / name).exists() for name in ("a.txt", "b.txt")] == [True, False]


def test_another_workspace_is_where_files_are_written(folder: Path) -> None:
    (folder / "work").mkdir()
    done = piped(folder, "write", "--yes", "--workspace", "work")
    assert done.returncode == 0
    assert (folder / "work" / "out.txt").exists()


def test_a_limit_has_an_exit_code_of_its_own(folder: Path) -> None:
    done = piped(folder, "for ever", "--profile", "short")
    assert done.returncode == 3
    assert "budget exhausted" in done.stdout
    assert recorded(folder)[0] == "budget_exhausted"


def test_an_unknown_profile_is_wrong_usage(folder: Path) -> None:
    done = piped(folder, "add", "--profile", "shrt")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: there is no profile 'shrt'\nhint: did you mean 'short'?\n"


@pytest.mark.parametrize(
    ("typed", "status", "written"),
    [("a\n", "ok", True), ("\n", "denied", False), ("d not there\n", "denied", False)],
)
def test_a_person_is_asked_about_a_write(folder: Path, typed: str, status: str, *, written: bool) -> None:
    with Terminal(folder, "write") as terminal:
        terminal.sees("deny with a reason (d REASON)")
        terminal.sees("> ")
        assert not (folder / "out.txt").exists()
        terminal.types(typed)
        assert terminal.end() == 0
        assert "? write_file wants to run" in terminal.plain
        assert 'exactly   {"path": "out.txt", "content": "two\\nlines"}' in terminal.plain
        assert f"{status:<10} write_file" in terminal.plain
        assert ("not there" in terminal.plain) is ("not there" in typed)
        assert "I tried." in terminal.plain
        assert terminal.seen.count("\x1b[?25l") == terminal.seen.count("\x1b[?25h")
    assert (folder / "out.txt").exists() is written
    assert recorded(folder) == ("completed", [("write_file", status)])


def test_a_person_is_asked_beside_an_output_that_is_piped(folder: Path) -> None:
    with Terminal(folder, "write", piped=folder / "log") as terminal:
        terminal.sees("> ")
        terminal.types("a\n")
        assert terminal.end() == 0
        assert "? write_file wants to run" in terminal.plain
    said = (folder / "log").read_text()
    assert "ok         write_file" in said
    assert "wants to run" not in said
    assert "\x1b" not in said


def test_ctrl_c_ends_a_call_from_the_command_line(folder: Path) -> None:
    with Terminal(folder, "call", "wait", command="tools") as terminal:
        wait_for((folder / "begun").exists)
        terminal.types("\x03")
        assert terminal.end() == 130
        assert "[call.cancelled]" in terminal.plain
    with open_store(folder / ".callboard") as store:
        assert [call["status"] for call in store.calls.list()] == ["cancelled"]


def test_an_output_that_knows_ascii_only_loses_nothing(folder: Path) -> None:
    done = piped(folder, "umlaut", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "sch\\xf6n \\u2192 gut" in done.stdout


def test_ctrl_c_ends_the_run_with_everything_recorded(folder: Path) -> None:
    with Terminal(folder, "wait") as terminal:
        terminal.sees("running")
        terminal.types("\x03")
        assert terminal.end() == 130
        assert "stopping: the run is being ended" in terminal.plain
        assert "cancelled  " in terminal.plain
        assert terminal.seen.count("\x1b[?25l") == terminal.seen.count("\x1b[?25h")
    assert recorded(folder) == ("cancelled", [("wait", "cancelled")])


def test_ctrl_c_at_a_question_runs_nothing(folder: Path) -> None:
    with Terminal(folder, "write") as terminal:
        terminal.sees("> ")
        terminal.types("\x03")
        assert terminal.end() == 130
    assert not (folder / "out.txt").exists()
    status, calls = recorded(folder)
    assert status == "cancelled"
    assert [tool for tool, _ in calls] == ["write_file"]


def test_a_second_ctrl_c_ends_a_process_that_a_tool_holds_up(folder: Path) -> None:
    with Terminal(folder, "stubborn") as terminal:
        terminal.sees("run: ")
        with open_store(folder / ".callboard") as store:
            wait_for(lambda: any(event["type"] == "call.started" for event in events_of(store)))
        terminal.types("\x03")
        until = time.monotonic() + 30
        while terminal.process.poll() is None:
            assert time.monotonic() < until
            terminal.types("\x03")
            select.select([], [], [], 0.05)  # two at once are one signal
        assert terminal.end() == 130
    with open_store(folder / ".callboard") as store:
        assert [event["type"] for event in events_of(store)][-1] == "call.started"


def events_of(store: Any) -> Iterator[dict[str, Any]]:
    for run in store.runs.list():
        yield from store.events.of(run.id)


def wait_for(condition: Any) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        select.select([], [], [], 0.02)
