"""The work clock, deadlines inside awaits, aborts by type, and what ignores its cancellation."""

import asyncio
import threading
from typing import Any

import pytest

from callboard.errors import Aborted, BudgetExhausted
from callboard.types import Abort
from callboard.workflow import (
    Budget,
    Context,
    Deadline,
    Node,
    Outcome,
    Run,
    WorkClock,
    Workflow,
    WorkflowEngine,
    route,
)
from callboard.workflow.stops import Stops, bounded

Dict = dict[str, Any]


class HandClock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


async def elapsed(seconds: float) -> None:
    """Until another clock says so."""
    there = asyncio.Event()
    WorkClock().alarm(seconds, there.set)
    async with asyncio.timeout(5):
        await there.wait()


async def executed(node: Any, run: Run, budget: Budget | None = None) -> Outcome:
    workflow = Workflow("w", [Node("n", node, [route.deliver("out")])], salvage="out")
    async with asyncio.timeout(10):
        return await WorkflowEngine(workflow, budget=budget).execute({"out": "so far"}, run)


def test_the_clock_counts_work_and_stands_still_while_it_is_held() -> None:
    hand = HandClock()
    clock = WorkClock(hand)
    hand.at += 2
    assert clock.used() == 2

    async def held() -> None:
        with clock.hold():
            hand.at += 5
            with clock.hold():
                hand.at += 5
            hand.at += 5
            assert clock.used() == 2
        hand.at += 1

    asyncio.run(held())
    assert clock.used() == 3


def test_what_an_earlier_process_used_comes_back_and_never_less() -> None:
    hand = HandClock()
    clock = WorkClock(hand)
    clock.restore(30)
    hand.at += 1
    clock.restore(20)
    assert clock.used() == 31


async def test_an_alarm_waits_for_the_clock_and_can_be_taken_back() -> None:
    clock = WorkClock()
    rung = asyncio.Event()
    wrong: list[str] = []
    take_back = clock.alarm(0.01, lambda: wrong.append("taken back"))
    take_back()
    with clock.hold():
        clock.alarm(clock.used() + 0.001, rung.set)
        await elapsed(0.02)
        assert not rung.is_set()
    async with asyncio.timeout(5):
        await rung.wait()
    assert wrong == []


async def test_an_alarm_of_a_slower_clock_rings_when_that_clock_is_there() -> None:
    hand = HandClock()
    clock = WorkClock(hand)
    rung = asyncio.Event()
    clock.alarm(0.01, rung.set)
    await elapsed(0.03)
    assert not rung.is_set()
    hand.at += 1
    async with asyncio.timeout(5):
        await rung.wait()


@pytest.mark.parametrize("inside", ["step", "node"])
async def test_the_wall_clock_ends_a_run_inside_an_await(inside: str) -> None:
    never = asyncio.Event()

    async def node(_state: Dict, ctx: Context) -> Dict:
        async def thunk(_key: str) -> bool:
            return await never.wait()

        await (ctx.step("long", thunk) if inside == "step" else never.wait())
        return {"out": "never"}

    outcome = await executed(node, Run(id="r"), Budget(seconds=0.05))
    assert (outcome.status, outcome.reason, outcome.limit, outcome.value) == (
        "budget_exhausted",
        "wall_clock",
        0.05,
        "so far",
    )


async def test_a_child_is_under_the_deadline_of_its_parent() -> None:
    async def node(_state: Dict, ctx: Context) -> Dict:
        async def inner() -> Dict:
            await asyncio.Event().wait()
            return {}

        sub = Workflow("sub", [Node("i", inner, [route.deliver("out")])])
        await ctx.join({"a": ctx.sub("a", sub, {}, Budget(seconds=60))})
        return {}

    run = Run(id="r")
    outcome = await executed(node, run, Budget(seconds=0.05))
    assert (outcome.status, outcome.reason) == ("budget_exhausted", "wall_clock")
    assert next(iter(run.children.values())).task.result().reason == "wall_clock"


async def test_an_abort_from_another_thread_ends_a_run_inside_an_await() -> None:
    run = Run(id="r")

    async def node(_state: Dict, ctx: Context) -> Dict:
        async def thunk(_key: str) -> bool:
            threading.Thread(target=run.abort.set, args=("user_stopped",)).start()
            return await asyncio.Event().wait()

        await ctx.step("long", thunk)
        return {"out": "never"}

    outcome = await executed(node, run)
    assert (outcome.status, outcome.reason, outcome.value) == ("cancelled", "user_stopped", "so far")


async def test_a_run_that_was_stopped_before_it_began_enters_no_node() -> None:
    entered: list[int] = []

    async def node() -> None:
        entered.append(1)

    run = Run(id="r")
    run.abort.set()
    outcome = await executed(node, run)
    assert (outcome.status, outcome.reason, entered) == ("cancelled", "user_stopped", [])


async def test_an_except_exception_in_a_node_does_not_swallow_the_stop() -> None:
    run = Run(id="r")

    async def node(_state: Dict, ctx: Context) -> Dict:
        async def thunk(_key: str) -> None:
            run.abort.set()
            await asyncio.Event().wait()

        try:
            await ctx.step("long", thunk)
        except Exception:  # noqa: BLE001 - what the test is about
            return {"out": "swallowed"}
        return {}

    assert (await executed(node, run)).status == "cancelled"


async def test_a_thunk_that_swallows_its_cancellation_does_not_make_the_stop_vanish() -> None:
    run = Run(id="r")

    async def node(_state: Dict, ctx: Context) -> Dict:
        async def sly(_key: str) -> str:
            run.abort.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return "never mind"
            return ""

        return {"out": await ctx.step("sly", sly)}

    outcome = await executed(node, run)
    assert (outcome.status, outcome.value) == ("cancelled", "so far")


async def test_work_that_ignores_its_cancellation_is_left_behind() -> None:
    abort, release = Abort(), asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                abort.set("enough")
                await release.wait()
            except asyncio.CancelledError:
                continue

    with pytest.raises(Aborted, match="enough"):
        async with asyncio.timeout(2):
            await bounded(stubborn, Stops(abort, WorkClock()))
    release.set()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.wait(left, timeout=5) if left else None
    assert all(task.done() for task in left)


async def test_work_that_is_told_may_end_by_itself_and_its_result_counts() -> None:
    abort, told = Abort(), asyncio.Event()

    async def polite() -> str:
        abort.set("enough")
        await told.wait()
        return "finished"

    result = await bounded(
        polite, Stops(abort, WorkClock()), told=lambda _reason: told.set(), patience=lambda: 5.0
    )
    assert result == "finished"


async def test_work_never_starts_after_the_deadline() -> None:
    started: list[int] = []
    hand = HandClock()
    clock = WorkClock(hand)
    hand.at += 10

    async def work() -> None:
        started.append(1)

    with pytest.raises(BudgetExhausted, match="wall_clock"):
        await bounded(work, Stops(Abort(), clock, Deadline(5, 5)))
    assert started == []


async def test_the_loss_of_the_process_passes_through_and_takes_the_children_along() -> None:
    entered = asyncio.Event()
    run = Run(id="r")

    async def node(_state: Dict, ctx: Context) -> Dict:
        async def long(child: Run) -> Outcome:
            entered.set()
            await child.abort.wait()
            return Outcome("completed")

        await ctx.join({"a": ctx.spawn("a", long)})
        return {}

    task = asyncio.ensure_future(executed(node, run))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    child = next(iter(run.children.values()))
    assert child.task.cancelled()
    assert not child.run.abort.aborted


@pytest.mark.parametrize(("reason", "status"), [("store.unusable", "failed"), ("user_stopped", "cancelled")])
async def test_a_run_that_ends_for_want_of_a_store_has_failed(reason: str, status: str) -> None:
    abort = Abort()

    async def node(_state: Dict, ctx: Context) -> Dict:
        abort.set(reason)
        await asyncio.Event().wait()
        return {}

    outcome = await executed(node, Run(id="r", abort=abort))

    assert (outcome.status, outcome.reason, outcome.value) == (status, reason, "so far")
