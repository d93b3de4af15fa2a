"""The contract of the events: the page lists exactly the types and the fields that runs really emit."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from callboard.errors import BudgetExhausted
from callboard.events import (
    RUN_EVENT_TYPES,
    ApprovalAnswered,
    ApprovalAsked,
    CallProgress,
    CallStarted,
    RunEvent,
    RunEventType,
    ToolCallRecord,
)
from callboard.events.runs import VERSION
from callboard.orchestration import LoopConfig, run_loop
from callboard.policy import Decision
from callboard.registry import ToolRegistry
from callboard.testing import ScriptedModel, call, calls, text
from callboard.tools import tool
from callboard.types import ApprovalAnswer, ApprovalRequest, ExecutionOptions, ToolContext
from callboard.workflow import Context, Node, Outcome, Run, Workflow, WorkflowEngine, route

PAGE = (Path(__file__).parents[2] / "docs/contracts/events.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(?P<type>[a-z.]+)` \| (?P<path>[^|]+) \| (?P<data>[^|]+) \|", re.MULTILINE)


def documented() -> dict[str, set[str]]:
    return {row["type"]: set(re.findall(r"`(\w+)`", row["data"])) for row in ROW.finditer(PAGE)}


class Person:
    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        return ApprovalAnswer(True, request.digest)


@tool
async def write(ctx: ToolContext) -> str:
    """Report, then write."""
    ctx.report({"at": 1})
    return "written"


def asks(_view: Any) -> Decision:
    return Decision("ask", ("a write",))


async def a_loop(listener: Any) -> None:
    model = ScriptedModel([calls(call("write"), call("nothing"), say="now"), text("done")])
    registry: ToolRegistry[Any] = ToolRegistry(authorize=asks)
    run = Run(
        id="loop",
        tools=registry.register(write),
        models=lambda _name: model,
        listener=listener,
        execution=ExecutionOptions(approver=Person()),
    )
    await run_loop(LoopConfig(), "go", run)


async def a_workflow(listener: Any) -> None:
    async def node(_state: dict[str, Any], ctx: Context) -> dict[str, Any]:
        async def body(_run: Run) -> Outcome:
            raise BudgetExhausted("tokens", 3)

        ctx.emit("notice", code="x", text="y")
        await ctx.join({"a": ctx.spawn("a", body)}, on_error="collect")
        return {"out": 1}

    workflow = Workflow("w", [Node("n", node, [route.deliver("out")])])
    await WorkflowEngine(workflow).execute({}, Run(id="w", listener=listener))


@pytest.fixture(scope="module")
def emitted() -> list[RunEvent]:
    seen: list[RunEvent] = []

    async def both() -> None:
        async with asyncio.timeout(10):
            await a_loop(seen.append)
            await a_workflow(seen.append)

    asyncio.run(both())
    return seen


def test_the_page_lists_exactly_the_types() -> None:
    assert set(documented()) == RUN_EVENT_TYPES == set(get_args(RunEventType))


def test_every_type_is_emitted_with_exactly_the_fields_of_the_page(emitted: list[RunEvent]) -> None:
    seen: dict[str, set[str]] = {}
    for event in emitted:
        fields = seen.setdefault(event.type, set(event.data))
        assert fields == set(event.data), event
    assert seen == documented()


def test_the_fields_of_the_gates_events_are_those_of_its_facts() -> None:
    facts = {
        "call.started": CallStarted,
        "call.progress": CallProgress,
        "call.finished": ToolCallRecord,
        "approval.asked": ApprovalAsked,
        "approval.answered": ApprovalAnswered,
    }
    for type_, fact in facts.items():
        assert documented()[type_] == set(fact.__struct_fields__)


def test_every_event_is_json_carries_the_version_and_stands_on_a_path_of_the_page(
    emitted: list[RunEvent],
) -> None:
    paths = {
        "": r"",
        "visit": r"\w+#\d+",
        "attempt": r"\w+#\d+/tool\.\w+\.\d+@\d+",
        "end": r"end",
    }
    placed = {row["type"]: row["path"].strip() for row in ROW.finditer(PAGE)}
    for event in emitted:
        told = json.loads(json.dumps(event.to_json()))
        assert told["v"] == VERSION
        where = placed[event.type].replace("*(empty)*", "").replace("`", "").replace(" of the child", "")
        assert re.fullmatch(paths[where], event.path), event
    assert f"now {VERSION}" in PAGE


def test_only_pieces_of_text_are_transient_and_every_other_identity_is_there_once(
    emitted: list[RunEvent],
) -> None:
    assert {event.type for event in emitted if event.n == 0} == {"text.delta"}
    identities = [(event.run, event.path, event.n) for event in emitted if event.n]
    assert len(identities) == len(set(identities))
