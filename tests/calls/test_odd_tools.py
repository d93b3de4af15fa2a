"""Tools that raise, return and report odd things; threads, forks and loops that go away."""

# Much of what is handed over here has the wrong type on purpose.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnnecessaryTypeIgnoreComment=false, reportOptionalMemberAccess=false

import asyncio
import gc
import os
import sys
import threading
import weakref
from typing import Any

import pytest

from callboard import ToolContext, ToolError, ToolRegistry, tool
from callboard.conversation import Text
from callboard.errors import Aborted
from callboard.events import CallProgress, ToolCallRecord
from callboard.registry import Toolset
from callboard.types import ErrorFactories, ExecutionOptions
from callboard.workers import run_program
from tests.calls.surroundings import BOUND, boom, code_of, one, records, registry


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError

    @property
    def hint(self) -> str:
        raise RuntimeError


class Odd(BaseException):
    pass


@pytest.mark.parametrize(
    "raised", [Mute(), Odd("odd"), StopIteration("stop"), ValueError("\ud800"), Aborted("x")]
)
@pytest.mark.parametrize("blocking", [True, False])
async def test_whatever_a_tool_raises_ends_in_one_record_and_an_answer(
    raised: BaseException, blocking: bool
) -> None:
    @tool(blocking=blocking)
    def odd() -> None:
        raise raised

    tools = registry(odd)
    outcome = (await tools.invoke_batch([("odd", {})]))[0]

    assert '"ok":false' in outcome.text
    assert [type(e).__name__ for e in tools.events] == ["CallStarted", "ToolCallRecord"]
    assert records(tools)[0].failure is not None
    assert records(tools)[0].failure.message


@pytest.mark.covers("B57")
@pytest.mark.parametrize(
    ("raised", "shown"),
    [
        ("no postgres://u:pa/ss@h/db", "no postgres://***@h/db"),
        ("http://u:p@ss@h is down", "http://***@h is down"),
        ("see http://h/x?y=1", "see http://h/x?y=1"),
    ],
)
def test_credentials_are_masked_whatever_they_hold(raised: str, shown: str) -> None:
    @tool
    def fail() -> None:
        raise RuntimeError(raised)

    with pytest.raises(ToolError) as caught:
        registry(fail).invoke("fail")

    assert str(caught.value) == shown


async def test_progress_never_fails_its_tool_and_is_silent_after_the_end() -> None:
    kept: list[ToolContext] = []
    loop: list[Any] = []
    loop.append(loop)

    @tool(mode="read")
    def talk(ctx: ToolContext) -> str:
        kept.append(ctx)
        for value in ("\ud800", loop, object(), {1: 2}):
            ctx.report(value)
        return "done"

    tools = registry(talk)
    assert (await tools.invoke_async("talk")).value == "done"
    kept[0].report("late")

    assert len([e for e in tools.events if isinstance(e, CallProgress)]) == 4
    assert isinstance(tools.events[-1], ToolCallRecord)


@pytest.mark.covers("B61")
def test_large_text_parts_are_capped_too() -> None:
    @tool(mode="read")
    def big() -> list[Any]:
        return [Text("a" * 80_000), Text("b" * 2_000_000)]

    assert len(registry(big).invoke("big").text) < 110_000


def test_a_blob_store_that_fails_does_not_fail_the_call(caplog: pytest.LogCaptureFixture) -> None:
    class Full:
        def put(self, text: str) -> str:
            raise OSError("disk full")

    @tool
    def big() -> str:
        return "a" * 200_000

    result = registry(big, blobs=Full()).invoke("big")

    assert result.invocation.status == "ok"
    assert len(result.invocation.result or "") == 200_002
    assert "could not be stored" in caplog.text


def test_simulated_answers_are_not_shared() -> None:
    tools, simulated = registry(one), ExecutionOptions(simulate=True)

    tools.invoke("one", execution=simulated).value["ok"] = "EVIL"

    assert tools.invoke("one", execution=simulated).value["ok"] is True


async def test_a_blocking_simulation_of_a_coroutine_tool_gets_a_thread() -> None:
    def where() -> str:
        return threading.current_thread().name

    @tool(simulate=where)
    async def save() -> str:
        return "saved"

    result = await registry(save).invoke_async("save", execution=ExecutionOptions(simulate=True))

    assert result.value == "callboard-tool"


@pytest.mark.parametrize("name", [None, 3, ["x"], "x" * 1_000_000])
async def test_what_is_no_name_is_the_name_of_nothing(name: Any) -> None:
    tools = registry(one)

    assert await code_of(tools.invoke_async(name)) == "tool.unavailable"
    assert len(records(tools)[0].tool_id) <= 256


@pytest.mark.parametrize("make", [boom, lambda _id: "text", lambda _id: None, lambda _id: KeyError])
def test_error_factories_that_misbehave_leave_our_own_errors(make: Any) -> None:
    tools = registry(one, errors=ErrorFactories(unavailable=make, error_code=make))

    with pytest.raises(ToolError) as caught:
        tools.invoke("nothing")

    assert caught.value.invocation.failure.code in {"tool.unavailable", "text"}


def test_a_listener_that_raises_a_cancellation_is_only_a_bad_listener() -> None:
    heard: list[Any] = []

    def cancelled(_event: object) -> None:
        raise asyncio.CancelledError

    tools = registry(one, listeners=[cancelled, heard.append])

    assert tools.invoke("one").value == 1
    assert len(heard) == 2


async def test_one_odd_ending_does_not_throw_a_batch_away() -> None:
    @tool
    async def interrupted() -> None:
        raise Odd("odd")

    tools = registry(one, interrupted)
    outcomes = await tools.invoke_batch([("one", {}), ("interrupted", {}), ("one", {})])

    assert [o.ok for o in outcomes] == [True, False, True]


async def test_a_batch_that_is_cancelled_at_once_leaves_nothing_unawaited() -> None:
    batch = asyncio.create_task(registry(one).invoke_batch([("one", {})] * 3))
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch
    gc.collect()

    assert batch.cancelled()


async def test_a_thread_that_can_not_start_runs_nothing_later(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []

    @tool
    def write() -> None:
        ran.append(1)

    def no_thread(_self: object) -> None:
        raise RuntimeError("can't start new thread")

    tools = registry(write, threads=1)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_thread)
        assert await code_of(tools.invoke_async("write")) == "tool.failed"

    assert ran == []
    await asyncio.wait_for(tools.invoke_async("write"), BOUND)
    assert ran == [1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_threads_of_its_own() -> None:
    program = (
        "import asyncio, os, sys, warnings; warnings.simplefilter('ignore')\n"
        "from callboard import ToolRegistry, tool\n"
        "tools = ToolRegistry().register(tool(serial=True, name='one')(lambda: 1))\n"
        "call = lambda: asyncio.run(asyncio.wait_for(tools.invoke_async('one'), 5)).value\n"
        "call()\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(call())\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = asyncio.run(run_program(sys.executable, "-c", program))

    assert done.exit_code == 1, done.stderr


def test_registering_and_calling_from_many_threads_loses_nothing() -> None:
    tools = ToolRegistry()
    stop = threading.Event()
    errors: list[BaseException] = []

    def look() -> None:
        while not stop.is_set():
            try:
                _ = tools.snapshot
                list(tools.values())
            except BaseException as error:  # noqa: BLE001
                errors.append(error)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for n in range(150):
        tools.register(tool(mode="read", name=f"t{n}")(lambda: 1))
        assert tools.has(f"t{n}")
    stop.set()
    for thread in threads:
        thread.join(BOUND)

    assert errors == []


def test_a_busy_log_stays_bounded_and_never_disturbs_a_call() -> None:
    @tool(mode="read")
    def big(text: str) -> str:
        return text

    tools = registry(big, max_bytes=200_000, max_events=300)
    errors: list[BaseException] = []

    def work() -> None:
        for _ in range(150):
            try:
                tools.invoke("big", {"text": "x" * 5_000})
                _ = tools.events
            except BaseException as error:  # noqa: BLE001
                errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND)

    assert errors == []
    kept = tools.events
    assert len(kept) <= 300
    assert (
        sum(len(e.result or "") + len(e.arguments or "") for e in kept if isinstance(e, ToolCallRecord))
        <= 220_000
    )
    assert tools.events_dropped == 1_200 - len(kept)


def test_a_loop_does_not_outlive_its_calls_and_a_failing_deadline_leaves_no_cycle() -> None:
    @tool(mode="read")
    async def forever() -> None:
        await asyncio.Event().wait()

    tools = registry(forever)
    loops: list[weakref.ref[Any]] = []

    async def call() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        with pytest.raises(ToolError):
            await tools.invoke_async("forever", execution=ExecutionOptions(deadline=0.02))

    for _ in range(3):
        asyncio.run(call())
    gc.collect()

    assert [ref() for ref in loops] == [None, None, None]


def test_a_loop_that_is_closed_under_a_thread_gives_the_lock_back() -> None:
    released, entered = threading.Event(), threading.Event()

    @tool(serial="r")
    def wait() -> str:
        entered.set()
        released.wait(BOUND)
        return "done"

    tools = registry(wait)
    loop = asyncio.new_event_loop()
    call = loop.create_task(tools.invoke_async("wait"))
    loop.run_until_complete(asyncio.sleep(0.02))
    assert entered.wait(BOUND)
    call.cancel()
    loop.run_until_complete(asyncio.gather(call, return_exceptions=True))
    loop.close()
    released.set()

    assert tools.invoke("wait", execution=ExecutionOptions(deadline=BOUND)).value == "done"


def test_two_prefixed_tools_do_not_share_the_lock_of_their_short_name() -> None:
    bump = tool(name="bump", serial=True)(lambda: 1)
    tools = ToolRegistry()
    tools.register_toolset(Toolset("a", [bump], prefix="a")).register_toolset(
        Toolset("b", [bump], prefix="b")
    )

    names = {entry.turn.places.name for entry in tools.values() if entry.turn and entry.turn.places}
    assert names == {"tool:a-bump", "tool:b-bump"}


async def test_a_program_that_leaves_children_with_its_output_ends_when_it_ends() -> None:
    finished = await asyncio.wait_for(run_program("sh", "-c", "sleep 31 & echo hi"), BOUND)

    assert (finished.exit_code, finished.stdout) == (0, "hi\n")
