"""What the tripwire notices, and what it lets pass."""

import os
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import AfterValidator

from callboard import Host, ToolError, tool
from callboard.config import load
from callboard.registry.log import listening
from callboard.testing import CallTool, ScriptedModel, Tripwire, call, text

HERE = Path("touched.txt")


@contextmanager
def watching() -> Generator[tuple[Tripwire, CallTool]]:
    """As the fixtures do, but for the check at the end."""
    with Tripwire() as tripwire, listening(tripwire.hear):
        yield tripwire, CallTool(tripwire)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there.txt").write_text("here")
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path)


def _connect() -> None:
    with socket.socket() as client:
        client.connect(("127.0.0.1", 9))


def _opened() -> None:
    os.close(os.open("new.txt", os.O_CREAT | os.O_WRONLY))


TOUCHES: dict[str, Callable[[], object]] = {
    "write": lambda: HERE.write_text("x"),
    "append": lambda: Path("there.txt").open("a").close(),
    "update": lambda: Path("there.txt").open("r+").close(),
    "os.open": _opened,
    "touch": lambda: Path("new.txt").touch(),
    "remove": lambda: Path("there.txt").unlink(),
    "rename": lambda: Path("there.txt").rename("gone.txt"),
    "folder": lambda: Path("new").mkdir(),
    "rmdir": lambda: Path("there").rmdir(),
    "chmod": lambda: Path("there.txt").chmod(0o600),
    "link": lambda: Path("link").symlink_to("there.txt"),
    "database": lambda: sqlite3.connect("new.db").close(),
    "connect": _connect,
    "lookup": lambda: socket.getaddrinfo("localhost", 80),
    "program": lambda: subprocess.run([sys.executable, "-V"], check=True),
    "spawn": lambda: os.posix_spawn("/bin/true", ["true"], {}),
}
every_touch = pytest.mark.parametrize("touch", TOUCHES.values(), ids=list(TOUCHES))


@every_touch
def test_a_simulation_that_touches_something_fails_and_does_not(touch: Callable[[], object]) -> None:
    def simulate() -> str:
        touch()
        return "simulated"

    @tool(simulate=simulate)
    def work() -> str:
        return "done"

    with watching() as (tripwire, call_tool), pytest.raises(AssertionError, match="the tripwire was touched"):
        call_tool(work, simulate=True)
    assert tripwire.touched[0].startswith("the simulated call of work ")
    assert sorted(path.name for path in Path().iterdir()) == ["there", "there.txt"]


@every_touch
def test_a_denied_call_may_touch_nothing_on_its_way(touch: Callable[[], object]) -> None:
    def looked_up(name: str) -> str:
        touch()
        return name

    @tool
    def work(name: Annotated[str, AfterValidator(looked_up)]) -> str:
        return name

    with (
        watching() as (tripwire, call_tool),
        pytest.raises(AssertionError, match="a call before its decision"),
    ):
        call_tool(work, {"name": "x"}, approve=False)
    assert tripwire.touched


def test_what_the_tool_swallows_still_counts() -> None:
    def simulate() -> str:
        try:
            HERE.write_text("x")
        except OSError:
            return "never mind"
        return "written"

    @tool(simulate=simulate)
    async def work() -> str:
        return "done"

    with (
        watching() as (tripwire, call_tool),
        pytest.raises(AssertionError, match=r"opened for writing touched\.txt"),
    ):
        call_tool(work, simulate=True)
    with pytest.raises(AssertionError, match=r"touched\.txt"):
        tripwire.check()


def test_calls_that_run_and_reads_of_a_simulation_may_touch_what_they_like() -> None:
    @tool
    def save() -> str:
        HERE.write_text("x")
        return "saved"

    @tool(mode="read")
    def look() -> str:
        with sqlite3.connect("cache.db"):
            return HERE.read_text()

    with watching() as (tripwire, call_tool):
        assert call_tool(save).value == "saved"
        assert call_tool(look, simulate=True).value == "x"
        HERE.unlink()
    assert tripwire.touched == []


def test_a_simulation_may_read_import_and_use_memory() -> None:
    def simulate() -> str:
        sqlite3.connect(":memory:").close()
        with Path(os.devnull).open("w") as nowhere:
            nowhere.write("x")
        return Path("there.txt").read_text()

    @tool(simulate=simulate)
    def work() -> str:
        return "done"

    with watching() as (tripwire, call_tool):
        assert call_tool(work, simulate=True).value == "here"
    assert tripwire.touched == []


async def test_a_simulated_run_is_watched_call_by_call(tmp_path: Path) -> None:
    def simulate(name: str) -> str:
        if name == "bad":
            HERE.write_text(name)
        return f"would save {name}"

    @tool(simulate=simulate)
    def save(name: str) -> str:
        return name

    script = [call("save", name="good"), call("save", name="bad"), text("done")]
    with watching() as (tripwire, _):
        async with Host(load(cwd=tmp_path), tools=[save]) as host:
            result = await host.run("go", model=ScriptedModel(script), simulate=True)
    assert result.text == "done"
    assert tripwire.touched == ["the simulated call of save opened for writing touched.txt"]


def test_beside_a_simulation_others_work_on() -> None:
    ready, go = threading.Event(), threading.Event()

    def beside() -> None:
        ready.set()
        go.wait(10)
        HERE.write_text("x")

    other = threading.Thread(target=beside)
    other.start()
    assert ready.wait(10)

    def simulate() -> str:
        go.set()
        other.join(10)
        return "simulated"

    @tool(simulate=simulate)
    def work() -> str:
        return "done"

    with watching() as (tripwire, call_tool):
        assert call_tool(work, simulate=True).value == "simulated"
    assert tripwire.touched == []
    assert HERE.read_text() == "x"


def test_without_a_tripwire_nothing_is_watched() -> None:
    def simulate() -> str:
        HERE.write_text("x")
        return "simulated"

    @tool(simulate=simulate)
    def work() -> str:
        return "done"

    with watching(), pytest.raises(ToolError, match="tripwire"):
        CallTool()(work, simulate=True)  # whoever calls, the tripwire hears of it
    assert CallTool()(work, simulate=True).value == "simulated"
    assert HERE.read_text() == "x"
