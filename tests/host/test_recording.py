"""Nothing runs unrecorded: what happens when the store can't be used, before, during and after a call."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from callboard import Host, ToolContext, ToolError, tool
from callboard.config import load
from callboard.errors import StoreError
from callboard.policy import CallView, Decision
from callboard.store import CallFilter, StoredRun, open_store
from callboard.testing import ScriptedModel, call, calls, text
from callboard.types import ExecutionOptions, PendingCall

BOUND = 20.0
FREE = '[policy]\nwrite = "allow"\n'


@pytest.fixture
def saved() -> list[str]:
    return []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "callboard.toml").write_text(FREE)
    return tmp_path


@asynccontextmanager
async def hosting(folder: Path, saved: list[str]) -> AsyncGenerator[Host]:
    """A host with a write, and one that takes a table of the store away while it runs."""

    @tool
    async def save(name: str) -> str:
        """Save a note."""
        saved.append(name)
        return "saved"

    @tool
    async def lose(table: str) -> str:
        """Damage the store."""
        with sqlite3.connect(folder / ".callboard" / "callboard.db") as database:
            database.execute(f"DROP TABLE {table}")
        database.close()
        return "lost"

    async with asyncio.timeout(BOUND), Host(folder, tools=[save, lose]) as host:
        yield host


def a_file(state: Path) -> None:
    state.write_text("not a folder")


def no_database(state: Path) -> None:
    state.mkdir()
    (state / "callboard.db").write_bytes(b"this is no database, however long one looks at it" * 50)


@pytest.mark.parametrize("break_", [a_file, no_database])
async def test_a_call_that_can_not_be_recorded_is_not_made(
    folder: Path, saved: list[str], break_: Callable[[Path], None]
) -> None:
    break_(folder / ".callboard")

    @tool
    def note() -> None:
        """Note."""
        saved.append("note")

    async with hosting(folder, saved) as host:
        host.registry.register(note)
        with pytest.raises(ToolError, match="can't be recorded, so it was not made") as caught:
            await host.registry.invoke_async("save", {"name": "a"})
        with pytest.raises(ToolError, match="can't be recorded, so it was not made"):
            host.registry.invoke("note")
        with pytest.raises(StoreError):
            host.start("x", model=ScriptedModel([]))

    assert saved == []
    assert (caught.value.code, caught.value.invocation.status) == ("store.unusable", "failed")
    assert caught.value.hint


async def test_listing_the_tools_makes_no_store(folder: Path, saved: list[str]) -> None:
    async with hosting(folder, saved) as host:
        assert "save" in host.registry.ids()

    assert not (folder / ".callboard").exists()


@pytest.mark.parametrize("sync", [True, False])
async def test_the_time_that_opening_the_store_takes_is_no_calls(folder: Path, sync: bool) -> None:
    seen: list[bool] = []

    def authorize(_view: CallView) -> Decision:
        seen.append((folder / ".callboard" / "callboard.db").exists())
        return Decision("allow", ("a test",))

    async with asyncio.timeout(BOUND), Host(folder, authorize=authorize) as host:
        if sync:
            host.registry.invoke("list_files", {})
        else:
            await host.registry.invoke_async("list_files", {})

    assert seen == [True]


async def test_the_start_of_a_direct_call_is_on_disk_before_it_runs(folder: Path, saved: list[str]) -> None:
    async with hosting(folder, saved) as host:

        @tool
        async def look(a: int) -> list[Any]:
            """Look into the store."""
            return [e["data"] for e in host.store.events.of(f"direct-{host.store.this_process()}")]

        host.registry.register(look)
        result = await host.registry.invoke_async("look", {"a": 1})

    (started,) = result.value
    assert (started["tool_id"], started["arguments"]) == ("look", '{"a":1}')
    assert started["invocation_id"] == result.invocation.invocation_id


async def test_a_barrier_that_a_call_brings_does_not_take_the_place_of_the_hosts(
    folder: Path, saved: list[str]
) -> None:
    heard: list[str] = []

    async def own(pending: PendingCall) -> None:
        heard.append(pending.tool_id)

    a_file(folder / ".callboard")
    async with hosting(folder, saved) as host:
        with pytest.raises(ToolError, match="can't be recorded"):
            await host.registry.invoke_async("save", {"name": "a"}, execution=ExecutionOptions(barrier=own))
        (folder / ".callboard").unlink()
        await host.registry.invoke_async("save", {"name": "b"}, execution=ExecutionOptions(barrier=own))

    assert (saved, heard) == (["b"], ["save"])


async def test_a_direct_call_whose_record_is_lost_has_not_succeeded(folder: Path, saved: list[str]) -> None:
    async with hosting(folder, saved) as host:
        with pytest.raises(ToolError, match="lose has run, but its record could not be written") as caught:
            await host.registry.invoke_async("lose", {"table": "calls"})

        assert (caught.value.code, caught.value.invocation.status) == ("store.unusable", "ok")


async def test_in_a_batch_each_call_says_for_itself_that_its_record_is_lost(
    folder: Path, saved: list[str]
) -> None:
    async with hosting(folder, saved) as host:
        (kept,) = await host.registry.invoke_batch([("save", {"name": "a"})])
        (lost,) = await host.registry.invoke_batch([("lose", {"table": "calls"})])

    assert kept.ok
    assert not lost.ok
    assert getattr(lost.error, "code", None) == "store.unusable"


async def test_a_failing_call_keeps_its_own_error_where_its_record_is_lost(
    folder: Path, saved: list[str]
) -> None:
    async with hosting(folder, saved) as host:
        with pytest.raises(ToolError):
            await host.registry.invoke_async("lose", {"table": "calls"})
        with pytest.raises(ToolError) as caught:
            await host.registry.invoke_async("save", {})

    assert caught.value.code == "args.missing"
    assert "record could not be written" in caught.value.__notes__[0]


@pytest.mark.parametrize("table", ["calls", "events"])
async def test_a_run_of_which_something_can_not_be_written_ends_and_says_why(
    folder: Path, saved: list[str], table: str
) -> None:
    script = [calls(call("lose", table=table), call("save", name="a")), call("save", name="b"), text("done")]

    async with hosting(folder, saved) as host:
        result = await host.run("x", model=ScriptedModel(script))
        row = host.store.runs.get(result.id)

    assert saved == []
    assert (result.status, result.reason) == ("failed", "store.unusable")
    assert f"no such table: {table}" in result.message
    assert row is not None
    assert (row.status, row.reason) == ("failed", "store.unusable")


async def test_a_run_whose_steps_can_not_be_written_does_not_stay_running(
    folder: Path, saved: list[str]
) -> None:
    script = [calls(call("lose", table="steps"), call("save", name="a")), text("done")]

    async with hosting(folder, saved) as host:
        handle = host.start("x", model=ScriptedModel(script))
        with pytest.raises(StoreError):
            await handle.result()
        row = host.store.runs.get(handle.id)

    assert saved == []
    assert row is not None
    assert (row.status, row.reason) == ("failed", "store.unusable")
    assert row.finished_at is not None


async def test_a_run_whose_task_is_cancelled_is_noted_as_interrupted(folder: Path, saved: list[str]) -> None:
    entered = asyncio.Event()

    @tool(mode="read")
    async def forever() -> None:
        """Wait."""
        entered.set()
        await asyncio.Event().wait()

    async with hosting(folder, saved) as host:
        host.registry.register(forever)
        handle = host.start("x", model=ScriptedModel([call("forever")]))
        await entered.wait()
        next(task for task in asyncio.all_tasks() if task.get_name() == f"run {handle.id}").cancel()
        with pytest.raises(asyncio.CancelledError):
            await handle.result()
        row = host.store.runs.get(handle.id)

    assert row is not None
    assert (row.status, row.reason) == ("interrupted", "process.ended")


async def test_a_run_of_a_process_that_is_gone_is_settled_when_the_store_is_opened(
    folder: Path, saved: list[str]
) -> None:
    state = load(cwd=folder).state_folder
    with open_store(state) as gone:
        gone.runs.start(
            StoredRun(id="r1", profile="loop", started_at=1.0, input="x", owner=gone.this_process())
        )

    async with hosting(folder, saved) as host:
        row = host.store.runs.get("r1")

    assert row is not None
    assert row.status == "interrupted"


async def test_a_run_in_progress_is_not_taken_for_abandoned_by_another_host(
    folder: Path, saved: list[str]
) -> None:
    async with hosting(folder, saved) as host:

        @tool(mode="read")
        async def other(ctx: ToolContext) -> str:
            """Look from another host."""
            async with Host(folder) as beside:
                row = beside.store.runs.get(str(ctx.task_id))
            assert row is not None
            return row.status

        host.registry.register(other)
        model = ScriptedModel([call("other"), text("done")])
        result = await host.run("x", model=model)

    assert result.status == "completed"
    assert next(m["content"] for m in model.requests[1].messages if m["role"] == "tool") == "running"


async def test_a_direct_call_with_a_key_of_two_words_is_no_call_of_a_run(
    folder: Path, saved: list[str]
) -> None:
    async with hosting(folder, saved) as host:
        options = ExecutionOptions(call_key="order 7")
        await host.registry.invoke_async("save", {"name": "a"}, execution=options)
        (record,) = host.store.calls.list()

        assert (record["run"], record["step"], record["call_key"]) == (None, None, "order 7")
        assert host.store.calls.list(CallFilter(run="order")) == []


async def test_a_write_inside_a_read_of_a_run_is_noted_before_it_runs(folder: Path, saved: list[str]) -> None:
    async with hosting(folder, saved) as host:

        @tool(mode="read")
        async def outer() -> str:
            """Write inside."""
            return (await host.registry.invoke_async("save", {"name": "inner"})).value

        host.registry.register(outer)
        result = await host.run("x", model=ScriptedModel([call("outer"), text("done")]))
        begun = {row.step_id: row.attempts for row in host.store.journal.load(result.id)}
        noted = list(host.store.events.of(f"direct-{host.store.this_process()}"))

    assert saved == ["inner"]
    assert begun["act#1/tool.outer.1/write"] == 1
    assert [event["data"]["tool_id"] for event in noted] == ["save"]
    assert json.dumps(noted)
