"""Deadlines, aborts, cancellation, threads and locks."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from callboard import Abort, ToolContext, ToolError, ToolRegistry, tool
from callboard.events import CallStarted, ToolCallRecord
from callboard.types import ExecutionOptions

BOUND = 5.0


def registry(*tools: Any, **options: Any) -> ToolRegistry:
    return ToolRegistry(**options).register_all(tools)


def within(seconds: float) -> ExecutionOptions:
    return ExecutionOptions(deadline=seconds)


@tool(mode="read")
async def forever() -> None:
    await asyncio.Event().wait()


@pytest.mark.covers("S3-049")
async def test_a_deadline_ends_a_call_that_waits() -> None:
    async with asyncio.timeout(BOUND):
        with pytest.raises(ToolError) as caught:
            await registry(forever).invoke_async("forever", execution=within(0.05))

    record = caught.value.invocation
    assert (caught.value.code, record.status) == ("call.deadline", "failed")
    assert 0.04e9 < record.duration_ns < 1e9


async def test_many_deadlines_share_one_timer_and_each_holds() -> None:
    tools = registry(forever)
    deadlines = [0.02 * n for n in range(1, 6)] * 20

    async with asyncio.timeout(BOUND):
        calls = [tools.invoke_async("forever", execution=within(d)) for d in deadlines]
        errors = await asyncio.gather(*calls, return_exceptions=True)

    late: list[float] = []
    for error, deadline in zip(errors, deadlines, strict=True):
        assert isinstance(error, ToolError)
        late.append(error.invocation.duration_ns / 1e9 - deadline)
    assert min(late) >= -0.001
    assert max(late) < 0.5


async def test_cancelling_the_caller_rises_and_is_recorded() -> None:
    tools = registry(forever)
    call = asyncio.create_task(tools.invoke_async("forever"))
    await asyncio.sleep(0)

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert tools.events[-1].status == "cancelled"  # type: ignore[union-attr]


async def test_a_tool_that_swallows_its_cancellation_does_not_make_it_vanish() -> None:
    @tool(mode="read")
    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "I go on"
        return "never"

    tools = registry(stubborn)
    async with asyncio.timeout(BOUND):
        with pytest.raises(ToolError) as caught:
            await tools.invoke_async("stubborn", execution=within(0.05))
        call = asyncio.create_task(tools.invoke_async("stubborn"))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    assert caught.value.code == "call.deadline"
    assert [e.status for e in tools.events if isinstance(e, ToolCallRecord)] == ["failed", "cancelled"]


async def test_a_tool_that_ignores_every_cancellation_is_closed_after_its_grace() -> None:
    @tool(mode="read")
    async def deaf() -> None:
        while True:
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    began = time.monotonic()
    async with asyncio.timeout(BOUND):
        with pytest.raises(ToolError) as caught:
            await registry(deaf).invoke_async("deaf", execution=within(0.05))

    assert caught.value.code == "call.deadline"
    assert time.monotonic() - began < 3


async def test_the_surrounding_timeout_of_the_caller_is_not_disturbed() -> None:
    tools = registry(forever)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await tools.invoke_async("forever", execution=within(BOUND))
    task = asyncio.current_task()

    async with asyncio.timeout(BOUND):
        with pytest.raises(ToolError):
            await tools.invoke_async("forever", execution=within(0.03))
        await asyncio.sleep(0)

    assert task is not None
    assert task.cancelling() == 0


async def test_an_abort_from_another_thread_ends_the_call() -> None:
    abort = Abort()
    threading.Timer(0.05, abort.set, ("closing",)).start()

    async with asyncio.timeout(BOUND):
        with pytest.raises(ToolError, match="closing") as caught:
            await registry(forever).invoke_async("forever", abort=abort)

    assert caught.value.invocation.status == "cancelled"


@pytest.mark.covers("B52")
async def test_no_call_starts_after_the_abort() -> None:
    ran: list[int] = []

    @tool
    async def edit(n: int) -> None:
        ran.append(n)
        await asyncio.sleep(0)

    abort = Abort()
    tools = registry(edit)
    await tools.invoke_async("edit", {"n": 1}, abort=abort)
    abort.set()
    outcomes = await tools.invoke_batch([("edit", {"n": 2})], execution=ExecutionOptions(abort=abort))

    assert ran == [1]
    assert outcomes[0].invocation is not None
    assert outcomes[0].invocation.status == "cancelled"
    assert [e.arguments for e in tools.events if isinstance(e, CallStarted)] == ['{"n":1}']


def blocked(mode: Any) -> tuple[Any, threading.Event, threading.Event]:
    """A sync tool that waits in its thread until it is released."""
    entered, released = threading.Event(), threading.Event()

    @tool(mode=mode, serial="thread", name="blocked")
    def wait() -> str:
        entered.set()
        released.wait(BOUND)
        return "done"

    return wait, entered, released


@pytest.mark.parametrize(
    ("mode", "status", "code"), [("write", "unknown", "call.unknown"), ("read", "failed", "call.deadline")]
)
async def test_a_thread_at_its_deadline_is_unknown_for_a_write_and_keeps_its_lock(
    mode: str, status: str, code: str,
) -> None:  # fmt: skip
    wait, _, released = blocked(mode)
    tools = registry(wait)
    try:
        async with asyncio.timeout(BOUND):
            with pytest.raises(ToolError) as first:
                await tools.invoke_async("blocked", execution=within(0.05))
            with pytest.raises(ToolError) as second:
                await tools.invoke_async("blocked", execution=within(0.05))
    finally:
        released.set()
    async with asyncio.timeout(BOUND):
        third = await tools.invoke_async("blocked")

    assert (first.value.code, first.value.invocation.status) == (code, status)
    assert (second.value.code, second.value.invocation.status) == ("call.deadline", "failed")
    assert third.value == "done"


async def test_cancelling_the_caller_of_a_started_thread_write_records_unknown_and_still_rises() -> None:
    wait, entered, released = blocked("write")
    tools = registry(wait)
    try:
        call = asyncio.create_task(tools.invoke_async("blocked"))
        await asyncio.to_thread(entered.wait, BOUND)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(call, BOUND)
    finally:
        released.set()

    assert tools.events[-1].status == "unknown"  # type: ignore[union-attr]


async def test_a_write_that_never_left_the_queue_is_not_unknown() -> None:
    wait, entered, released = blocked("write")
    ran: list[int] = []

    @tool
    def queued() -> None:
        ran.append(1)

    tools = registry(wait, queued, threads=1)
    try:
        first = asyncio.create_task(tools.invoke_async("blocked"))
        await asyncio.to_thread(entered.wait, BOUND)
        with pytest.raises(ToolError) as caught:
            await tools.invoke_async("queued", execution=within(0.05))
    finally:
        released.set()
    await asyncio.wait_for(first, BOUND)

    assert (caught.value.code, caught.value.invocation.status) == ("call.deadline", "failed")
    assert ran == []


def test_a_sync_call_that_comes_late_ends_as_its_outcome_says() -> None:
    @tool
    def slow() -> str:
        threading.Event().wait(0.05)
        return "done"

    result = registry(slow).invoke("slow", execution=within(0.01))

    assert (result.value, result.invocation.status, result.invocation.late) == ("done", "ok", True)


async def test_a_thread_that_was_left_running_hears_of_it_through_its_abort() -> None:
    heard = threading.Event()

    @tool(mode="read")
    def polite(ctx: ToolContext) -> None:
        aborted = threading.Event()
        ctx.abort.subscribe(lambda _: aborted.set())
        if aborted.wait(BOUND):
            heard.set()

    async with asyncio.timeout(BOUND):
        with pytest.raises(ToolError):
            await registry(polite).invoke_async("polite", execution=within(0.05))

    assert await asyncio.to_thread(heard.wait, BOUND)


@pytest.mark.covers("B40")
async def test_two_blocking_tools_run_side_by_side_and_the_loop_goes_on() -> None:
    together = threading.Barrier(2, timeout=BOUND)

    @tool(mode="read")
    def meet() -> str:
        together.wait()
        return "met"

    gaps: list[float] = []

    async def heartbeat() -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.005)
            gaps.append(time.monotonic() - began)

    beat = asyncio.create_task(heartbeat())
    outcomes = await asyncio.wait_for(registry(meet).invoke_batch([("meet", {}), ("meet", {})]), BOUND)
    beat.cancel()

    assert [o.text for o in outcomes] == ["met", "met"]
    assert max(gaps, default=0) < 0.5


@pytest.mark.covers("B41")
async def test_a_blocking_hook_does_not_block_the_loop() -> None:
    released = threading.Event()

    def hook(_view: object) -> None:
        assert released.wait(BOUND), "the loop was blocked: nobody could release the hook"

    @tool(mode="read")
    async def quick() -> str:
        return "done"

    call = asyncio.create_task(registry(quick, before=[hook]).invoke_async("quick"))
    await asyncio.sleep(0.02)
    released.set()

    assert (await asyncio.wait_for(call, BOUND)).value == "done"


@pytest.mark.covers("B41")
async def test_a_blocking_simulation_does_not_block_the_loop() -> None:
    released = threading.Event()

    def simulate() -> str:
        return "simulated" if released.wait(BOUND) else "blocked"

    @tool(simulate=simulate)
    def save() -> str:
        return "saved"

    call = asyncio.create_task(registry(save).invoke_async("save", execution=ExecutionOptions(simulate=True)))
    await asyncio.sleep(0.02)
    released.set()

    assert (await asyncio.wait_for(call, BOUND)).value == "simulated"


async def overlaps(serial: Any, names: list[str]) -> int:
    """How many of the calls were inside at once."""
    inside = most = 0

    def make(name: str) -> Any:
        @tool(name=name, serial=serial)
        async def work() -> None:
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            inside -= 1

        return work

    tools = registry(*[make(name) for name in dict.fromkeys(names)])
    outcomes = await asyncio.wait_for(tools.invoke_batch([(name, {}) for name in names]), BOUND)
    assert all(o.ok for o in outcomes)
    return most


@pytest.mark.covers("B49")
async def test_a_serial_tool_takes_turns_and_a_named_resource_is_shared() -> None:
    assert await overlaps(False, ["a"] * 5) > 1
    assert await overlaps(True, ["a"] * 5) == 1
    assert await overlaps("goals", ["a", "b", "a", "b"]) == 1


@pytest.mark.covers("B49")
async def test_read_modify_write_tools_of_one_batch_do_not_lose_an_update() -> None:
    goals: list[str] = []

    @tool(serial="goals")
    async def create_goal(name: str) -> str:
        if goals:
            raise ToolError(f"there is a goal already: {goals[0]}", code="goal.exists")
        await asyncio.sleep(0)
        goals.append(name)
        return name

    outcomes = await registry(create_goal).invoke_batch([("create_goal", {"name": n}) for n in ("a", "b")])

    assert [o.ok for o in outcomes] == [True, False]
    assert goals == ["a"]


async def test_a_holders_own_calls_may_enter_and_siblings_inside_still_take_turns() -> None:
    inside = most = 0
    tools = ToolRegistry()

    @tool(serial="r")
    async def outer() -> None:
        outcomes = await tools.invoke_batch([("inner", {}), ("inner", {})])
        assert all(o.ok for o in outcomes)

    @tool(serial="r")
    async def inner() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        inside -= 1

    tools.register_all([outer, inner])
    await asyncio.wait_for(tools.invoke_async("outer"), BOUND)

    assert most == 1


async def test_a_sync_call_on_the_loops_thread_never_waits_for_a_lock() -> None:
    released, entered = asyncio.Event(), asyncio.Event()

    @tool(serial="r")
    async def holder() -> None:
        entered.set()
        await released.wait()

    @tool(serial="r", blocking=False)
    def wants() -> str:
        return "in"

    tools = registry(holder, wants)
    held = asyncio.create_task(tools.invoke_async("holder"))
    await entered.wait()
    with pytest.raises(ToolError) as caught:
        tools.invoke("wants")
    released.set()
    await asyncio.wait_for(held, BOUND)

    assert caught.value.code == "call.busy"
    assert tools.invoke("wants").value == "in"


def test_sync_calls_of_threads_take_turns_too() -> None:
    inside = most = 0

    @tool(serial=True)
    def work() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        threading.Event().wait(0.01)
        inside -= 1

    tools = registry(work)
    threads = [threading.Thread(target=tools.invoke, args=("work",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND)

    assert most == 1
    assert sum(isinstance(e, ToolCallRecord) and e.status == "ok" for e in tools.events) == 8


async def test_waiting_for_a_lock_ends_at_the_deadline_and_passes_the_turn_on() -> None:
    released, entered = asyncio.Event(), asyncio.Event()

    @tool(serial="r")
    async def work(wait: bool) -> str:
        if wait:
            entered.set()
            await released.wait()
        return "done"

    tools = registry(work)
    held = asyncio.create_task(tools.invoke_async("work", {"wait": True}))
    await entered.wait()
    with pytest.raises(ToolError) as caught:
        await tools.invoke_async("work", {"wait": False}, execution=within(0.05))
    after = asyncio.create_task(tools.invoke_async("work", {"wait": False}))
    await asyncio.sleep(0)
    released.set()

    assert caught.value.code == "call.deadline"
    assert (await asyncio.wait_for(after, BOUND)).value == "done"
    await held


def test_thousands_of_threads_are_not_started() -> None:
    seen: set[str] = set()
    together: Callable[[], int] = threading.active_count
    peak = 0

    @tool(mode="read")
    def work() -> None:
        nonlocal peak
        peak = max(peak, together())
        seen.add(threading.current_thread().name)

    async def many() -> None:
        await registry(work).invoke_batch([("work", None)] * 2_000)

    before = threading.active_count()
    asyncio.run(many())

    assert peak - before <= 33
