"""`callboard run` as people and scripts meet it: a real process, a pseudo-terminal, a scripted model."""

import os
import pty
import re
import select
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from callboard.cli import main
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

    def hang_up(self) -> None:
        """Close the window."""
        master, self._master = self._master, os.open(os.devnull, os.O_RDONLY)
        os.close(master)

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
    assert lines[3:5] == ["           3", "| It is 3."]
    assert lines[5].startswith("completed  2 rounds, 1 call, ")
    assert "\x1b" not in done.stdout
    assert recorded(folder) == ("completed", [("add", "ok")])


def test_an_output_that_knows_ascii_only_loses_nothing(folder: Path) -> None:
    done = piped(folder, "umlaut", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "sch\\xf6n \\u2192 gut" in done.stdout


def test_a_person_is_asked_about_each_write(folder: Path) -> None:
    with Terminal(folder, "write thrice") as terminal:
        for number, typed in enumerate(("a\n", "\n", "d not there\n"), 1):
            terminal.sees("deny with a reason (d REASON)", number)
            terminal.sees("> ", number)
            assert (folder / "a.txt").exists() is (number > 1)
            terminal.types(typed)
        assert terminal.end() == 0
        assert terminal.plain.count("? write_file wants to run") == 3
        assert 'exactly   {"path": "a.txt", "content": "a"}' in terminal.plain
        assert terminal.plain.count("ok         write_file") == 1
        assert terminal.plain.count("denied     write_file") == 2
        assert "not there" in terminal.plain
        assert "| I tried." in terminal.plain
        assert terminal.seen.count("\x1b[?25l") == terminal.seen.count("\x1b[?25h")
    assert [(folder / f"{name}.txt").exists() for name in "abc"] == [True, False, False]
    assert recorded(folder) == (
        "completed",
        [("write_file", "ok"), ("write_file", "denied"), ("write_file", "denied")],
    )


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
        assert "stopping: the call is being ended" in terminal.plain
        assert "[call.cancelled]" in terminal.plain
    with open_store(folder / ".callboard") as store:
        assert [call["status"] for call in store.calls.list()] == ["cancelled"]


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


def test_a_second_ctrl_c_ends_a_process_that_waits_for_a_store_held_elsewhere(folder: Path) -> None:
    with Terminal(folder, "wait") as terminal:
        wait_for((folder / "begun").exists)
        holder = sqlite3.connect(folder / ".callboard" / "callboard.db", isolation_level=None, timeout=10)
        holder.execute("BEGIN IMMEDIATE")
        terminal.types("\x03")
        terminal.sees("stopping: ")
        began = time.monotonic()
        while terminal.process.poll() is None:
            assert time.monotonic() - began < 5
            terminal.types("\x03")
            select.select([], [], [], 0.05)
        assert terminal.end() == 130
        holder.close()
    with open_store(folder / ".callboard") as store:
        store.settle_abandoned(time.time())
    assert recorded(folder) == ("interrupted", [("wait", "interrupted")])


def test_a_terminal_that_is_closed_stops_the_run_with_everything_recorded(folder: Path) -> None:
    with Terminal(folder, "wait") as terminal:
        wait_for((folder / "begun").exists)
        terminal.hang_up()
        assert terminal.process.wait(timeout=30) != 0
    assert recorded(folder) == ("cancelled", [("wait", "cancelled")])


def test_a_reader_that_leaves_stops_the_run(folder: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "run", "add and wait"],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        assert command.stdout is not None
        assert command.stdout.readline().startswith("model: ")
        command.stdout.close()
        assert command.stderr is not None
        assert command.stderr.read() == ""
        assert command.wait(timeout=30) == 1
    with open_store(folder / ".callboard") as store:
        [run] = store.runs.list()
    assert (run.status, run.reason) == ("cancelled", "output_closed")


def test_a_killed_process_leaves_a_run_that_is_interrupted(folder: Path) -> None:
    with Terminal(folder, "wait") as terminal:
        wait_for((folder / "begun").exists)
        terminal.process.kill()
        terminal.process.wait(timeout=30)
    assert main(["runs", "list", "--config", str(folder), "--json"]) == 0
    assert recorded(folder) == ("interrupted", [("wait", "interrupted")])


def test_a_killed_process_leaves_a_call_from_the_command_line_interrupted(folder: Path) -> None:
    with Terminal(folder, "call", "wait", command="tools") as terminal:
        wait_for((folder / "begun").exists)
        terminal.process.kill()
        terminal.process.wait(timeout=30)
    assert main(["calls", "--config", str(folder), "--json"]) == 0
    with open_store(folder / ".callboard") as store:
        assert [(call["tool_id"], call["status"]) for call in store.calls.list()] == [("wait", "interrupted")]


def events_of(store: Any) -> Iterator[dict[str, Any]]:
    for run in store.runs.list():
        yield from store.events.of(run.id)


def wait_for(condition: Any) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        select.select([], [], [], 0.02)
