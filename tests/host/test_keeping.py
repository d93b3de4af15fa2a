"""What the configuration does not keep goes while a host is open, and nobody waits for it."""

import asyncio
import time
from pathlib import Path

from callboard import Host
from callboard.config import load
from callboard.store import StoredRun, open_store
from callboard.testing import ScriptedModel, text

BOUND = 30.0


def recorded(folder: Path, runs: int) -> None:
    with open_store(folder / ".callboard") as store:
        for number in range(runs):
            store.runs.start(StoredRun(id=f"r{number:03}", profile="loop", started_at=float(number)))
            store.runs.finish(f"r{number:03}", "completed", finished_at=1.0)


async def test_old_runs_go_when_a_host_has_opened_its_store(tmp_path: Path) -> None:
    recorded(tmp_path, 30)
    (tmp_path / "callboard.toml").write_text("[store]\nkeep_runs = 5\n")
    async with asyncio.timeout(BOUND), Host(tmp_path) as host:
        await host.run("x", model=ScriptedModel([text("done")]))
    async with asyncio.timeout(BOUND), Host(tmp_path) as host:
        assert host.store is not None
    with open_store(tmp_path / ".callboard") as store:
        assert len(store.runs.list()) <= 6


async def test_without_a_limit_everything_stays(tmp_path: Path) -> None:
    recorded(tmp_path, 3)
    async with Host(load(cwd=tmp_path)) as host:
        assert len(host.store.runs.list()) == 3
    with open_store(tmp_path / ".callboard") as store:
        assert len(store.runs.list()) == 3


async def test_a_host_is_closed_without_waiting_for_all_of_it(tmp_path: Path) -> None:
    recorded(tmp_path, 400)
    (tmp_path / "callboard.toml").write_text("[store]\nkeep_days = 1\n")
    async with Host(tmp_path) as host:
        assert host.store is not None
        began = time.monotonic()
    assert time.monotonic() - began < BOUND / 3


async def test_a_store_that_can_not_be_pruned_ends_no_run(tmp_path: Path) -> None:
    (tmp_path / "callboard.toml").write_text('[store]\nmax_size = "1B"\n')
    async with asyncio.timeout(BOUND), Host(tmp_path) as host:
        result = await host.run("x", model=ScriptedModel([text("done")]))
    assert result.status == "completed"
