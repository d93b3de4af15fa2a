"""Nodes, routes, rounds and the merging of states; what is refused, and how a run that goes wrong ends."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from callboard.errors import ModelError, ToolError, WorkflowError
from callboard.events import RunEvent
from callboard.workflow import Budget, Context, Node, Run, Workflow, WorkflowEngine, route
from callboard.workflow.outcome import ended_by

Dict = dict[str, Any]


async def nothing() -> None: ...


async def inc(state: Dict) -> Dict:
    return {"n": state["n"] + 1}


def engine(
    *nodes: Node[Any], budget: Budget | None = None, salvage: str | None = None
) -> WorkflowEngine[Any, Any]:
    return WorkflowEngine(Workflow("w", nodes, salvage), budget=budget)


async def test_routes_are_asked_in_order_with_the_merged_state() -> None:
    node = Node("a", inc, [route.deliver("n", when=lambda s: s["n"] >= 3), route.to("a")], starts_round=True)
    run = Run(id="r")
    assert await engine(node).run({"n": 0, "x": 1}, run) == 3
    assert run.state == {"n": 3, "x": 1}


async def test_rounds_are_counted_and_the_budget_ends_the_run_before_the_surplus_round() -> None:
    visits: list[int] = []

    async def note(_state: Dict, ctx: Context) -> None:
        visits.append(ctx.round)

    nodes = [Node("a", note, [route.to("b")], starts_round=True), Node("b", note, [route.to("a")])]
    outcome = await engine(*nodes, budget=Budget(rounds=2)).execute({}, Run(id="r"))
    assert (outcome.status, outcome.reason, outcome.limit, outcome.rounds) == (
        "budget_exhausted",
        "max_rounds",
        2,
        2,
    )
    assert visits == [1, 1, 2, 2]


async def test_state_may_be_a_frozen_dataclass_and_a_misspelt_key_is_an_error_at_the_node() -> None:
    @dataclass(frozen=True, kw_only=True)
    class State:
        n: int = 0
        text: str | None = None

    async def part(state: State) -> Mapping[str, Any]:
        return {"n": state.n + 1}

    async def whole(state: State) -> State:
        return replace(state, text="whole")

    async def misspelt() -> Mapping[str, Any]:
        return {"txet": "no"}

    good = Workflow[State, str](
        "w", [Node("part", part, [route.to("whole")]), Node("whole", whole, [route.deliver("text")])]
    )
    run = Run(id="r")
    assert await WorkflowEngine(good).run(State(), run) == "whole"
    assert run.state == State(n=1, text="whole")
    bad = Workflow[State, str]("w", [Node("oops", misspelt, [route.deliver("text")])])
    with pytest.raises(WorkflowError, match=r"'oops' returned txet, which is not of State") as raised:
        await WorkflowEngine(bad).run(State())
    assert raised.value.code == "workflow.partial"


async def test_the_state_that_was_given_is_never_changed_in_place() -> None:
    given = {"n": 0}
    await engine(Node("a", inc, [route.deliver("n")])).run(given)
    assert given == {"n": 0}


async def test_a_partial_state_that_is_no_mapping_is_refused() -> None:
    async def wrong() -> Any:
        return [1]

    with pytest.raises(WorkflowError, match="returned list"):
        await engine(Node("a", wrong, [route.deliver("n")])).run({})


async def test_a_node_may_be_a_bound_method_a_partial_or_take_any_arguments() -> None:
    class Counter:
        async def count(self, state: Dict, ctx: Context) -> Dict:
            return {"n": state["n"] + len(ctx.path)}

    async def add(by: int, state: Dict) -> Dict:
        return {"n": state["n"] + by}

    async def any_(*args: Any) -> Dict:
        return {"n": args[0]["n"] + len(args)}

    nodes = [
        Node("m", Counter().count, [route.to("p")]),
        Node("p", partial(add, 10), [route.to("v")]),
        Node("v", any_, [route.deliver("n")]),
    ]
    assert await engine(*nodes).run({"n": 0}) == 15


async def test_a_plain_function_as_a_node_is_refused_with_the_way_to_mend_it() -> None:
    def plain() -> Dict:
        return {}

    with pytest.raises(WorkflowError, match="no coroutine function") as raised:
        await engine(Node("a", plain, [route.deliver("n")])).run({})  # pyright: ignore[reportArgumentType]
    assert raised.value.hint == "use async def"


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: Workflow("w", []), "workflow.no_nodes"),
        (lambda: Workflow("w", [Node("a", nothing, [route.to("a")])] * 2), "workflow.node_twice"),
        (lambda: Workflow("w", [Node("a", nothing, [route.to("b")])]), "workflow.no_node"),
        (lambda: Workflow("w", [Node("a", nothing, [])]), "workflow.no_route"),
        (lambda: Node("a#1", nothing, []), "workflow.node_id"),
        (lambda: Node("", nothing, []), "workflow.node_id"),
        (lambda: Node("a", "no function", []), "workflow.node_run"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_what_can_not_work_is_refused_when_it_is_made(make: Any, code: str) -> None:
    with pytest.raises(WorkflowError) as raised:
        make()
    assert raised.value.code == code


async def test_a_run_that_finds_no_route_or_no_key_fails_with_the_reason() -> None:
    lost = await engine(Node("a", inc, [route.to("a", when=lambda s: s["n"] < 0)])).execute(
        {"n": 1}, Run(id="r")
    )
    assert (lost.status, lost.reason) == ("failed", "workflow.no_route")
    keyless = await engine(Node("a", inc, [route.deliver("m")])).execute({"n": 1}, Run(id="r"))
    assert (keyless.status, keyless.reason) == ("failed", "workflow.no_key")


async def test_none_is_a_value_that_can_be_delivered() -> None:
    assert await engine(Node("a", nothing, [route.deliver("n")])).run({"n": None}) is None


async def test_a_bug_in_a_node_ends_the_run_and_run_raises_the_bug_itself() -> None:
    async def bug() -> None:
        raise ZeroDivisionError("by nought")

    outcome = await engine(Node("a", bug, [route.deliver("n")]), salvage="n").execute({"n": 7}, Run(id="r"))
    assert (outcome.status, outcome.reason, outcome.message, outcome.value) == (
        "failed",
        "node.raised",
        "ZeroDivisionError: by nought",
        7,
    )
    with pytest.raises(ZeroDivisionError, match="by nought"):
        await engine(Node("a", bug, [route.deliver("n")])).run({})


async def test_an_exhausting_route_keeps_the_partial_state_of_its_node() -> None:
    node = Node("a", inc, [route.exhaust("streak", when=lambda s: s["n"] == 2), route.to("a")])
    outcome = await engine(node, salvage="n").execute({"n": 0}, Run(id="r"))
    assert (outcome.status, outcome.reason, outcome.value) == ("budget_exhausted", "streak", 2)


async def test_a_value_that_is_no_json_is_delivered_to_the_process_that_made_it() -> None:
    async def make() -> Dict:
        return {"made": {1, 2}}

    assert await engine(Node("a", make, [route.deliver("made")])).run({}) == {1, 2}


async def test_the_events_of_a_run_in_order_with_their_identity() -> None:
    seen: list[RunEvent] = []

    async def think(_state: Dict, ctx: Context) -> Dict:
        ctx.emit("notice", code="thinking", text="...")
        ctx.transient("text.delta", agent="main", text="hm")
        return {"n": 1}

    nodes = [
        Node("a", think, [route.to("b")], description="thinks", starts_round=True),
        Node("b", nothing, [route.deliver("n")]),
    ]
    await engine(*nodes).execute({}, Run(id="r", listener=seen.append, wall=lambda: 12.5))
    assert [(e.path, e.n, e.type) for e in seen] == [
        ("", 1, "run.started"),
        ("a#1", 1, "node.started"),
        ("a#1", 2, "notice"),
        ("a#1", 0, "text.delta"),
        ("a#1", 3, "node.finished"),
        ("b#1", 1, "node.started"),
        ("b#1", 2, "node.finished"),
        ("end", 1, "run.finished"),
    ]
    assert {e.run for e in seen} == {"r"}
    assert {e.at for e in seen} == {12.5}
    assert seen[-1].data["status"] == "completed"


async def test_a_listener_that_fails_disturbs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_event: RunEvent) -> None:
        raise RuntimeError("disk full")

    assert await engine(Node("a", inc, [route.deliver("n")])).run({"n": 1}, Run(id="r", listener=broken)) == 2
    assert "disk full" in caplog.text


async def test_steps_have_ids_that_are_drawn_at_the_call_so_a_gather_is_stable() -> None:
    keys: list[str] = []

    async def node(_state: Dict, ctx: Context) -> Dict:
        async def thunk(key: str) -> str:
            keys.append(key)
            return key

        late = ctx.step("x", thunk)
        early = ctx.step("y", thunk)
        await asyncio.gather(ctx.step("x", thunk), early)
        return {"n": [await late, await ctx.now()]}

    out = await engine(Node("a", node, [route.deliver("n")])).run({}, Run(id="r", wall=lambda: 3.0))
    assert sorted(keys) == ["r a#1/x.1", "r a#1/x.2", "r a#1/y.1"]
    assert out == ["r a#1/x.1", 3.0]


async def test_two_tasks_on_one_context_are_refused() -> None:
    async def node(_state: Dict, ctx: Context) -> Dict:
        async def branch() -> None:
            await ctx.now()
            await ctx.now()

        await asyncio.gather(branch(), branch())
        return {}

    outcome = await engine(Node("a", node, [route.deliver("n")])).execute({}, Run(id="r"))
    assert (outcome.status, outcome.reason) == ("failed", "workflow.shared_context")
    assert "ctx.spawn" in (getattr(outcome.error, "hint", None) or "")


async def test_what_a_thunk_returns_is_json_in_every_life_also_in_the_first() -> None:
    async def node(_state: Dict, ctx: Context) -> Dict:
        async def pair(_key: str) -> Any:
            return {"pair": (1, 2), 3: "three"}

        return {"n": await ctx.step("pair", pair)}

    out = await engine(Node("a", node, [route.deliver("n")])).run({})
    assert out == {"pair": [1, 2], "3": "three"}


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), object()])
async def test_a_thunk_that_returns_no_json_fails_its_step(value: object) -> None:
    async def node(_state: Dict, ctx: Context) -> Dict:
        async def odd(_key: str) -> Any:
            return value

        return {"n": await ctx.step("odd", odd)}

    outcome = await engine(Node("a", node, [route.deliver("n")])).execute({}, Run(id="r"))
    assert (outcome.status, outcome.reason) == ("failed", "step.not_json")


async def test_a_thunk_that_raises_any_exception_fails_its_step_in_a_way_that_can_be_caught() -> None:
    async def node(_state: Dict, ctx: Context) -> Dict:
        async def bug(_key: str) -> Any:
            raise KeyError("k")

        try:
            await ctx.step("bug", bug)
        except WorkflowError as error:
            return {"n": [error.code, str(error), type(error.__cause__).__name__]}
        return {}

    out = await engine(Node("a", node, [route.deliver("n")])).run({})
    assert out == ["step.failed", "KeyError: 'k'", "KeyError"]


async def test_a_thunk_that_cancels_itself_is_a_failure_and_no_stop() -> None:
    async def node(_state: Dict, ctx: Context) -> Dict:
        async def odd(_key: str) -> Any:
            raise asyncio.CancelledError

        await ctx.step("odd", odd)
        return {}

    outcome = await engine(Node("a", node, [route.deliver("n")])).execute({}, Run(id="r"))
    assert (outcome.status, outcome.reason) == ("failed", "step.cancelled_itself")


def test_the_message_of_a_failed_run_says_the_next_step_unless_that_is_for_the_model() -> None:
    for error, message in (
        (ModelError("no server", hint="start it"), "no server\nhint: start it"),
        (ModelError("no server"), "no server"),
        (ToolError("no file", hint="list them"), "no file"),
    ):
        assert ended_by(error).message == message
