"""Calls that are tried again: which, after what, how long after, and until when."""

import asyncio
import json
import threading
from typing import Any

import pytest

from callboard import Abort, Decision, ToolError, ToolRegistry, tool
from callboard.errors import OutcomeUnknown, RegistrationError
from callboard.events import CallProgress, CallStarted
from callboard.policy import CallView
from callboard.tools import Retries
from callboard.types import ExecutionOptions
from tests.calls.surroundings import BOUND, HandTimer, records, registry, settled

FAST = Retries(2, wait=0)


def told(tools: ToolRegistry) -> list[dict[str, Any]]:
    return [json.loads(event.value) for event in tools.events if isinstance(event, CallProgress)]


def failing(times: int, error: BaseException, **options: Any) -> tuple[Any, list[int]]:
    tries: list[int] = []

    given: dict[str, Any] = {"mode": "read", "retries": FAST, "name": "work", **options}

    @tool(**given)
    async def work() -> str:
        tries.append(1)
        if len(tries) <= times:
            raise error
        return "done"

    return work, tries


async def test_a_read_is_tried_again_and_each_try_is_told() -> None:
    work, tries = failing(2, ConnectionError("gone for now"))
    tools = registry(work)
    result = await tools.invoke_async("work")

    assert result.value == "done"
    assert len(tries) == 3
    assert len(records(tools)) == 1
    assert sum(isinstance(event, CallStarted) for event in tools.events) == 1
    assert [(each["try"], each["of"], each["after"]) for each in told(tools)] == [
        (2, 3, "tool.failed"),
        (3, 3, "tool.failed"),
    ]
    assert told(tools)[0]["error"] == "gone for now"


class Coded(Exception):
    """An exception of the tool's own whose code can't be read."""

    @property
    def code(self) -> str:
        raise RuntimeError("no code")


@pytest.mark.parametrize("retries", [FAST, Retries(2, on="http.429", wait=0)])
async def test_an_error_whose_code_can_not_be_read_is_the_error_of_the_call(retries: Retries) -> None:
    work, tries = failing(9, Coded("out of paper"), retries=retries)

    with pytest.raises(ToolError, match="out of paper") as raised:
        await registry(work).invoke_async("work")
    assert raised.value.code == "tool.failed"
    assert len(tries) == (3 if retries is FAST else 1)


def test_a_sync_tool_is_tried_again_in_its_thread() -> None:
    tries: list[int] = []

    @tool(mode="read", retries=Retries(1, wait=0))
    def work() -> str:
        tries.append(threading.get_ident())
        if len(tries) == 1:
            raise OSError("busy right now")
        return "done"

    tools = registry(work)
    assert tools.invoke("work").value == "done"
    assert set(tries) == {threading.get_ident()}


async def test_the_last_error_is_the_calls_own() -> None:
    error = ToolError("no luck at all", code="luck.none")
    work, tries = failing(9, error, retries=Retries(2, on="luck.none", wait=0))
    tools = registry(work)
    with pytest.raises(ToolError) as caught:
        await tools.invoke_async("work")

    assert (caught.value.code, len(tries)) == ("luck.none", 3)
    assert records(tools)[0].status == "failed"


@pytest.mark.parametrize(
    ("error", "on", "tried"),
    [
        (ValueError("any"), (), 2),
        (ToolError("said on purpose"), (), 1),
        (ToolError("said on purpose"), ("tool.failed",), 2),
        (ToolError("too many", code="http.429"), ("http.429", "http.503"), 2),
        (ToolError("not there", code="http.404"), ("http.429",), 1),
        (TimeoutError("slow"), OSError, 2),
        (ValueError("wrong"), (OSError, LookupError), 1),
        (OutcomeUnknown("a call inside it"), ("call.unknown", Exception), 1),
        (SystemExit(3), (Exception,), 1),
    ],
)
async def test_what_is_tried_again(error: BaseException, on: Any, tried: int) -> None:
    work, tries = failing(1, error, retries=Retries(1, on=on, wait=0))
    outcomes = await registry(work).invoke_batch([("work", {})])

    assert outcomes[0].ok is (tried == 2)
    assert len(tries) == tried


async def test_pauses_double_and_keep_calls_that_failed_together_apart() -> None:
    timer = HandTimer()
    work, tries = failing(3, ConnectionError("gone for now"), retries=Retries(3, wait=10, longest=25))
    tools = registry(work, timer=timer)
    call = asyncio.create_task(tools.invoke_async("work"))
    for number, longest in enumerate((10, 20, 25), start=1):
        await settled()
        assert len(tries) == number
        timer.move(longest * 0.49)
        await settled()
        assert len(tries) == number
        timer.move(longest * 0.52)
    await asyncio.wait_for(call, BOUND)

    pauses = [each["pause_seconds"] for each in told(tools)]
    for pause, longest in zip(pauses, (10, 20, 25), strict=True):
        assert longest / 2 <= pause <= longest
    retries = Retries(3, wait=1)
    assert {retries.pause(2, share) for share in (0.0, 0.5, 1.0)} == {0.5, 0.75, 1.0}


async def test_no_pause_outlives_the_deadline() -> None:
    timer = HandTimer()
    work, tries = failing(1, ConnectionError("gone for now"), retries=Retries(1, wait=60))
    tools = registry(work, timer=timer)
    with pytest.raises(ToolError) as caught:
        await tools.invoke_async("work", execution=ExecutionOptions(deadline=5))

    assert str(caught.value) == "gone for now"
    assert (len(tries), timer.waiting) == (1, 0)


@pytest.mark.parametrize("how", ["abort", "cancel"])
async def test_a_pause_ends_with_what_ends_the_call(how: str) -> None:
    timer, abort = HandTimer(), Abort()
    work, tries = failing(1, ConnectionError("gone for now"), retries=Retries(1, wait=60))
    tools = registry(work, timer=timer)
    call = asyncio.create_task(tools.invoke_async("work", abort=abort))
    await settled()
    assert timer.waiting == 1
    if how == "abort":
        abort.set()
    else:
        call.cancel()
    with pytest.raises((ToolError, asyncio.CancelledError)):
        await asyncio.wait_for(call, BOUND)

    assert (len(tries), timer.waiting) == (1, 0)
    assert records(tools)[0].status == "cancelled"


async def test_a_pause_in_a_thread_ends_with_the_abort_of_the_call() -> None:
    timer, abort = HandTimer(), Abort()
    tries: list[int] = []

    @tool(mode="read", retries=Retries(1, wait=60))
    def work() -> None:
        tries.append(1)
        raise OSError("busy right now")

    tools = registry(work, timer=timer)

    def stop() -> None:
        with timer.changed:
            timer.changed.wait_for(lambda: timer.waiting == 1, BOUND)
        abort.set()

    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(ToolError) as caught:
        await asyncio.to_thread(tools.invoke, "work", abort=abort)
    stopper.join(BOUND)

    assert caught.value.code == "call.cancelled"
    assert (len(tries), timer.waiting) == (1, 0)


async def test_a_sync_call_on_the_loops_thread_is_not_tried_again() -> None:
    tries: list[int] = []

    @tool(mode="read", retries=Retries(1, wait=60))
    def work() -> None:
        tries.append(1)
        raise OSError("busy right now")

    with pytest.raises(ToolError):
        registry(work).invoke("work")
    assert len(tries) == 1


async def test_it_is_decided_and_locked_once_for_all_tries() -> None:
    asked: list[str] = []

    def policy(view: CallView) -> Decision:
        asked.append(view.invocation_id)
        return Decision("allow", ("fine",))

    work, tries = failing(2, ConnectionError("gone for now"), serial=True, rate="1/min")
    await registry(work, authorize=policy).invoke_async("work")

    assert (len(asked), len(tries)) == (1, 3)


@pytest.mark.covers("B54")
async def test_a_write_is_never_tried_again_unless_doing_it_twice_is_as_good_as_once() -> None:
    with pytest.raises(RegistrationError, match="'work' is a write and has retries"):
        registry(failing(1, OSError("x"), mode="write")[0])
    with pytest.raises(RegistrationError, match="is a command and has retries"):
        ToolRegistry().register(
            {
                "id": "x",
                "kind": "command",
                "schema": {"type": "object"},
                "parse_output": int,
                "execute": int,
                "retries": 1,
            }
        )
    written: list[int] = []

    @tool
    async def writes() -> None:
        written.append(1)
        raise TimeoutError("it took place, and then it timed out")

    outcomes = await registry(writes).invoke_batch([("writes", {})])
    assert (outcomes[0].ok, len(written)) == (False, 1)

    keys: list[str] = []
    work, tries = failing(1, OSError("busy right now"), mode="write", idempotent=True)
    tools = ToolRegistry(listeners=[lambda event: keys.append(getattr(event, "call_key", ""))]).register(work)
    assert (await tools.invoke_async("work")).value == "done"
    assert len(tries) == 2
    assert len(set(filter(None, keys))) == 1


async def test_a_masked_tool_tells_its_observers_no_more_than_the_class() -> None:
    work, _ = failing(1, ConnectionError("password=hunter2"), mask_errors=True)
    tools = registry(work)
    await tools.invoke_async("work")

    assert told(tools)[0]["error"] == "ConnectionError"


async def test_a_tool_of_one_registry_is_tried_as_often_in_another() -> None:
    work, tries = failing(9, ConnectionError("gone for now"))
    first = registry(work)
    second = ToolRegistry().register(first.require("work"))
    await second.invoke_batch([("work", {})])

    assert len(tries) == 3


def test_what_makes_no_sense_is_refused_by_name() -> None:
    def refused(match: str, **options: Any) -> None:
        given: dict[str, Any] = {"mode": "read", **options}
        with pytest.raises(RegistrationError, match=match):
            registry(tool(name="t", **given)(lambda: 1))

    refused("tool 't': retries are 'many'", retries="many")
    refused("tool 't': retries are -1", retries=-1)
    refused("tool 't': retries are True", retries=True)
    refused("would hold up the event loop", retries=1, blocking=False)
    with pytest.raises(RegistrationError, match="retries are 0"):
        Retries(0)
    with pytest.raises(RegistrationError, match="wait is -1"):
        Retries(1, wait=-1)
    with pytest.raises(RegistrationError, match="3 is nothing to try again after"):
        Retries(1, on=[3])  # pyright: ignore[reportArgumentType]
    with pytest.raises(RegistrationError, match="KeyboardInterrupt"):
        Retries(1, on=KeyboardInterrupt)  # pyright: ignore[reportArgumentType]
