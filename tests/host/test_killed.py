"""A process that is killed in the middle of a write: the next one to look knows."""

import asyncio
import sys
import time
from pathlib import Path

import pytest

from callboard import Host
from callboard.config import load
from callboard.store import CallFilter

PROGRAM = '''
import asyncio, sys
from callboard import Host, tool
from callboard.testing import ScriptedModel, call

@tool
async def mail() -> None:
    """Send a mail."""
    print("sent", flush=True)
    await asyncio.Event().wait()

async def main() -> None:
    async with Host(sys.argv[1], tools=[mail]) as host:
        if sys.argv[2] == "run":
            await host.run("x", model=ScriptedModel([call("mail")]))
        await host.registry.invoke_async("mail")

asyncio.run(main())
'''


async def killed(folder: Path, how: str) -> None:
    (folder / "callboard.toml").write_text('[policy]\nwrite = "allow"\n')
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, str(folder), how, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(30):
            assert await process.stdout.readline() == b"sent\n"
    finally:
        process.kill()
        await process.communicate()


@pytest.mark.covers("B63")
async def test_a_write_in_flight_when_the_process_was_killed_is_recorded_as_unknown(tmp_path: Path) -> None:
    await killed(tmp_path, "run")

    async with Host(load(cwd=tmp_path)) as host:
        (run,) = host.store.runs.list()
        (record,) = host.store.calls.list(CallFilter(run=run.id))

    assert (run.status, run.reason) == ("interrupted", "process.ended")
    assert run.finished_at is not None
    assert run.finished_at <= time.time()
    assert (record["tool_id"], record["status"], record["step"]) == ("mail", "unknown", "act#1/tool.mail.1")


async def test_so_is_one_outside_of_runs(tmp_path: Path) -> None:
    await killed(tmp_path, "direct")

    async with Host(load(cwd=tmp_path)) as host:
        (record,) = host.store.calls.list()

    assert (record["tool_id"], record["status"], record["run"]) == ("mail", "unknown", None)
