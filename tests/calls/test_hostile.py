"""Tools, policies and surroundings that misbehave: the call still ends once, as it should, for everybody."""

# Much of what is handed over here has the wrong type on purpose.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnnecessaryTypeIgnoreComment=false, reportOptionalMemberAccess=false

import asyncio
import gc
import os
import sys
import threading
import time
import weakref
from collections import OrderedDict
from typing import Any

import pytest

from callboard import Abort, Decision, Principal, ToolContext, ToolError, ToolRegistry, tool
from callboard.conversation import Text
from callboard.errors import Aborted, Denied, OutcomeUnknown
from callboard.events import CallProgress, CallStarted, ToolCallRecord
from callboard.policy import CallView, ModePolicy
from callboard.registry import Toolset
from callboard.types import ApprovalAnswer, ApprovalRequest, ErrorFactories, ExecutionOptions, PendingCall
from callboard.workers import run_program

BOUND = 10.0


def registry(*tools: Any, **options: Any) -> ToolRegistry:
    return ToolRegistry(**options).register_all(tools)


def records(tools: ToolRegistry) -> list[ToolCallRecord]:
    return [event for event in tools.events if isinstance(event, ToolCallRecord)]


async def code_of(call: Any) -> str:
    with pytest.raises(ToolError) as caught:
        await asyncio.wait_for(call, BOUND)
    return caught.value.code


@tool
def one() -> int:
    return 1


# -- cancellations inside a tool are its own


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


# -- switches


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


# -- calls inside calls


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


# -- people and policies


class Person:
    def __init__(self, **answer: Any) -> None:
        self.answer = answer
        self.asked: list[ApprovalRequest] = []

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        return ApprovalAnswer(**{"allowed": True, "digest": request.digest, **self.answer})


@tool
async def delete(path: str) -> str:
    return path


async def test_edited_arguments_pass_the_hooks_too() -> None:
    def guard(view: CallView) -> None:
        if view.arguments["path"] == "/etc":
            raise Denied("not /etc")

    person = Person(arguments='{"path": "/etc"}')
    tools = registry(delete, authorize=ModePolicy(), approver=person, before=[guard])

    with pytest.raises(ToolError, match="not /etc"):
        await tools.invoke_async("delete", {"path": "a"})


@pytest.mark.parametrize("given", [OrderedDict(a=1), ({"a": 1},)])
async def test_a_tool_with_its_own_parser_gets_what_was_shown(given: Any) -> None:
    got: list[Any] = []

    class Changing(Person):
        async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
            inner = given if isinstance(given, OrderedDict) else given[0]
            inner["a"] = "EVIL"
            return await super().ask(request)

    def execute(value: Any) -> str:
        got.append(value)
        return "ok"

    def same(value: Any) -> Any:
        return value

    own = {"id": "own", "kind": "write", "parse_input": same, "parse_output": same, "execute": execute}
    tools = registry(own, authorize=ModePolicy(), approver=Changing())
    await tools.invoke_async("own", given)

    assert got in ([{"a": 1}], [[{"a": 1}]])


async def test_an_edit_reaches_a_tools_own_parser_as_a_value() -> None:
    def same(value: Any) -> Any:
        return value

    own = {"id": "own", "kind": "write", "parse_input": same, "parse_output": same, "execute": same}
    tools = registry(own, authorize=ModePolicy(), approver=Person(arguments='{"a": 2}'))

    assert (await tools.invoke_async("own", {"a": 1})).value == {"a": 2}


async def test_an_answer_is_for_one_call_only() -> None:
    answers: list[ApprovalAnswer] = []

    class Repeating:
        async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
            answers.append(ApprovalAnswer(True, request.digest))
            return answers[0]

    tools = registry(delete, authorize=ModePolicy(), approver=Repeating())
    await tools.invoke_async("delete", {"path": "a"})

    assert await code_of(tools.invoke_async("delete", {"path": "a"})) == "approval.stale"


def boom(*_: object) -> Any:
    raise RuntimeError("broken")


@pytest.mark.parametrize(
    "decision",
    [Decision("deny", None), Decision("allow", (1,)), Decision(["deny"]), Decision("ask", 3), "allow"],  # type: ignore[arg-type]
)
async def test_what_is_no_decision_denies(decision: Any) -> None:
    tools = registry(one, authorize=lambda _view: decision)

    assert await code_of(tools.invoke_async("one")) == "permission.policy_failed"
    assert records(tools)[-1].status == "denied"


async def test_an_epoch_that_fails_denies_and_one_that_begins_as_none_is_compared() -> None:
    epochs: list[object] = [None]

    async def slowly(_view: CallView) -> Decision:
        epochs[0] = 1
        rule.append(Decision("deny", ("tightened",)))
        return rule[0]

    rule = [Decision("allow")]
    changed = registry(
        one, authorize=lambda v: slowly(v) if len(rule) == 1 else rule[1], policy_epoch=lambda: epochs[0]
    )
    failing = registry(one, authorize=ModePolicy(write="allow"), policy_epoch=boom)

    assert await code_of(changed.invoke_async("one")) == "permission.denied"
    assert await code_of(failing.invoke_async("one")) == "permission.policy_failed"


async def test_a_policy_that_changes_during_the_barrier_counts() -> None:
    epoch = [1]
    rule = [Decision("allow")]

    async def barrier(_call: PendingCall) -> None:
        epoch[0], rule[0] = 2, Decision("deny", ("tightened",))

    tools = registry(one, authorize=lambda _v: rule[0], policy_epoch=lambda: epoch[0])

    assert (
        await code_of(tools.invoke_async("one", execution=ExecutionOptions(barrier=barrier)))
        == "permission.denied"
    )


@pytest.mark.parametrize("raised", [Aborted("stop"), asyncio.CancelledError(), SystemExit(1), KeyError("x")])
async def test_a_policy_that_raises_anything_ends_its_own_call_only(raised: BaseException) -> None:
    def odd(view: CallView) -> Decision:
        if view.tool_id == "one":
            raise raised
        return Decision("allow")

    tools = registry(one, delete, authorize=odd)
    outcomes = await asyncio.wait_for(tools.invoke_batch([("one", {}), ("delete", {"path": "a"})]), BOUND)

    assert [o.ok for o in outcomes] == [False, True]
    assert records(tools)[0].status == ("cancelled" if isinstance(raised, Aborted) else "denied")


async def test_a_look_that_fails_or_waits_shows_nothing() -> None:
    async def later(*_: object) -> bool:
        return True

    for visible in (boom, lambda *_: 1, later):
        tools = registry(one, visible=visible)
        assert await code_of(tools.invoke_async("one")) == "tool.unavailable"
        gc.collect()


def test_a_shared_error_of_a_hook_or_tool_is_raised_anew_each_time() -> None:
    shared, unknown = Denied("closed"), OutcomeUnknown("who knows")

    def hook(view: CallView) -> None:
        if view.tool_id == "one":
            raise shared

    @tool
    def odd() -> None:
        raise unknown

    tools = registry(one, odd, before=[hook])
    caught: list[ToolError] = []
    for name in ("one", "one", "odd", "odd"):
        with pytest.raises(ToolError) as error:
            tools.invoke(name)
        caught.append(error.value)

    assert len({id(error) for error in [*caught, shared, unknown]}) == 6
    assert [e.invocation.status for e in caught] == ["denied", "denied", "failed", "failed"]
    assert len({e.invocation.invocation_id for e in caught}) == 4


# -- odd exceptions and values


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
        ("postgres://u:pa/ss@h/db", "postgres://***@h/db"),
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


# -- threads, forks, loops


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

    assert {entry.serial for entry in tools.values()} == {"tool:a-bump", "tool:b-bump"}


async def test_a_program_that_leaves_children_with_its_output_ends_when_it_ends() -> None:
    finished = await asyncio.wait_for(run_program("sh", "-c", "sleep 31 & echo hi"), BOUND)

    assert (finished.exit_code, finished.stdout) == (0, "hi\n")
