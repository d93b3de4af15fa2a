"""The host: a run from its order to its result, stored and governed."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from callboard import Host, Principal, ToolContext, ToolError, tool
from callboard.config import Config, load
from callboard.errors import ConfigError, ModelError
from callboard.events import RunEvent
from callboard.registry import Toolset
from callboard.store import CallFilter
from callboard.testing import ScriptedModel, call, calls, text
from callboard.types import ApprovalAnswer, ApprovalRequest, ExecutionOptions

BOUND = 20.0


@tool(mode="read")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


saved: list[str] = []


@tool
async def save(name: str) -> str:
    """Save a note."""
    saved.append(name)
    return f"saved {name}"


@pytest.fixture(autouse=True)
def nothing_saved() -> None:
    saved.clear()


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load(cwd=tmp_path)


class Yes:
    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        return ApprovalAnswer(True, request.digest, by="test")


async def test_a_run_calls_tools_and_its_result_is_stored(config: Config) -> None:
    model = ScriptedModel([call("add", a=1, b=2), text("It is 3.")])

    async with Host(config, tools=[add]) as host:
        result = await asyncio.wait_for(host.run("add 1 and 2", model=model), BOUND)

        assert (result.status, result.text, result.rounds) == ("completed", "It is 3.", 2)
        row = host.store.runs.get(result.id)
        record = host.store.calls.list(CallFilter(run=result.id))[0]
    model.assert_complete()
    assert row is not None
    assert (row.status, row.text, row.input, row.model) == (
        "completed",
        "It is 3.",
        "add 1 and 2",
        model.name,
    )
    assert (record["tool_id"], record["status"], record["result"]) == ("add", "ok", "3")
    assert record["step"].startswith("act#1/")


async def test_events_are_stored_before_they_are_seen_and_can_be_read_late(config: Config) -> None:
    async with Host(config, tools=[add]) as host:
        handle = host.start("add", model=ScriptedModel([call("add", a=1, b=2), text("3")]))
        live = [event async for event in handle.events()]
        late = [event async for event in handle.events()]
        stored = list(host.store.events.of(handle.id))

    kept = [event for event in live if event.n]
    assert [e.type for e in kept] == [e["type"] for e in stored] == [e.type for e in late]
    assert all(event.seq for event in kept)
    assert live[-1].type == "run.finished"
    assert {"model.started", "call.requested", "call.started", "call.finished", "call.answered"} <= {
        event.type for event in live
    }


async def test_a_write_asks_the_runs_approver_and_without_one_is_denied(config: Config) -> None:
    script = [call("save", name="a"), text("done")]

    async with Host(config, tools=[save]) as host:
        refused = await host.run("save a", model=ScriptedModel(list(script)))
        allowed = await host.run("save a", model=ScriptedModel(list(script)), approver=Yes())
        records = {r["run"]: r for r in host.store.calls.list()}

    assert saved == ["a"]
    assert (refused.status, allowed.status) == ("completed", "completed")
    assert records[refused.id]["failure"]["code"] == "approval.no_approver"
    assert records[allowed.id]["reasons"] == ["[policy]: write = ask", "approved by test"]


@pytest.mark.covers("B72")
async def test_a_direct_call_of_the_hosts_registry_passes_the_same_policy(config: Config) -> None:
    async with Host(config, tools=[save]) as host:
        with pytest.raises(ToolError) as caught:
            await host.registry.invoke_async("save", {"name": "a"})
        record = host.store.calls.list()[0]

    assert caught.value.code == "approval.no_approver"
    assert (record["run"], record["status"]) == (None, "denied")
    assert saved == []


async def test_a_profile_may_let_its_writes_run(tmp_path: Path) -> None:
    (tmp_path / "callboard.toml").write_text('[profiles.free]\nwrites = "allow"\n')

    async with Host(tmp_path, tools=[save]) as host:
        model = ScriptedModel([call("save", name="a"), text("done")])
        result = await host.run("save a", model=model, profile="free")

    assert (result.status, saved) == ("completed", ["a"])


async def test_a_policy_that_denies_writes_denies_them_in_every_profile(tmp_path: Path) -> None:
    (tmp_path / "callboard.toml").write_text('[policy]\nwrite = "deny"\n[profiles.free]\nwrites = "allow"\n')

    async with Host(tmp_path, tools=[save]) as host:
        model = ScriptedModel([call("save", name="a"), text("done")])
        result = await host.run("save a", model=model, profile="free", approver=Yes())
        record = host.store.calls.list()[0]

    assert (result.status, saved) == ("completed", [])
    assert record["reasons"] == ["[policy]: write = deny"]


async def test_the_tools_of_the_workspace_are_there_and_stay_in_it(config: Config, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("hello")
    (tmp_path / "secret.txt").write_text("42")
    answers = [calls(call("read_file", path="a.txt"), call("read_file", path="../secret.txt")), text("done")]
    model = ScriptedModel(answers)

    async with Host(config) as host:
        result = await host.run("read", model=model, workspace=other)

    told = [m["content"] for m in model.requests[1].messages if m["role"] == "tool"]
    assert result.status == "completed"
    assert "hello" in told[0]
    assert "42" not in told[1]
    assert json.loads(told[1])["ok"] is False


async def test_tools_learn_of_run_workspace_and_principal(config: Config, tmp_path: Path) -> None:
    @tool(mode="read")
    def look(ctx: ToolContext) -> dict[str, Any]:
        assert ctx.run is not None
        user = None if ctx.principal is None else ctx.principal.user
        return {"run": ctx.run.id, "task": ctx.task_id, "workspace": str(ctx.workspace), "user": user}

    model = ScriptedModel([call("look"), text("done")])
    async with Host(config, tools=[look]) as host:
        result = await host.run("look", model=model, principal=Principal("ada"))

    told = json.loads(next(m["content"] for m in model.requests[1].messages if m["role"] == "tool"))
    assert told == {"run": result.id, "task": result.id, "workspace": str(tmp_path), "user": "ada"}


async def test_a_cancelled_run_ends_with_everything_recorded(config: Config) -> None:
    entered = asyncio.Event()

    @tool(mode="read")
    async def forever() -> None:
        entered.set()
        await asyncio.Event().wait()

    async with Host(config, tools=[forever]) as host:
        handle = host.start("wait", model=ScriptedModel([call("forever")]))
        async with asyncio.timeout(BOUND):
            await entered.wait()
            handle.cancel()
            result = await handle.result()
        record = host.store.calls.list()[0]
        row = host.store.runs.get(handle.id)

    assert (result.status, result.reason) == ("cancelled", "user_stopped")
    assert (record["tool_id"], record["status"]) == ("forever", "cancelled")
    assert row is not None
    assert row.status == "cancelled"


async def test_closing_the_host_ends_its_runs(config: Config) -> None:
    entered = asyncio.Event()

    @tool(mode="read")
    async def forever() -> None:
        entered.set()
        await asyncio.Event().wait()

    async with asyncio.timeout(BOUND):
        async with Host(config, tools=[forever]) as host:
            handle = host.start("wait", model=ScriptedModel([call("forever")]))
            await entered.wait()
        result = await handle.result()

    assert (result.status, result.reason) == ("cancelled", "host_closed")


async def test_a_simulated_run_writes_nothing(config: Config, tmp_path: Path) -> None:
    model = ScriptedModel(
        [calls(call("save", name="a"), call("write_file", path="a.txt", content="x")), text("done")]
    )

    async with Host(config, tools=[save]) as host:
        result = await host.run("save", model=model, simulate=True)
        records = host.store.calls.list()

    assert result.status == "completed"
    assert saved == []
    assert not (tmp_path / "a.txt").exists()
    assert all(record["simulated"] for record in records)


async def test_a_model_that_fails_fails_the_run_and_not_the_host(config: Config) -> None:
    async with Host(config) as host:
        result = await host.run(
            "hello", model=ScriptedModel([ModelError("no quota", code="model.rate_limited")])
        )
        again = await host.run("hello", model=ScriptedModel([text("hi")]))

    assert (result.status, result.reason, result.message) == ("failed", "model.rate_limited", "no quota")
    assert again.text == "hi"


async def test_several_runs_at_once_do_not_mix(config: Config) -> None:
    async with Host(config, tools=[add]) as host:
        scripts = [ScriptedModel([call("add", a=n, b=0), text(f"run {n}")]) for n in range(10)]
        results = await asyncio.gather(*[host.run(f"{n}", model=m) for n, m in enumerate(scripts)])
        of_run = [host.store.calls.list(CallFilter(run=r.id)) for r in results]

    assert [r.text for r in results] == [f"run {n}" for n in range(10)]
    assert [records[0]["result"] for records in of_run] == [str(n) for n in range(10)]
    assert all(len(records) == 1 for records in of_run)


async def test_a_call_inside_a_call_is_recorded_with_the_run_around_it(config: Config) -> None:
    async with Host(config, tools=[add]) as host:

        @tool(mode="read")
        async def twice(n: int, ctx: ToolContext) -> int:
            options = ExecutionOptions(principal=ctx.principal)
            return (await host.registry.invoke_async("add", {"a": n, "b": n}, execution=options)).value

        host.registry.register(twice)
        result = await host.run("twice", model=ScriptedModel([call("twice", n=4), text("8")]))
        records = host.store.calls.list(CallFilter(run=result.id))

    assert sorted(r["tool_id"] for r in records) == ["add", "twice"]


async def test_conversation_and_settings_reach_the_model(config: Config) -> None:
    model = ScriptedModel([text("fine")])

    async with Host(config) as host:
        await host.run("and now?", model=model, conversation=[{"role": "user", "content": "hello"}])

    roles = [(m["role"], m["content"]) for m in model.requests[0].messages if m["role"] == "user"]
    assert roles == [("user", "hello"), ("user", "and now?")]


async def test_half_a_character_in_a_prompt_is_replaced_and_the_run_recorded(config: Config) -> None:
    model = ScriptedModel([text("fine")])

    async with Host(config) as host:
        result = await host.run("hm \ud83d", model=model)
        row = host.store.runs.get(result.id)

    assert (result.status, model.requests[0].messages[-1]["content"]) == ("completed", "hm \ufffd")
    assert row is not None


def test_a_folder_without_a_file_means_the_defaults(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        Host(tmp_path / "callboard.toml")


async def test_toolsets_are_taken_too(config: Config) -> None:
    async with Host(config, tools=[Toolset("math", [add], prefix="math")]) as host:
        assert host.registry.invoke("math-add", {"a": 1, "b": 2}).value == 3


async def test_a_closed_host_says_so(config: Config) -> None:
    with pytest.raises(RuntimeError, match="async with"):
        _ = Host(config).registry


async def test_deltas_are_live_only(config: Config) -> None:
    async with Host(config) as host:
        handle = host.start("hello", model=ScriptedModel([text("one two three")]))
        live: list[RunEvent] = [event async for event in handle.events()]
        stored = [e["type"] for e in host.store.events.of(handle.id)]

    assert "text.delta" in {event.type for event in live}
    assert "text.delta" not in stored
