"""Seed 003's second example: tools are bound once, before the run, and nodes find them."""

import asyncio
from collections.abc import Mapping
from typing import Any, TypedDict, assert_type

import pytest

from callboard.errors import Aborted, BudgetExhausted, ToolError, WorkflowError
from callboard.registry import ToolRegistry
from callboard.types import Abort, ToolInvocationRequest
from callboard.workflow import Budget, Context, Node, Run, Workflow, WorkflowEngine, route


class State(TypedDict, total=False):
    answer: object
    kept: str


async def _status() -> str:
    return "服务运行正常"


def _nothing() -> dict[str, Any]:
    return {}


def _unchanged(value: object) -> object:
    return value


def _tools() -> ToolRegistry[Any]:
    status: dict[str, Any] = {
        "id": "get_status",
        "kind": "read",
        "parse_input": _nothing,
        "execute": _status,
        "parse_output": _unchanged,
    }
    registry: ToolRegistry[Any] = ToolRegistry()
    return registry.register(status).seal()


async def _read(_state: State, ctx: Context) -> State:
    result = await ctx.tools.invoke(ToolInvocationRequest("get_status", {}))
    return {"answer": result.value}


@pytest.mark.covers("S3-081", "S3-082", "S3-083", "S3-084", "S3-086", "S3-087", "S3-088", "S3-089", "S3-063")
async def test_the_example_runs_as_it_stands() -> None:
    workflow = Workflow[State, object](
        id="status",
        nodes=[
            Node(
                id="read",
                description="读取状态",
                starts_round=True,
                run=_read,
                routes=[route.deliver("answer")],
            ),
        ],
    )
    engine = WorkflowEngine(workflow)
    agent = engine.bind_tools(_tools())
    assert agent is engine
    assert await agent.run({}) == "服务运行正常"


@pytest.mark.covers("S3-081")
async def test_state_and_result_are_typed() -> None:
    async def count(state: Mapping[str, int]) -> Mapping[str, int]:
        return {"n": state["n"] + 1}

    workflow = Workflow[Mapping[str, int], int]("count", [Node("count", count, [route.deliver("n")])])
    engine = WorkflowEngine(workflow)
    assert_type(engine, WorkflowEngine[Mapping[str, int], int])
    assert_type(await engine.run({"n": 1}), int)
    with pytest.raises(TypeError):
        await engine.run("no state")  # pyright: ignore[reportArgumentType]


@pytest.mark.covers("S3-081")
def test_a_node_for_another_state_is_seen_by_the_type_checker() -> None:
    async def other(state: set[int]) -> None: ...

    made = Workflow[Mapping[str, int], int](
        "w",
        [Node("a", other, [route.deliver("n")])],  # pyright: ignore[reportArgumentType]
    )
    assert made.nodes[0].takes == 1


@pytest.mark.covers("S3-083")
async def test_what_a_node_returns_is_merged_and_the_rest_stays() -> None:
    async def whole(state: State) -> State:
        return {"answer": dict(state)}

    nodes = [Node("read", _read, [route.to("whole")]), Node("whole", whole, [route.deliver("answer")])]
    engine = WorkflowEngine(Workflow[State, object]("w", nodes)).bind_tools(_tools())
    assert await engine.run({"kept": "yes"}) == {"kept": "yes", "answer": "服务运行正常"}


@pytest.mark.covers("S3-085")
async def test_two_nodes_use_the_same_binding() -> None:
    async def again(state: State, ctx: Context) -> State:
        return {"answer": [state.get("answer"), (await ctx.tools.invoke("get_status")).value]}

    nodes = [Node("read", _read, [route.to("again")]), Node("again", again, [route.deliver("answer")])]
    engine = WorkflowEngine(Workflow[State, object]("w", nodes)).bind_tools(_tools())
    assert await engine.run({}) == ["服务运行正常"] * 2


@pytest.mark.covers("S3-084")
async def test_sync_and_async_tools_are_awaited_alike_and_give_a_receipt() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    async def mul(a: int, b: int) -> int:
        await asyncio.sleep(0)
        return a * b

    async def both(_state: State, ctx: Context) -> State:
        one, two = await asyncio.gather(
            ctx.tools.invoke("add", {"a": 2, "b": 3}), ctx.tools.invoke("mul", '{"a": 2, "b": 3}')
        )
        assert one.invocation.tool_id == "add"
        assert one.invocation.status == "ok"
        assert one.invocation.invocation_id != two.invocation.invocation_id
        assert one.invocation.result == "5"
        return {"answer": [one.value, two.value, one.text]}

    registry: ToolRegistry[Any] = ToolRegistry()
    registry.register_all([add, mul])
    workflow = Workflow[State, object]("w", [Node("both", both, [route.deliver("answer")])])
    assert await WorkflowEngine(workflow).bind_tools(registry).run({}) == [5, 6, "5"]


@pytest.mark.covers("S3-084")
async def test_a_call_that_fails_raises_with_its_receipt_and_ends_the_run_unless_it_is_caught() -> None:
    def broken() -> str:
        raise ToolError("no paper", code="printer.paper", hint="add some")

    async def careful(_state: State, ctx: Context) -> State:
        try:
            await ctx.tools.invoke("broken")
        except ToolError as error:
            return {"answer": [error.code, str(error), error.hint, error.invocation.status]}
        return {}

    async def careless(_state: State, ctx: Context) -> State:
        return {"answer": (await ctx.tools.invoke("broken")).value}

    registry: ToolRegistry[Any] = ToolRegistry()
    registry.register(broken)

    def engine(run: Any) -> WorkflowEngine[State, object]:
        workflow = Workflow[State, object]("w", [Node("a", run, [route.deliver("answer")])])
        return WorkflowEngine(workflow).bind_tools(registry)

    assert await engine(careful).run({}) == ["printer.paper", "no paper", "add some", "failed"]
    with pytest.raises(ToolError, match="no paper") as raised:
        await engine(careless).run({})
    assert raised.value.invocation.tool_id == "broken"
    outcome = await engine(careless).execute({}, Run(id="r"))
    assert (outcome.status, outcome.reason, outcome.message) == ("failed", "printer.paper", "no paper")


async def test_run_raises_by_type_for_each_way_to_end() -> None:
    async def nothing() -> None: ...

    def engine(way: Any, budget: Budget | None = None) -> WorkflowEngine[Any, Any]:
        return WorkflowEngine(Workflow("w", [Node("a", nothing, [way], starts_round=True)]), budget=budget)

    with pytest.raises(WorkflowError, match="out of paper") as failed:
        await engine(route.fail("no_paper", "out of paper")).run({})
    assert failed.value.code == "no_paper"
    with pytest.raises(BudgetExhausted, match="too_often"):
        await engine(route.exhaust("too_often")).run({})
    with pytest.raises(BudgetExhausted) as exhausted:
        await engine(route.to("a"), Budget(rounds=3)).run({})
    assert (exhausted.value.reason, exhausted.value.limit) == ("max_rounds", 3)
    abort = Abort()
    abort.set("enough")
    with pytest.raises(Aborted, match="enough"):
        await engine(route.to("a")).run({}, Run(id="r", abort=abort))


async def test_a_node_without_a_registry_says_how_to_bind_one() -> None:
    engine = WorkflowEngine(Workflow[State, object]("w", [Node("read", _read, [route.deliver("answer")])]))
    with pytest.raises(WorkflowError) as raised:
        await engine.run({})
    assert raised.value.code == "workflow.no_tools"
    assert "bind_tools" in (raised.value.hint or "")
