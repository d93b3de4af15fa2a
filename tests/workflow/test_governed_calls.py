"""What a call made in a node carries with it: agent, grant, principal, context, stops, and its events."""

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from callboard.events import DiagnosticScope, RunEvent
from callboard.policy import Decision
from callboard.registry import ToolRegistry
from callboard.tools import tool
from callboard.types import (
    Abort,
    ErrorFactories,
    ExecutionOptions,
    Principal,
    ToolContext,
    ToolInvocationRequest,
)
from callboard.workflow import Budget, Context, Node, Outcome, Run, WorkClock, Workflow, WorkflowEngine, route

Dict = dict[str, Any]


async def played(node: Any, registry: ToolRegistry[Any], run: Run, budget: Budget | None = None) -> Outcome:
    workflow = Workflow("w", [Node("n", node, [route.deliver("out")])])
    async with asyncio.timeout(10):
        return await WorkflowEngine(workflow, budget=budget).bind_tools(registry).execute({}, run)


def registry_of(*tools: Any, **options: Any) -> ToolRegistry[Any]:
    registry: ToolRegistry[Any] = ToolRegistry(**options)
    return registry.register_all(tools)


@tool(mode="read")
def echo() -> str:
    return "echo"


@tool(mode="read")
def hidden() -> str:
    return "hush"


async def test_a_call_is_made_for_the_runs_principal_and_agent_under_a_stable_key() -> None:
    views: list[Any] = []

    def authorize(view: Any) -> Decision:
        views.append((view.options.principal, view.options.agent, view.call_key))
        return Decision("allow", ("test",))

    async def node(_state: Dict, ctx: Context) -> Dict:
        await ctx.tools.invoke("echo")
        await ctx.tools.call("echo", {}, agent="main/scout")
        return {"out": 1}

    run = Run(id="r", execution=ExecutionOptions(principal=Principal("ann", "acme"), agent="main"))
    await played(node, registry_of(echo, authorize=authorize), run)
    assert views == [
        (("ann", "acme"), "main", "r n#1/tool.echo.1"),
        (("ann", "acme"), "main/scout", "r n#1/tool.echo.2"),
    ]


@pytest.mark.parametrize(
    ("whole", "own", "reached"),
    [
        (None, None, True),
        ({"echo"}, None, False),
        (None, {"echo"}, False),
        ({"echo", "hidden"}, {"hidden"}, True),
        ({"echo"}, {"hidden"}, False),
    ],
)
async def test_a_grant_only_narrows_that_of_the_run(whole: Any, own: Any, reached: bool) -> None:
    async def node(_state: Dict, ctx: Context) -> Dict:
        grant = None if own is None else frozenset(own)
        return {"out": await ctx.tools.call("hidden", {}, grant=grant)}

    granted = None if whole is None else frozenset(whole)
    run = Run(id="r", execution=ExecutionOptions(grant=granted))
    outcome = await played(node, registry_of(echo, hidden), run)
    assert outcome.value["ok"] is reached
    assert outcome.value.get("code") == (None if reached else "tool.unavailable")


async def test_a_tool_finds_the_run_and_what_the_host_put_into_its_context() -> None:
    @tool(mode="read")
    async def look(ctx: ToolContext) -> list[Any]:
        assert ctx.run is not None
        return [ctx.run.id, ctx.run.abort.aborted, ctx.task_id, ctx.user_name]

    async def node(_state: Dict, ctx: Context) -> Dict:
        return {"out": (await ctx.tools.invoke("look")).value}

    host = SimpleNamespace(task_id="t7", user_name="ann")
    run = Run(id="r", execution=ExecutionOptions(context=host))
    assert (await played(node, registry_of(look), run)).value == ["r", False, "t7", "ann"]


async def test_the_envelope_of_a_call_holds_what_models_and_surfaces_need() -> None:
    @tool
    def write(n: int) -> dict[str, int]:
        return {"n": n}

    async def node(_state: Dict, ctx: Context) -> Dict:
        good = await ctx.tools.call("write", {"n": 1})
        bad = await ctx.tools.call("write", '{"n": "many"}')
        return {"out": [good, bad]}

    good, bad = (await played(node, registry_of(write), Run(id="r"))).value
    assert good.pop("invocation_id") != bad.pop("invocation_id")
    assert good == {"ok": True, "status": "ok", "simulated": False, "value": {"n": 1}, "text": '{"n":1}'}
    assert (bad["ok"], bad["status"], bad["simulated"]) == (False, "failed", False)
    assert {"error", "code", "hint", "text"} <= bad.keys()


async def test_a_request_may_bring_its_own_abort_logger_and_diagnostics(
    caplog: pytest.LogCaptureFixture,
) -> None:
    facts: list[str] = []
    events: list[RunEvent] = []
    abort = Abort()

    @tool(mode="read")
    async def wait(ctx: ToolContext) -> None:
        ctx.logger.warning("waiting")
        abort.set("only this call")
        await asyncio.Event().wait()

    async def node(_state: Dict, ctx: Context) -> Dict:
        scope = DiagnosticScope(lambda event, _fact, _debug: facts.append(event))
        request = ToolInvocationRequest("wait", {}, logging.getLogger("mine"), abort, scope)
        try:
            await ctx.tools.invoke(request)
        except Exception as error:  # noqa: BLE001 - looked at below
            return {"out": [getattr(error, "code", None), ctx.run.abort.aborted]}
        return {}

    outcome = await played(node, registry_of(wait), Run(id="r", listener=events.append))
    assert outcome.value == ["call.cancelled", False]
    assert facts == ["call.started", "call.finished"]
    assert [e.type for e in events if "@" in e.path] == facts
    assert ("mine", "waiting") in [(r.name, r.message) for r in caplog.records]


async def test_a_call_that_the_budget_ends_has_its_record_and_the_run_is_exhausted() -> None:
    events: list[RunEvent] = []
    hand = [0.0]

    @tool(mode="read")
    async def hang() -> None:
        hand[0] += 60
        await asyncio.Event().wait()

    async def node(_state: Dict, ctx: Context) -> Dict:
        await ctx.tools.invoke("hang")
        return {}

    run = Run(id="r", listener=events.append, clock=WorkClock(lambda: hand[0]))
    outcome = await played(node, registry_of(hang), run, Budget(seconds=0.05))
    assert (outcome.status, outcome.reason) == ("budget_exhausted", "wall_clock")
    record = next(e for e in events if e.type == "call.finished")
    assert record.data["status"] == "cancelled"
    assert "wall_clock" in record.data["failure"]["message"]
    assert [e.type for e in events][-2:] == ["budget.exhausted", "run.finished"]


async def test_calls_that_a_node_left_behind_are_waited_for_before_the_run_ends() -> None:
    order: list[str] = []
    go = asyncio.Event()

    @tool
    async def slow() -> None:
        await go.wait()
        order.append("slow ended")

    @tool
    async def broken() -> None:
        asyncio.get_running_loop().call_soon(go.set)
        raise ValueError("it is broken")

    async def node(_state: Dict, ctx: Context) -> Dict:
        await asyncio.gather(ctx.tools.invoke("slow"), ctx.tools.invoke("broken"))
        return {}

    events: list[RunEvent] = []
    outcome = await played(node, registry_of(slow, broken), Run(id="r", listener=events.append))
    assert (outcome.status, outcome.message, order) == ("failed", "it is broken", ["slow ended"])
    assert events[-1].type == "run.finished"


async def test_a_run_can_be_stopped_while_a_person_is_asked() -> None:
    asked = asyncio.Event()

    class Absent:
        async def ask(self, request: Any) -> Any:
            asked.set()
            return await asyncio.Event().wait()

    async def node(_state: Dict, ctx: Context) -> Dict:
        await ctx.tools.invoke("echo")
        return {}

    def ask(_view: Any) -> Decision:
        return Decision("ask", ("ask",))

    run = Run(id="r", execution=ExecutionOptions(approver=Absent()))
    registry = registry_of(echo, authorize=ask)
    task = asyncio.ensure_future(played(node, registry, run))
    await asked.wait()
    run.abort.set("user_stopped")
    outcome = await task
    assert (outcome.status, outcome.reason) == ("cancelled", "user_stopped")


async def test_a_round_keeps_the_tools_that_it_began_with_and_the_next_takes_the_newest() -> None:
    registry = registry_of(echo)

    async def node(state: Dict, ctx: Context) -> Dict:
        if ctx.round == 1:
            registry.register(hidden)
        envelope = await ctx.tools.call("hidden")
        return {"out": [*state.get("out", []), envelope["ok"]]}

    def twice(state: Dict) -> bool:
        return len(state["out"]) == 2

    nodes = [Node("n", node, [route.deliver("out", when=twice), route.to("n")], starts_round=True)]
    engine = WorkflowEngine(Workflow[Dict, list[bool]]("w", nodes)).bind_tools(registry)
    assert await engine.run({}) == [False, True]


async def test_a_tool_that_reports_from_a_thread_has_its_progress_among_the_events_of_its_attempt() -> None:
    events: list[RunEvent] = []

    @tool(mode="read")
    def count(ctx: ToolContext) -> int:
        for n in range(3):
            ctx.report({"at": n})
        return 3

    async def node(_state: Dict, ctx: Context) -> Dict:
        return {"out": (await ctx.tools.invoke("count")).value}

    await played(node, registry_of(count), Run(id="r", listener=events.append))
    inside = sorted((e.n, e.type) for e in events if e.path == "n#1/tool.count.1@1")
    assert [n for n, _ in inside] == [1, 2, 3, 4, 5]
    assert [type_ for _, type_ in inside].count("call.progress") == 3


async def test_a_value_that_its_record_keeps_elsewhere_is_whole_in_the_node() -> None:
    kept: list[str] = []

    class Shelf:
        def put(self, text: str) -> str:
            kept.append(text)
            return "shelf:1"

    @tool(mode="read")
    def long() -> dict[str, str]:
        return {"text": "x" * 200_000}

    async def node(_state: Dict, ctx: Context) -> Dict:
        result = await ctx.tools.invoke("long")
        return {"out": [len(result.value["text"]), len(result.text) < 150_000]}

    outcome = await played(node, registry_of(long, blobs=Shelf()), Run(id="r"))
    assert outcome.value == [200_000, True]
    assert len(kept) == 1


async def test_a_host_error_that_can_not_carry_a_record_is_still_an_envelope() -> None:
    class Bare(Exception):
        __slots__ = ()

        def __init__(self, tool_id: str) -> None:
            super().__init__(f"we do not have {tool_id}")

        def __setattr__(self, name: str, value: Any) -> None:
            if name == "invocation":
                raise AttributeError(name)
            super().__setattr__(name, value)

    async def node(_state: Dict, ctx: Context) -> Dict:
        return {"out": await ctx.tools.call("nothing")}

    registry = registry_of(echo, errors=ErrorFactories(unavailable=Bare))
    outcome = await played(node, registry, Run(id="r"))
    assert outcome.value["error"] == "we do not have nothing"
    assert (outcome.value["code"], outcome.value["status"]) == ("tool.failed", "failed")
    assert outcome.value["invocation_id"] is None


async def test_arguments_of_any_kind_are_told_apart_without_being_understood() -> None:
    async def node(_state: Dict, ctx: Context) -> Dict:
        ends = [await ctx.tools.call("echo", raw) for raw in (object(), "{no json", b"{}", {"a": {1}})]
        return {"out": [end["ok"] for end in ends]}

    assert (await played(node, registry_of(echo), Run(id="r"))).value == [False, False, True, False]


async def test_a_tool_that_asks_its_context_for_what_the_host_never_put_there_is_told_so() -> None:
    @tool(mode="read")
    async def look(ctx: ToolContext) -> str:
        return ctx.user_name

    async def node(_state: Dict, ctx: Context) -> Dict:
        return {"out": await ctx.tools.call("look")}

    outcome = await played(node, registry_of(look), Run(id="r"))
    assert (outcome.value["ok"], "user_name" in outcome.value["error"]) == (False, True)
