"""Spans of runs: the agent around its turns and calls, nested as they happen."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from callboard import Host, ToolError, tool
from callboard.config import Config
from callboard.config.models import Policy, State, Telemetry
from callboard.telemetry import Spans
from callboard.testing import ScriptedModel, call, calls, text
from callboard.workflow import Context, Node, Run, Workflow, WorkflowEngine, route
from tests.telemetry.conftest import Traces

BOUND = 20.0


@tool(mode="read")
async def add(a: int, b: int) -> int:
    await asyncio.sleep(0)
    return a + b


@tool(mode="read")
def fails() -> None:
    raise ToolError("the disk is full", code="disk.full")


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def config(tmp_path: Path, **telemetry: bool) -> Config:
    made = Config(
        state=State(folder=str(tmp_path / "state")),
        telemetry=Telemetry(**telemetry),
        policy=Policy(write="deny"),
    )
    return made.located(tmp_path, None)


@pytest.mark.covers("B96")
async def test_a_run_is_an_agent_around_its_turns_and_calls(tmp_path: Path, traces: Traces) -> None:
    together = calls(call("add", a=1, b=2), call("fails"), call("write_file", path="x", content="y"))
    model = ScriptedModel([together, text("three")])
    async with Host(config(tmp_path), tools=[add, fails], tracer=traces.tracer) as host:
        result = await asyncio.wait_for(host.run("add", model=model), BOUND)

    assert result.status == "completed"
    agent = traces.one("invoke_agent main")
    assert agent.parent is None
    told = attributes(agent)
    assert told["gen_ai.operation.name"] == "invoke_agent"
    assert told["gen_ai.agent.name"] == "main"
    assert told["gen_ai.conversation.id"] == result.id
    assert told["callboard.status"] == "completed"
    assert set(map(tuple, traces.tree().values())) == {(), ("invoke_agent main",)}
    assert sorted(span.name for span in traces.spans) == [
        "chat scripted",
        "chat scripted",
        "execute_tool add",
        "execute_tool fails",
        "execute_tool write_file",
        "invoke_agent main",
    ]
    ends = {span.name: attributes(span).get("error.type") for span in traces.spans}
    assert ends["execute_tool fails"] == "disk.full"
    assert ends["execute_tool write_file"] == "permission.denied"
    for span in traces.named("chat scripted"):
        assert span.kind is SpanKind.CLIENT
        assert attributes(span)["gen_ai.operation.name"] == "chat"
        assert attributes(span)["gen_ai.agent.name"] == "main"
        assert "gen_ai.usage.input_tokens" in attributes(span)


async def test_a_run_that_failed_fails_its_span(tmp_path: Path, traces: Traces) -> None:
    async with Host(config(tmp_path), tracer=traces.tracer) as host:
        result = await asyncio.wait_for(host.run("go", model=ScriptedModel([])), BOUND)

    span = traces.one("invoke_agent main")
    assert span.status.status_code is StatusCode.ERROR
    assert attributes(span)["error.type"] == result.reason
    assert traces.one("chat scripted").status.status_code is StatusCode.ERROR


async def test_a_child_stands_inside_its_parent(traces: Traces) -> None:
    async def leaf(_state: dict[str, Any]) -> dict[str, Any]:
        return {"done": True}

    inner: Workflow[dict[str, Any], Any] = Workflow(
        "agent scout", [Node("leaf", leaf, [route.deliver("done")])], agent="main/scout"
    )

    async def outer(_state: dict[str, Any], ctx: Context) -> dict[str, Any]:
        await ctx.join({"scout": ctx.sub("scout", inner, {})})
        return {"done": True}

    workflow: Workflow[dict[str, Any], Any] = Workflow(
        "errand", [Node("outer", outer, [route.deliver("done")])]
    )
    run = Run(id="r1", spans=Spans(traces.tracer))
    assert await asyncio.wait_for(WorkflowEngine(workflow).run({}, run), BOUND) is True

    assert traces.tree() == {
        "invoke_workflow errand": [],
        "invoke_agent main/scout": ["invoke_workflow errand"],
    }


def test_one_line_of_configuration_takes_the_process_own_provider(tmp_path: Path) -> None:
    (tmp_path / "callboard.toml").write_text("[telemetry]\nspans = true\n")
    program = """
import asyncio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from callboard import Host, tool

exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))

async def main():
    async with Host(tools=[tool(mode="read", name="one")(lambda: 1)]) as host:
        trace.set_tracer_provider(provider)  # later is early enough
        await host.registry.invoke_async("one")

asyncio.run(main())
for span in exporter.get_finished_spans():
    print(span.name, span.instrumentation_scope.name, "gen_ai.tool.call.result" in span.attributes)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("execute_tool one callboard False\n", "")
