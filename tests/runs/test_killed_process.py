"""A real process that is really killed, in the middle of a write; another one takes its run up again."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import asyncio, os, signal, sys
from pathlib import Path

from callboard.orchestration import LoopConfig, run_loop
from callboard.registry import ToolRegistry
from callboard.runs import Journal
from callboard.store import open_store
from callboard.testing import ScriptedModel, call, text
from callboard.tools import tool
from callboard.workflow import Run

folder, kill = Path(sys.argv[1]), sys.argv[2] == "kill"


def note(line):
    with (folder / "effects").open("a") as file:
        file.write(line + "\\n")


@tool(mode="read")
def read() -> str:
    note("read")
    return "12"


@tool
def mail(amount: int) -> str:
    note("mail")
    if kill:
        os.kill(os.getpid(), signal.SIGKILL)
    return "sent"


def said(request):
    last = request.messages[-1]["content"]
    return text(f"told: {last}")


async def main():
    script = [call("read"), call("mail", amount=12)] if kill else [said]
    model = ScriptedModel(script)
    with open_store(folder / "state") as store:
        run = Run(
            id="r",
            tools=ToolRegistry().register_all([read, mail]),
            steps=Journal(store.journal),
            models=lambda name: model,
        )
        outcome = await run_loop(LoopConfig(), "send it", run)
    print(outcome.status, outcome.value)


asyncio.run(main())
"""


def process(folder: Path, how: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), how],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )


@pytest.mark.covers("B63")
def test_a_killed_run_goes_on_in_another_process_and_its_write_is_not_made_again(tmp_path: Path) -> None:
    killed = process(tmp_path, "kill")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    resumed = process(tmp_path, "resume")
    assert resumed.returncode == 0, resumed.stderr
    assert (tmp_path / "effects").read_text().split() == ["read", "mail"]
    assert resumed.stdout.startswith("completed told:")
    assert "mail was interrupted" in resumed.stdout
    # and a third one only says how it ended
    assert process(tmp_path, "resume").stdout == resumed.stdout
