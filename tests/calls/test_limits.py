"""How many calls run at once, and how many start in a time; by the clock of the test where time matters."""

import asyncio
import os
import sys
import threading
from typing import Any

import pytest

from callboard import Abort, ToolError, ToolRegistry, tool
from callboard.errors import RegistrationError
from callboard.registry import Toolset
from callboard.tools import Limit
from callboard.types import ExecutionOptions
from callboard.workers import run_program
from tests.calls.surroundings import BOUND, HandTimer, records, registry, settled


def noting(**options: Any) -> tuple[Any, list[int]]:
    started: list[int] = []

    @tool(mode="read", **options)
    async def work(n: int) -> int:
        started.append(n)
        return n

    return work, started


async def most_inside(names: list[str], **options: Any) -> int:
    inside = most = 0

    def make(name: str) -> Any:
        @tool(name=name, **options)
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
    assert all(outcome.ok for outcome in outcomes)
    return most


async def test_so_many_calls_run_at_once_and_the_others_wait() -> None:
    assert await most_inside(["a"] * 9) == 9
    assert await most_inside(["a"] * 9, concurrency=3) == 3
    assert await most_inside(["a", "b", "c"] * 3, concurrency=1) == 3


async def test_a_limit_is_shared_by_the_tools_that_were_given_it() -> None:
    shared = Limit("service", concurrency=2)
    assert await most_inside(["a", "b", "c"] * 3, limit=shared) == 2


async def test_the_surplus_enters_in_the_order_in_which_it_came() -> None:
    entered: list[int] = []
    gates = [asyncio.Event() for _ in range(6)]

    @tool(concurrency=2)
    async def work(n: int) -> None:
        entered.append(n)
        await gates[n].wait()

    tools = registry(work)
    calls = [asyncio.create_task(tools.invoke_async("work", {"n": n})) for n in range(6)]
    await settled()
    for n in (1, 0, 2, 3):
        gates[n].set()
        await settled()
    assert entered == [0, 1, 2, 3, 4, 5]
    for gate in gates:
        gate.set()
    await asyncio.gather(*calls)


async def test_a_call_that_gave_up_waiting_leaves_its_place_in_line() -> None:
    entered: list[int] = []
    release = asyncio.Event()

    @tool(concurrency=2)
    async def work(n: int) -> None:
        entered.append(n)
        await release.wait()

    tools, abort = registry(work), Abort()
    running = [asyncio.create_task(tools.invoke_async("work", {"n": n})) for n in range(2)]
    await settled()
    gone = asyncio.create_task(tools.invoke_async("work", {"n": 2}, abort=abort))
    last = asyncio.create_task(tools.invoke_async("work", {"n": 3}))
    await settled()
    abort.set()
    with pytest.raises(ToolError) as caught:
        await gone
    release.set()
    await asyncio.wait_for(asyncio.gather(*running, last), BOUND)

    assert caught.value.code == "call.cancelled"
    assert entered == [0, 1, 3]


async def test_a_call_inside_a_holder_takes_its_place_and_none_of_the_others() -> None:
    """Recursion deeper than the number of places does not wait for itself."""
    tools = ToolRegistry()

    @tool(concurrency=2)
    async def down(n: int) -> int:
        return 0 if n == 0 else 1 + (await tools.invoke_async("down", {"n": n - 1})).value

    tools.register(down)
    results = await asyncio.wait_for(tools.invoke_batch([("down", {"n": 8}), ("down", {"n": 8})] * 2), BOUND)

    assert [outcome.result and outcome.result.value for outcome in results] == [8] * 4


async def test_siblings_inside_a_holder_share_what_is_free() -> None:
    inside = most = 0
    tools = ToolRegistry()
    shared = Limit("r", concurrency=2)

    @tool(limit=shared)
    async def outer() -> None:
        outcomes = await tools.invoke_batch([("inner", None)] * 4)
        assert all(outcome.ok for outcome in outcomes)

    @tool(limit=shared)
    async def inner() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        inside -= 1

    tools.register_all([outer, inner])
    await asyncio.wait_for(tools.invoke_async("outer"), BOUND)

    assert most == 2


def test_threads_share_the_places_of_a_tool() -> None:
    inside = most = 0
    guard = threading.Lock()

    @tool(concurrency=3)
    def work() -> None:
        nonlocal inside, most
        with guard:
            inside += 1
            most = max(most, inside)
        threading.Event().wait(0.005)
        with guard:
            inside -= 1

    tools = registry(work)
    threads = [threading.Thread(target=tools.invoke, args=("work",)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND)

    assert most <= 3
    assert [record.status for record in records(tools)] == ["ok"] * 12


async def test_a_rate_starts_so_many_and_the_others_when_the_time_has_passed() -> None:
    work, started = noting(rate="2/10s")
    timer = HandTimer()
    tools = registry(work, timer=timer)
    calls = [asyncio.create_task(tools.invoke_async("work", {"n": n})) for n in range(5)]

    await settled()
    assert started == [0, 1]
    timer.move(9.9)
    await settled()
    assert started == [0, 1]
    timer.move(0.2)
    await settled()
    assert started == [0, 1, 2, 3]
    timer.move(10)
    await asyncio.wait_for(asyncio.gather(*calls), BOUND)
    assert started == [0, 1, 2, 3, 4]
    assert timer.waiting == 0


async def test_in_no_stretch_of_its_time_does_a_rate_let_more_start() -> None:
    timer = HandTimer()
    moments: list[float] = []

    @tool(mode="read", rate="3/10s")
    async def work() -> None:
        moments.append(timer.now())

    tools = registry(work, timer=timer)
    calls: list[Any] = []
    for step in range(60):
        calls += [asyncio.create_task(tools.invoke_async("work")) for _ in range(step % 3)]
        await settled()
        timer.move(1)
        await settled()
    while len(moments) < len(calls):
        timer.move(1)
        await settled()

    assert timer.waiting == 0
    assert all(later - earlier >= 10 for earlier, later in zip(moments, moments[3:], strict=False))


async def test_what_a_rate_can_not_start_before_the_deadline_is_said_at_once() -> None:
    work, started = noting(rate="1/min")
    timer = HandTimer()
    tools = registry(work, timer=timer)
    await tools.invoke_async("work", {"n": 0})
    waits = asyncio.create_task(
        tools.invoke_async("work", {"n": 1}, execution=ExecutionOptions(deadline=100))
    )
    await settled()
    with pytest.raises(ToolError) as caught:
        await tools.invoke_async("work", {"n": 2}, execution=ExecutionOptions(deadline=100))

    assert caught.value.code == "call.rate_limited"
    assert caught.value.hint == "try again in 120 s"
    assert records(tools)[-1].failure is not None
    timer.move(60)
    await asyncio.wait_for(waits, BOUND)
    assert started == [0, 1]


async def test_who_waits_behind_a_call_that_gave_up_moves_up() -> None:
    work, started = noting(rate="1/min")
    timer = HandTimer()
    tools, abort = registry(work, timer=timer), Abort()
    await tools.invoke_async("work", {"n": 0})
    gone = [asyncio.create_task(tools.invoke_async("work", {"n": n}, abort=abort)) for n in range(1, 4)]
    await settled()
    last = asyncio.create_task(tools.invoke_async("work", {"n": 9}))
    await settled()
    abort.set()
    outcomes = await asyncio.gather(*gone, return_exceptions=True)
    timer.move(60)
    await asyncio.wait_for(last, BOUND)

    assert started == [0, 9]
    assert [getattr(outcome, "code", None) for outcome in outcomes] == ["call.cancelled"] * 3
    assert timer.waiting == 0


async def test_a_sync_call_never_waits_for_a_rate_on_the_loops_thread() -> None:
    @tool(mode="read", rate="1/min", blocking=False)
    def work() -> str:
        return "done"

    tools = registry(work, timer=HandTimer())
    assert tools.invoke("work").value == "done"
    with pytest.raises(ToolError) as caught:
        tools.invoke("work")

    assert caught.value.code == "call.busy"


def test_a_sync_call_waits_for_a_rate_in_its_thread() -> None:
    timer = HandTimer()
    ended = threading.Event()

    @tool(mode="read", rate="1/min")
    def work() -> str:
        return "done"

    tools = registry(work, timer=timer)
    tools.invoke("work")

    def second() -> None:
        tools.invoke("work")
        ended.set()

    thread = threading.Thread(target=second)
    thread.start()
    with timer.changed:
        assert timer.changed.wait_for(lambda: timer.waiting == 1, BOUND)
    assert not ended.is_set()
    timer.move(60)
    assert ended.wait(BOUND)
    thread.join(BOUND)


def test_a_sync_call_that_waits_for_a_rate_ends_with_its_abort() -> None:
    timer, abort = HandTimer(), Abort()

    @tool(mode="read", rate="1/min")
    def work() -> None: ...

    tools = registry(work, timer=timer)
    tools.invoke("work")

    def stop() -> None:
        with timer.changed:
            timer.changed.wait_for(lambda: timer.waiting == 1, BOUND)
        abort.set()

    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(ToolError) as caught:
        tools.invoke("work", abort=abort)
    stopper.join(BOUND)

    assert caught.value.code == "call.cancelled"
    assert timer.waiting == 0


def test_the_process_own_clock_lets_what_waited_start() -> None:
    @tool(mode="read", rate="1/s", limit=Limit("both", concurrency=1))
    def work() -> None: ...

    tools = registry(work)
    tools.invoke("work")
    tools.invoke("work", execution=ExecutionOptions(deadline=BOUND))

    first, second = records(tools)
    assert second.started_ns + second.duration_ns - first.started_ns >= 0.95e9


async def test_a_place_is_given_back_when_the_rate_refuses() -> None:
    @tool(mode="read", concurrency=1, rate="1/min")
    async def work() -> None: ...

    timer = HandTimer()
    tools = registry(work, timer=timer)
    await tools.invoke_async("work")
    with pytest.raises(ToolError):
        await tools.invoke_async("work", execution=ExecutionOptions(deadline=1))
    timer.move(60)
    await asyncio.wait_for(tools.invoke_async("work"), BOUND)


async def test_a_shared_rate_counts_the_calls_of_all_its_tools() -> None:
    shared = Limit("service", rate="2/min")
    first, started = noting(name="first", limit=shared)
    second, also = noting(name="second", limit=shared)
    timer = HandTimer()
    tools = registry(first, second, timer=timer)
    calls = [asyncio.create_task(tools.invoke_async(name, {"n": 1})) for name in ("first", "second", "first")]
    await settled()
    assert (started, also) == ([1], [1])
    timer.move(60)
    await asyncio.wait_for(asyncio.gather(*calls), BOUND)


def test_what_limits_nothing_or_twice_is_refused_by_name() -> None:
    def refused(match: str, **options: Any) -> None:
        with pytest.raises(RegistrationError, match=match):
            registry(tool(name="t", **options)(lambda: 1))

    refused("tool 't': rate is 'fast'", rate="fast")
    refused("lets nothing start", rate="0/min")
    refused("rate is 10", rate=10)
    refused("concurrency is 0", concurrency=0)
    refused("concurrency is True", concurrency=True)
    refused("its limit is str", limit="service")
    refused("twice: one call at a time, and 3 calls at a time", serial=True, concurrency=3)
    refused("twice", concurrency=3, limit=Limit("s", concurrency=2))
    refused("a rate of its own", rate="1/s", limit=Limit("s", rate="1/s"))
    with pytest.raises(RegistrationError, match="limits nothing"):
        Limit("s")
    with pytest.raises(RegistrationError, match="can't be called"):
        Limit("", concurrency=1)
    with pytest.raises(RegistrationError, match="limit 's': rate is"):
        Limit("s", rate="1/fortnight")


def test_tools_that_mean_something_else_by_a_shared_name_are_refused_all_or_nothing() -> None:
    tools = ToolRegistry().register(tool(name="a", limit=Limit("s", concurrency=2))(lambda: 1))
    other = tool(name="b", limit=Limit("s", concurrency=3))(lambda: 1)
    alone = tool(name="c", serial="s")(lambda: 1)
    for stranger in (other, alone):
        with pytest.raises(RegistrationError, match="tool 'a' has 2 calls of 's'") as caught:
            tools.register_all([tool(name="d")(lambda: 1), stranger])
        assert caught.value.code == "tool.limit_differs"
    assert tools.ids() == ("a",)

    tools.register_toolset(Toolset("x", [tool(name="e", limit=Limit("t", rate="1/s"))(lambda: 1)]), owner="x")
    tools.unregister_owner("x")
    tools.register(tool(name="e", limit=Limit("t", rate="2/s"))(lambda: 1))


async def test_a_mapping_takes_the_same_limits_and_a_prefix_keeps_a_tools_own_apart() -> None:
    started: list[str] = []

    def same(value: Any) -> Any:
        return value

    def made(name: str) -> dict[str, Any]:
        return {
            "id": name,
            "kind": "read",
            "parse_input": same,
            "execute": lambda: started.append(name),
            "parse_output": same,
            "blocking": False,
            "rate": "1/min",
        }

    tools = ToolRegistry(timer=HandTimer())
    for prefix in ("x", "y"):
        tools.register_toolset(Toolset(prefix, [made("t")], prefix=prefix))
    await tools.invoke_async("x-t")
    await tools.invoke_async("y-t")
    with pytest.raises(ToolError) as caught:
        await tools.invoke_async("x-t", execution=ExecutionOptions(deadline=5))

    assert caught.value.code == "call.rate_limited"
    assert started == ["t", "t"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_waits_for_a_rate_by_a_clock_of_its_own() -> None:
    """The parent's thread of the clock is not there; what the parent held and counted is forgotten."""
    program = (
        "import os, sys, threading, warnings; warnings.simplefilter('ignore')\n"
        "from callboard import ToolRegistry, tool\n"
        "tools = ToolRegistry().register(tool(serial=True, rate='5/s', name='one')(lambda: 1))\n"
        "call = lambda: sum(tools.invoke('one').value for _ in range(6))\n"
        "call()\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(call())\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = asyncio.run(run_program(sys.executable, "-c", program))

    assert done.exit_code == 6, done.stderr


async def test_thousands_of_calls_that_wait_all_have_their_turn() -> None:
    done = 0

    @tool(mode="read", concurrency=7, limit=Limit("all", rate="1000000/s"))
    async def work() -> None:
        nonlocal done
        await asyncio.sleep(0)
        done += 1

    outcomes = await asyncio.wait_for(registry(work).invoke_batch([("work", None)] * 3_000), BOUND * 3)

    assert all(outcome.ok for outcome in outcomes)
    assert done == 3_000


class Inside:
    """How many are in, and how many were at most."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._now = self.most = 0

    def enter(self) -> None:
        with self._guard:
            self._now += 1
            self.most = max(self.most, self._now)

    def leave(self) -> None:
        with self._guard:
            self._now -= 1


def test_places_are_never_taken_twice_by_threads_and_loops_together() -> None:
    inside = Inside()

    @tool(mode="read", limit=Limit("s", concurrency=3))
    async def on_a_loop() -> None:
        inside.enter()
        await asyncio.sleep(0)
        inside.leave()

    @tool(mode="read", limit=Limit("s", concurrency=3))
    def in_a_thread() -> None:
        inside.enter()
        inside.leave()

    tools = registry(on_a_loop, in_a_thread)

    def loop() -> None:
        async def calls() -> None:
            outcomes = await tools.invoke_batch([("on_a_loop", None), ("in_a_thread", None)] * 20)
            assert all(outcome.ok for outcome in outcomes)

        asyncio.run(asyncio.wait_for(calls(), BOUND))

    def thread() -> None:
        for _ in range(40):
            tools.invoke("in_a_thread")

    workers = [threading.Thread(target=target) for target in (loop, thread) * 3]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(BOUND * 2)

    assert not [worker for worker in workers if worker.is_alive()]
    assert {record.status for record in records(tools)} == {"ok"}
    assert len(records(tools)) == 3 * 40 + 3 * 40
    assert inside.most <= 3


async def test_a_registry_that_was_derived_shares_the_limits() -> None:
    work, started = noting(rate="1/min")
    tools = registry(work, timer=HandTimer())
    await tools.invoke_async("work", {"n": 1})
    with pytest.raises(ToolError) as caught:
        await tools.pinned().invoke_async("work", {"n": 2}, execution=ExecutionOptions(deadline=5))

    assert (caught.value.code, started) == ("call.rate_limited", [1])
