"""Branches: their ids, limits, joins, failures, and that none outlives its run."""

import asyncio
from typing import Any

import pytest

from callboard.errors import BudgetExhausted, ToolError, WorkflowError
from callboard.events import RunEvent
from callboard.workflow import Budget, Context, Node, Outcome, Run, Workflow, WorkflowEngine, route

Dict = dict[str, Any]


async def played(node: Any, run: Run | None = None, salvage: str | None = None) -> Outcome:
    """The outcome of a run of one node that delivers `out`."""
    workflow = Workflow("w", [Node("n", node, [route.deliver("out")])], salvage)
    async with asyncio.timeout(10):
        return await WorkflowEngine(workflow).execute({}, run or Run(id="r"))


def giving(value: Any) -> Any:
    async def body(_run: Run) -> Outcome:
        return Outcome("completed", value)

    return body


async def forever(run: Run) -> Outcome:
    await run.abort.wait()
    run.abort.check()
    return Outcome("completed")


async def test_children_have_runs_of_their_own_and_come_back_in_the_order_given() -> None:
    seen: list[RunEvent] = []

    async def node(_state: Dict, ctx: Context) -> Dict:
        first, second = asyncio.Event(), asyncio.Event()

        async def slow(run: Run) -> Outcome:
            await first.wait()
            return Outcome("completed", run.id)

        async def quick(run: Run) -> Outcome:
            first.set()
            return Outcome("completed", run.id)

        children = {"slow": ctx.spawn("slow", slow), "quick": ctx.spawn("quick", quick)}
        outcomes = await ctx.join(children)
        second.set()
        return {"out": {key: outcome.value for key, outcome in outcomes.items()}}

    outcome = await played(node, Run(id="r", listener=seen.append))
    assert outcome.value == {"slow": "r/n#1/slow", "quick": "r/n#1/quick"}
    assert list(outcome.value) == ["slow", "quick"]
    started = [e for e in seen if e.type == "child.started"]
    assert [(e.run, e.path, e.data["child"]) for e in started] == [
        ("r", "n#1", "r/n#1/slow"),
        ("r", "n#1", "r/n#1/quick"),
    ]
    ends = [(e.run, e.path, e.n) for e in seen if e.type == "run.finished"]
    assert ends == [("r/n#1/quick", "end", 1), ("r/n#1/slow", "end", 1), ("r", "end", 1)]


async def test_a_workflow_as_a_child_has_its_own_budget_and_parent() -> None:
    async def inner(state: Dict, ctx: Context) -> Dict:
        assert ctx.run.parent is not None
        return {"text": f"{state['text']}!", "by": ctx.run.parent.id}

    sub = Workflow("sub", [Node("i", inner, [route.to("i")], starts_round=True)], salvage="text")

    async def node(_state: Dict, ctx: Context) -> Dict:
        child = ctx.sub("one", sub, {"text": "hey"}, Budget(rounds=2))
        return {"out": (await ctx.join({"it": child}, on_error="collect"))["it"].to_json()}

    outcome = await played(node)
    assert outcome.value == {
        "status": "budget_exhausted",
        "value": "hey!!",
        "reason": "max_rounds",
        "message": "the budget is used up: max_rounds (2)",
        "rounds": 2,
        "limit": 2,
    }


async def test_the_first_child_that_fails_cancels_its_siblings_and_fails_the_node() -> None:
    ended: list[str | None] = []

    async def node(_state: Dict, ctx: Context) -> Dict:
        async def bad(_run: Run) -> Outcome:
            raise WorkflowError("no luck", code="boom")

        async def long(run: Run) -> Outcome:
            try:
                return await forever(run)
            finally:
                ended.append(run.abort.reason)

        await ctx.join({"long": ctx.spawn("long", long), "bad": ctx.spawn("bad", bad)})
        return {}

    outcome = await played(node)
    assert (outcome.status, outcome.reason, outcome.message) == (
        "failed",
        "boom",
        "child bad failed: no luck",
    )
    assert ended == ["sibling_failed"]


async def test_collecting_keeps_what_succeeded_beside_what_failed() -> None:
    async def node(_state: Dict, ctx: Context) -> Dict:
        async def bug(_run: Run) -> Outcome:
            raise ZeroDivisionError("nought")

        async def broke(_run: Run) -> Outcome:
            raise ToolError("no", code="tool.broke")

        async def spent(_run: Run) -> Outcome:
            raise BudgetExhausted("tokens", 5)

        bodies = {"good": giving(1), "bug": bug, "broke": broke, "spent": spent, "odd": giving({1})}
        children = {key: ctx.spawn(key, body) for key, body in bodies.items()}
        outcomes = await ctx.join(children, on_error="collect")
        return {"out": [[o.status, o.reason, o.value] for o in outcomes.values()]}

    assert (await played(node)).value == [
        ["completed", None, 1],
        ["failed", "node.raised", None],
        ["failed", "tool.broke", None],
        ["budget_exhausted", "tokens", None],
        ["failed", "step.not_json", None],
    ]


async def test_a_limit_is_shared_by_the_whole_tree_and_the_surplus_waits() -> None:
    now = peak = ran = 0

    async def node(_state: Dict, ctx: Context) -> Dict:
        async def job(_run: Run) -> Outcome:
            nonlocal now, peak, ran
            now, ran = now + 1, ran + 1
            peak = max(peak, now)
            for _ in range(3):
                await asyncio.sleep(0)
            now -= 1
            return Outcome("completed")

        async def inner(_state: Dict, ctx: Context) -> Dict:
            limit = ctx.run.limit("jobs", 2)
            await ctx.join({str(n): ctx.spawn(str(n), job, limit=limit) for n in range(4)})
            return {"out": 1}

        sub = Workflow("sub", [Node("i", inner, [route.deliver("out")])])
        await ctx.join({key: ctx.sub(key, sub, {}) for key in ("a", "b")})
        return {"out": 0}

    assert (await played(node)).status == "completed"
    assert (peak, ran) == (2, 8)


async def test_a_limit_can_not_change_its_size_and_is_never_waited_for_by_who_holds_it() -> None:
    async def node(_state: Dict, ctx: Context) -> Dict:
        limit = ctx.run.limit("jobs", 1)
        with pytest.raises(WorkflowError) as differs:
            ctx.run.limit("jobs", 2)
        assert differs.value.code == "workflow.limit_differs"

        async def inner(_state: Dict, ctx: Context) -> Dict:
            ctx.spawn("x", giving(1), limit=ctx.run.limit("jobs", 1))
            return {}

        sub = Workflow("sub", [Node("i", inner, [route.deliver("out")])])
        await ctx.join({"a": ctx.sub("a", sub, {}, limit=limit)})
        return {}

    outcome = await played(node)
    assert (outcome.status, outcome.reason) == ("failed", "workflow.limit_nested")


@pytest.mark.parametrize("key", ["", "a b", "a/b", "a.1", "ä" * 3, "x" * 101])
async def test_a_key_of_another_form_is_refused(key: str) -> None:
    async def node(_state: Dict, ctx: Context) -> Dict:
        ctx.spawn(key, giving(1))
        return {}

    outcome = await played(node)
    assert (outcome.status, outcome.reason) == ("failed", "workflow.child_key")


async def test_a_key_is_used_once_in_a_visit_and_a_background_key_once_in_a_run() -> None:
    async def node(_state: Dict, ctx: Context) -> Dict:
        await ctx.join({"a": ctx.spawn("a", giving(1)), "b": ctx.spawn("a", giving(1), background=True)})
        with pytest.raises(WorkflowError) as twice:
            ctx.spawn("a", giving(1), background=True)
        assert twice.value.code == "workflow.child_twice"
        return {"out": sorted(child.id for child in ctx.run.children.values())}

    assert (await played(node)).value == ["r/a", "r/n#1/a"]


async def test_a_background_child_outlives_its_node_but_not_its_run() -> None:
    reasons: list[str | None] = []

    async def start(_state: Dict, ctx: Context) -> None:
        async def long(run: Run) -> Outcome:
            try:
                return await forever(run)
            finally:
                reasons.append(run.abort.reason)

        ctx.spawn("scout", long, background=True)
        await asyncio.sleep(0)

    async def end() -> Dict:
        assert reasons == []
        return {"out": 1}

    workflow = Workflow("w", [Node("s", start, [route.to("e")]), Node("e", end, [route.deliver("out")])])
    run = Run(id="r")
    assert await WorkflowEngine(workflow).run({}, run) == 1
    assert reasons == ["run_ended"]
    assert run.children["scout"].task.result() == Outcome("cancelled", reason="run_ended")


async def test_cancelling_and_looking_at_children() -> None:
    async def node(_state: Dict, ctx: Context) -> Dict:
        children = {"quick": ctx.spawn("quick", giving(1)), "long": ctx.spawn("long", forever)}
        await ctx.join({"quick": children["quick"]})
        seen = await ctx.ended(children)
        cancelled = await ctx.cancel(children["long"], "enough")
        outcomes = await ctx.join(children, on_error="collect")
        again = await ctx.cancel(children["long"])
        return {"out": [seen, cancelled, again, outcomes["long"].reason]}

    assert (await played(node)).value == [["quick"], True, False, "enough"]


async def test_stopping_a_run_stops_its_children_with_the_same_reason() -> None:
    run = Run(id="r")

    async def node(_state: Dict, ctx: Context) -> Dict:
        child = ctx.spawn("long", forever)
        asyncio.get_running_loop().call_soon(run.abort.set, "user_stopped")
        await ctx.join({"long": child}, on_error="collect")
        return {"out": "never"}

    outcome = await played(node, run)
    assert (outcome.status, outcome.reason) == ("cancelled", "user_stopped")
    assert next(iter(run.children.values())).task.result().reason == "user_stopped"


async def test_a_child_that_waits_for_its_slot_can_be_cancelled() -> None:
    async def node(_state: Dict, ctx: Context) -> Dict:
        limit = ctx.run.limit("one", 1)
        holder = ctx.spawn("holder", forever, limit=limit)
        await asyncio.sleep(0)
        waiter = ctx.spawn("waiter", giving(1), limit=limit)
        await asyncio.sleep(0)
        await ctx.cancel(waiter, "not needed")
        ends = await ctx.join({"waiter": waiter}, on_error="collect")
        await ctx.cancel(holder)
        return {"out": ends["waiter"].reason}

    assert (await played(node)).value == "not needed"
