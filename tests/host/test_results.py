"""Large results: kept whole, shown by their ends, read on by a tool of the run that they came up in."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from callboard import Host, Principal, ToolContext, ToolError, tool
from callboard.config import load
from callboard.models import ModelRequest
from callboard.store import CallFilter
from callboard.testing import ScriptedModel, call, text
from callboard.testing.scripted import Answer
from callboard.types import ExecutionOptions

BOUND = 30.0
BIG = "".join(f"line {number:06}\n" for number in range(20_000))  # 240,000 characters: read_file takes it


def handle_in(shown: str) -> str:
    [handle] = re.findall(r"result-[0-9a-f]{16}", shown)
    return handle


def told(request: ModelRequest) -> str:
    message = request.messages[-1]
    assert message["role"] == "tool"
    return message["content"]


@pytest.mark.covers("B59")
async def test_a_model_reads_on_in_a_file_that_was_too_large_to_be_shown(tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text(BIG)
    seen: list[str] = []

    def ask_for_more(request: ModelRequest) -> Answer:
        seen.append(told(request))
        return call("read_result", handle=handle_in(seen[0]), start=120_000, length=24)

    def done(request: ModelRequest) -> Answer:
        seen.append(told(request))
        return text("read")

    model = ScriptedModel([call("read_file", path="big.txt"), ask_for_more, done])
    async with asyncio.timeout(BOUND), Host(load(cwd=tmp_path)) as host:
        result = await host.run("read it", model=model)
        records = host.store.calls.list(CallFilter(run=result.id, tool=("read_file",)))
        handle = handle_in(seen[0])
        assert json.loads(host.store.blobs.look(handle, run=result.id) or "") == BIG

    assert result.status == "completed"
    assert len(seen[0]) < 101_000
    assert f"[... showing 100000 of 240000 characters; read_result reads it, handle {handle} ...]" in seen[0]
    assert (
        seen[1] == f"[characters 120000 to 120024 of 240000; go on with start=120024]\n{BIG[120_000:120_024]}"
    )
    assert json.loads(records[0]["result"])["blob"] == handle


async def test_all_parts_together_are_the_whole(tmp_path: Path) -> None:
    words = ["ä\U0001f600\n", '"quoted" ', "plain "] * 20_000

    @tool(mode="read")
    def many() -> list[str]:
        """A lot."""
        return words

    got: list[str] = []

    def next_part(request: ModelRequest) -> Answer:
        shown = told(request)
        if not got:
            got.append("")
            return call("read_result", handle=handle_in(shown), start=0)
        head, _, body = shown.partition("\n")
        got.append(body)
        more = re.search(r"start=(\d+)", head)
        if more is None:
            return text("read")
        return call("read_result", handle=model_handle, start=int(more[1]))

    model_handle = ""

    def first(request: ModelRequest) -> Answer:
        nonlocal model_handle
        model_handle = handle_in(told(request))
        return next_part(request)

    steps: list[Any] = [call("many"), first, *[next_part] * 18]
    async with asyncio.timeout(BOUND), Host(load(cwd=tmp_path), tools=[many]) as host:
        result = await host.run("all of it", model=ScriptedModel(steps))

    assert result.status == "completed"
    assert json.loads("".join(got)) == words


@pytest.fixture
def large() -> Any:
    @tool(mode="read")
    def large() -> str:
        """A lot."""
        return "x" * 150_000

    return large


async def test_another_run_or_principal_finds_nothing_under_a_handle(tmp_path: Path, large: Any) -> None:
    async with asyncio.timeout(BOUND), Host(load(cwd=tmp_path), tools=[large]) as host:
        ada = ExecutionOptions(principal=Principal("ada"))
        shown = await host.registry.invoke_async("large", execution=ada)
        handle = handle_in(shown.text)
        asked = {"handle": handle, "start": 0, "length": 3}
        assert (await host.registry.invoke_async("read_result", asked, execution=ada)).text.endswith("xxx")
        for options in (ExecutionOptions(principal=Principal("bob")), ExecutionOptions()):
            with pytest.raises(ToolError) as caught:
                await host.registry.invoke_async("read_result", asked, execution=options)
            assert caught.value.code == "result.no_such_handle"
        model = ScriptedModel([call("read_result", **asked), text("no")])
        run = await host.run("read it", model=model, principal=Principal("ada"))
        [record] = host.store.calls.list(CallFilter(run=run.id))
    assert record["failure"]["code"] == "result.no_such_handle"


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"start": -1}, "result.bad_range"),
        ({"length": 0}, "result.bad_range"),
        ({"length": 50_001}, "result.bad_range"),
        ({"start": 150_000}, "result.bad_range"),
        ({"handle": "result-0"}, "result.no_such_handle"),
    ],
)
async def test_a_part_that_is_none_is_refused_with_the_bounds(
    tmp_path: Path, large: Any, asked: dict[str, Any], code: str
) -> None:
    async with asyncio.timeout(BOUND), Host(load(cwd=tmp_path), tools=[large]) as host:
        handle = handle_in((await host.registry.invoke_async("large")).text)
        with pytest.raises(ToolError) as caught:
            await host.registry.invoke_async("read_result", {"handle": handle, **asked})
    assert caught.value.code == code
    assert caught.value.hint


async def test_a_call_inside_a_call_keeps_its_large_result_with_the_run(tmp_path: Path, large: Any) -> None:
    async with asyncio.timeout(BOUND), Host(load(cwd=tmp_path), tools=[large]) as host:

        @tool(mode="read")
        async def around(ctx: ToolContext) -> str:
            """Call another."""
            inner = await host.registry.invoke_async("large")
            handle = handle_in(inner.text)
            read = await host.registry.invoke_async("read_result", {"handle": handle, "length": 2})
            return f"{handle} {ctx.task_id} {read.text[-2:]}"

        host.registry.register(around)
        said: list[str] = []

        def done(request: ModelRequest) -> Answer:
            said.append(told(request))
            return text("done")

        run = await host.run("x", model=ScriptedModel([call("around"), done]))
        handle, task, read = said[0].split()
        assert (task, read) == (run.id, "xx")
        assert host.store.blobs.look(handle, run=run.id) is not None


async def test_an_agent_without_the_tool_is_not_sent_to_it(tmp_path: Path, large: Any) -> None:
    (tmp_path / "callboard.toml").write_text('[profiles.small]\ntools = ["large"]\n')
    seen: list[str] = []

    def done(request: ModelRequest) -> Answer:
        seen.append(told(request))
        return text("done")

    async with asyncio.timeout(BOUND), Host(tmp_path, tools=[large]) as host:
        await host.run("x", model=ScriptedModel([call("large"), done]), profile="small")
    assert "[... showing 100000 of 150000 characters ...]" in seen[0]


@pytest.mark.parametrize("prose", [True, False])
async def test_a_model_is_offered_the_tool_in_every_round_unless_it_never_sees_a_result(
    tmp_path: Path, prose: bool
) -> None:
    offered: list[bool] = []

    def look(request: ModelRequest) -> Answer:
        offered.append("read_result" in [definition.name for definition in request.tools])
        return text("done")

    async with asyncio.timeout(BOUND), Host(load(cwd=tmp_path)) as host:
        await host.run("x", model=ScriptedModel([look], finishes_with_text=prose))
    assert offered == [prose]
