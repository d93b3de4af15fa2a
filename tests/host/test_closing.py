"""What a host lets go of when it is closed, and how a run is followed."""

import asyncio
from pathlib import Path

import pytest

from callboard import Host, ToolError, tool
from callboard.config import load
from callboard.errors import RegistrationError
from callboard.events import RunEvent
from callboard.host.handle import BEHIND
from callboard.models import ModelAnswer, ModelRequest, OnDelta
from callboard.testing import ScriptedModel, call, text

BOUND = 20.0


async def test_everything_is_closed_also_where_one_close_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(ScriptedModel):
        async def close(self) -> None:
            raise OSError("the connection is gone")

    def opened(*_: object) -> Broken:
        return Broken([text("hi")])

    monkeypatch.setattr("callboard.host.host.open_model", opened)
    host = await Host(load(cwd=tmp_path)).__aenter__()
    await host.run("x", model="local")
    owner = tmp_path / ".callboard" / "owners" / host.store.this_process()
    assert owner.exists()

    with pytest.raises(OSError, match="the connection is gone"):
        await host.__aexit__(None, None, None)

    with pytest.raises(ToolError) as caught:
        host.registry.invoke("list_files", {})
    assert caught.value.code == "file.closed"
    assert not owner.exists()


async def test_a_host_that_can_not_be_opened_leaves_nothing_open(tmp_path: Path) -> None:
    @tool(mode="read")
    def read_file() -> str:
        """Takes the name of one of the host's own."""
        return ""

    before = set(Path("/proc/self/fd").iterdir())
    with pytest.raises(RegistrationError, match="read_file"):
        await Host(load(cwd=tmp_path), tools=[read_file]).__aenter__()

    assert set(Path("/proc/self/fd").iterdir()) <= before


@pytest.mark.parametrize(
    ("error", "reason"), [(BrokenPipeError(), "output_closed"), (ValueError(), "host_closed")]
)
async def test_a_run_whose_output_is_gone_says_so(tmp_path: Path, error: Exception, reason: str) -> None:
    entered = asyncio.Event()

    @tool(mode="read")
    async def forever() -> None:
        """Wait."""
        entered.set()
        await asyncio.Event().wait()

    host = await Host(load(cwd=tmp_path), tools=[forever]).__aenter__()
    async with asyncio.timeout(BOUND):
        handle = host.start("wait", model=ScriptedModel([call("forever")]))
        await entered.wait()
        await host.__aexit__(type(error), error, None)
        result = await handle.result()

    assert (result.status, result.reason) == ("cancelled", reason)


async def test_a_reader_that_stalls_loses_pieces_of_text_and_nothing_else(tmp_path: Path) -> None:
    pieces = BEHIND * 3

    class Talking(ScriptedModel):
        async def answer(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
            for _ in range(pieces):
                on_delta("x")
            return ModelAnswer("x" * pieces)

    async with asyncio.timeout(BOUND), Host(load(cwd=tmp_path)) as host:
        handle = host.start("talk", model=Talking([]))
        events = handle.events()
        seen: list[RunEvent] = [await anext(events)]
        await handle.result()
        seen += [event async for event in events]
        late = [event async for event in handle.events()]

    assert [event for event in seen if event.n] == late
    assert seen[-1].type == "run.finished"
    assert 0 < len([event for event in seen if not event.n]) <= BEHIND
