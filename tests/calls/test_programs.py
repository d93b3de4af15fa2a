"""Programs that tools start end with their call."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callboard import Abort, ToolError, ToolRegistry, tool
from callboard.types import ExecutionOptions
from callboard.workers import run_program

BOUND = 10.0


def alive(pid: int) -> bool:
    """Whether the process runs; one that is dead but not reaped does count."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def gone(pid: int) -> bool:
    async with asyncio.timeout(BOUND):
        while alive(pid):
            await asyncio.sleep(0.01)
    return True


async def written(file: Path) -> int:
    async with asyncio.timeout(BOUND):
        while not (file.exists() and file.read_text().strip()):
            await asyncio.sleep(0.01)
    return int(file.read_text())


# A program with a child of its own; both sleep for long.
FAMILY = (
    "import subprocess, sys, time; p = subprocess.Popen(['sleep', '60']); "
    "open(sys.argv[1], 'w').write(str(p.pid)); time.sleep(60)"
)


async def test_a_program_gives_its_output_and_exit_code() -> None:
    finished = await run_program(sys.executable, "-c", "print(input()); raise SystemExit(3)", stdin="hello")

    assert (finished.exit_code, finished.stdout, finished.stderr) == (3, "hello\n", "")


async def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ToolError, match="no-such-program") as caught:
        await run_program("no-such-program")

    assert caught.value.code == "program.not_started"


@pytest.mark.covers("B51")
@pytest.mark.parametrize("way", ["deadline", "abort", "cancel"])
async def test_a_program_and_its_children_are_killed_with_the_call(tmp_path: Path, way: str) -> None:
    @tool
    async def run(file: str) -> int:
        return (await run_program(sys.executable, "-c", FAMILY, file)).exit_code

    file, abort = tmp_path / "pid", Abort()
    options = ExecutionOptions(abort=abort, deadline=1.5 if way == "deadline" else None)
    call = asyncio.create_task(
        ToolRegistry().register(run).invoke_async("run", {"file": str(file)}, execution=options)
    )
    child = await written(file)
    if way == "abort":
        abort.set()
    elif way == "cancel":
        call.cancel()
    ended: Any = (await asyncio.gather(call, return_exceptions=True))[0]

    assert isinstance(ended, asyncio.CancelledError if way == "cancel" else ToolError)
    assert await gone(child)


@pytest.mark.covers("B51")
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs the process table of Linux")
async def test_a_blocking_subprocess_of_a_thread_is_killed_with_the_call(tmp_path: Path) -> None:
    @tool
    def run(file: str) -> int:
        return subprocess.run([sys.executable, "-c", FAMILY, file], check=False).returncode

    file = tmp_path / "pid"
    tools = ToolRegistry().register(run)
    call = asyncio.create_task(tools.invoke_async("run", {"file": str(file)}))
    child = await written(file)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert await gone(child)
    mine = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and _parent(p) == os.getpid()]
    assert not [p for p in mine if "sleep" in Path(f"/proc/{p}/comm").read_text()], "no zombie is left"


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0
