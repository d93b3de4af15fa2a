"""Cancellations, aborts and deadlines of every origin, each meant for whom it is meant for."""

# Much of what is handed over here has the wrong type on purpose.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnnecessaryTypeIgnoreComment=false, reportOptionalMemberAccess=false

import asyncio
import threading
import time
from typing import Any

import pytest

from callboard import Abort, Decision, Principal, ToolContext, ToolError, ToolRegistry, tool
from callboard.events import CallStarted
from callboard.policy import CallView
from callboard.types import ExecutionOptions
from tests.calls.surroundings import BOUND, code_of, one, records, registry


async def test_a_tool_may_use_timeouts_of_its_own_and_go_on_for_long() -> None:
    @tool(mode="read")
    async def patient() -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(5)
        except TimeoutError:
            pass
        await asyncio.sleep(1.2)
        return "done"

    result = await asyncio.wait_for(registry(patient).invoke_async("patient"), BOUND)

    assert result.value == "done"


async def test_a_failing_task_group_inside_a_tool_cancels_nobody_else() -> None:
    @tool(mode="read")
    async def group() -> int:
        async def boom() -> None:
            await asyncio.sleep(0.01)
            raise ValueError

        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(asyncio.sleep(5))
                tasks.create_task(boom())
        except* ValueError:
            pass
        return 7

    tools = registry(group)
    outcomes = await asyncio.wait_for(tools.invoke_batch([("group", {}), ("group", {})]), BOUND)

    assert [o.text for o in outcomes] == ["7", "7"]


async def test_a_caller_is_still_heard_while_a_task_group_inside_fails() -> None:
    entered = asyncio.Event()

    @tool(mode="read")
    async def group() -> str:
        async def boom() -> None:
            raise ValueError

        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(asyncio.sleep(0))
                tasks.create_task(boom())
        except* ValueError:
            pass
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "swallowed"
        return "never"

    call = asyncio.create_task(registry(group).invoke_async("group"))
    await asyncio.wait_for(entered.wait(), BOUND)
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(call, BOUND)


def fails(_reason: str) -> None:
    raise ZeroDivisionError


async def test_a_bad_listener_of_an_abort_disarms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    @tool(mode="read")
    async def forever() -> None:
        await asyncio.Event().wait()

    abort = Abort()
    abort.subscribe(fails)
    call = asyncio.create_task(registry(forever).invoke_async("forever", abort=abort))
    await asyncio.sleep(0)
    abort.set()

    assert await code_of(call) == "call.cancelled"
    assert "a listener of an abort failed" in caplog.text


def test_a_bad_listener_of_a_tools_own_abort_costs_neither_record_nor_lock() -> None:
    @tool(serial=True)
    def subscribing(ctx: ToolContext) -> None:
        ctx.abort.subscribe(fails)
        raise ValueError

    tools = registry(subscribing)
    for _ in range(2):
        with pytest.raises(ToolError, match="ValueError"):
            tools.invoke("subscribing")

    assert [r.status for r in records(tools)] == ["failed", "failed"]


def test_setting_an_abort_while_it_is_being_set_does_not_hang() -> None:
    abort = Abort()
    told: list[str] = []
    abort.subscribe(lambda _: abort.set("again"))
    abort.subscribe(told.append)

    abort.set("once")
    abort.subscribe(told.append)

    assert told == ["once", "once"]


@pytest.mark.covers("B52")
@pytest.mark.parametrize("deadline", [None, 0.1])
def test_nothing_starts_after_its_abort_or_deadline_came_while_it_was_decided(deadline: float | None) -> None:
    abort = Abort()

    def slow(_view: CallView) -> Decision:
        if deadline is None:
            abort.set()
        else:
            time.sleep(0.15)
        return Decision("allow")

    tools = registry(one, authorize=slow)
    with pytest.raises(ToolError) as caught:
        tools.invoke("one", abort=abort, execution=ExecutionOptions(deadline=deadline))

    assert caught.value.code == ("call.cancelled" if deadline is None else "call.deadline")
    assert not [e for e in tools.events if isinstance(e, CallStarted)]


@pytest.mark.parametrize(("deadline", "runs"), [(float("inf"), True), (0, False), (-1, False)])
async def test_odd_deadlines_mean_something(deadline: float, runs: bool) -> None:
    call = registry(one).invoke_async("one", execution=ExecutionOptions(deadline=deadline))

    assert (await call).value == 1 if runs else await code_of(call) == "call.deadline"


def test_a_deadline_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        ExecutionOptions(deadline=float("nan"))


@pytest.mark.parametrize("where", ["hook", "authorize", "barrier"])
async def test_whatever_waits_on_the_way_ends_with_the_call(where: str) -> None:
    async def forever(_view: object) -> Any:
        await asyncio.Event().wait()

    ways: dict[str, dict[str, Any]] = {
        "hook": {"before": [forever]},
        "authorize": {"authorize": forever},
    }
    options = ways.get(where, {})
    barrier = forever if where == "barrier" else None
    call = registry(one, **options).invoke_async(
        "one", execution=ExecutionOptions(deadline=0.05, barrier=barrier)
    )

    assert await code_of(call) == "call.deadline"


async def test_a_write_that_finished_in_the_same_moment_is_not_lost() -> None:
    done: list[int] = []

    @tool
    def write() -> int:
        time.sleep(0.02)
        done.append(1)
        return 1

    tools = registry(write)
    call = asyncio.create_task(tools.invoke_async("write"))
    await asyncio.sleep(0.005)
    time.sleep(0.1)  # noqa: ASYNC251 - the thread ends while the loop can't notice
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert done == [1]
    assert (records(tools)[-1].status, records(tools)[-1].result, records(tools)[-1].late) == (
        "ok",
        "1",
        True,
    )


def test_a_call_inside_a_call_can_do_no_more_than_the_one_around_it() -> None:
    ran: list[str] = []
    tools = ToolRegistry()

    @tool
    def inner() -> str:
        ran.append("inner")
        return "written"

    @tool(mode="read")
    def outer() -> Any:
        return tools.invoke("inner").value

    tools.register_all([inner, outer])
    rehearsed = tools.invoke("outer", execution=ExecutionOptions(simulate=True, principal=Principal("ada")))
    with pytest.raises(ToolError, match="no tool 'inner'"):
        tools.invoke("outer", execution=ExecutionOptions(grant=frozenset({"outer"})))

    assert rehearsed.value == {"ok": True, "simulated": True, "unvalidated": True}
    assert ran == []
    assert [(r.simulated, r.principal) for r in records(tools)[:2]] == [
        (True, ("ada", None)),
        (False, ("ada", None)),
    ]


async def test_calls_inside_calls_do_not_wait_for_each_others_threads_for_ever() -> None:
    tools = ToolRegistry(threads=2)

    @tool(mode="read")
    def leaf() -> int:
        return 1

    @tool(mode="read")
    def mid() -> int:
        return asyncio.run(tools.invoke_async("leaf")).value

    tools.register_all([leaf, mid])
    outcomes = await asyncio.wait_for(tools.invoke_batch([("mid", {})] * 5), BOUND)

    assert [o.text for o in outcomes] == ["1"] * 5


async def test_a_thread_that_waits_for_a_lock_gives_its_place_to_the_holder() -> None:
    tools = ToolRegistry(threads=1)
    inside = threading.Event()

    @tool(serial="db")
    def db() -> str:
        return "ok"

    @tool
    def outer() -> str:
        inside.set()
        time.sleep(0.05)
        return tools.invoke("db").value

    tools.register_all([db, outer])
    first = asyncio.create_task(tools.invoke_async("outer"))
    await asyncio.to_thread(inside.wait, BOUND)
    second = await asyncio.wait_for(tools.invoke_async("db"), BOUND)

    assert (second.value, (await asyncio.wait_for(first, BOUND)).value) == ("ok", "ok")
