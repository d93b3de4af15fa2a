"""Constructor options, per-call options, and the registry's own log."""

import asyncio
import json
import logging
from typing import Any

import pytest

from callboard import Abort, Principal, ToolContext, ToolError, ToolRegistry, tool
from callboard.events import CallStarted, DiagnosticScope, ToolCallRecord, call_event_to_json
from callboard.types import ErrorFactories, ExecutionOptions, ToolInvocationRequest


@tool(mode="read")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def boom() -> str:
    raise ValueError("no such table")


class NotHere(LookupError):
    pass


@pytest.mark.covers("S3-007")
def test_every_option_may_be_left_out() -> None:
    assert ToolRegistry().ids() == ()
    assert ToolRegistry(execution=None, errors=None).ids() == ()


@pytest.mark.covers("S3-009", "S3-055", "S3-059")
def test_the_hosts_error_factories_serve_all_tools() -> None:
    errors = ErrorFactories(unavailable=NotHere, error_code=lambda error: f"host.{type(error).__name__}")
    registry = ToolRegistry(errors=errors).register(boom)

    with pytest.raises(NotHere, match="nope") as missing:
        registry.invoke("nope")
    with pytest.raises(NotHere):
        registry.require("nope")
    with pytest.raises(ToolError) as failed:
        registry.invoke("boom")

    assert missing.value.invocation.failure.code == "host.Unavailable"  # type: ignore[attr-defined]
    assert failed.value.invocation.failure.code == "host.ToolError"
    assert registry.events[-1].failure.code == "host.ToolError"  # type: ignore[union-attr]


@pytest.mark.covers("S3-008", "S3-010")
async def test_a_calls_own_options_override_the_registrys_field_by_field() -> None:
    @tool(mode="read")
    async def who(ctx: ToolContext) -> list[Any]:
        await asyncio.sleep(0)
        return [ctx.principal, ctx.agent]

    defaults = ExecutionOptions(principal=Principal("ada"), agent="main")
    registry = ToolRegistry(execution=defaults).register(who)

    own = await registry.invoke_async("who", execution=ExecutionOptions(agent="scout"))
    usual = await registry.invoke_async("who")

    assert own.invocation.principal == ("ada", None)
    assert (own.invocation.agent, usual.invocation.agent) == ("scout", "main")


@pytest.mark.covers("S3-008")
async def test_a_registrys_deadline_holds_for_calls_that_name_none() -> None:
    @tool(mode="read")
    async def forever() -> None:
        await asyncio.Event().wait()

    registry = ToolRegistry(execution=ExecutionOptions(deadline=0.05)).register(forever)

    async with asyncio.timeout(5):
        with pytest.raises(ToolError) as caught:
            await registry.invoke_async("forever")

    assert caught.value.code == "call.deadline"


@pytest.mark.covers("S3-003", "S3-011", "S3-012", "S3-013", "S3-048", "S3-052")
def test_each_registry_keeps_its_own_log_of_frozen_facts() -> None:
    one, other = ToolRegistry().register(add), ToolRegistry().register(add)

    result = one.invoke("add", {"a": 1, "b": 2})

    started, finished = one.events
    assert isinstance(started, CallStarted)
    assert isinstance(finished, ToolCallRecord)
    assert (started.kind, finished.kind, finished.tool_id) == ("read", "read", "add")
    assert finished is result.invocation
    assert (finished.status, finished.arguments, finished.result) == ("ok", '{"a": 1, "b": 2}', "3") or (
        finished.arguments == '{"a":1,"b":2}'
    )
    assert other.events == ()
    with pytest.raises(TypeError):
        one.events[0] = started  # type: ignore[index]
    with pytest.raises(AttributeError):
        finished.status = "failed"  # type: ignore[misc]


@pytest.mark.covers("S3-013")
def test_the_log_is_bounded_and_counts_what_it_gave_up() -> None:
    registry = ToolRegistry(max_events=10).register(add)

    for n in range(20):
        registry.invoke("add", {"a": n, "b": 0})

    assert len(registry.events) == 10
    assert registry.events_dropped == 30
    assert registry.events[-1].result == "19"  # type: ignore[union-attr]


@pytest.mark.covers("S3-013")
def test_the_log_is_bounded_by_size_too() -> None:
    registry = ToolRegistry(max_bytes=10_000).register(tool(mode="read", name="big")(lambda: "x" * 5_000))

    for _ in range(10):
        registry.invoke("big")

    assert registry.events_dropped > 0
    assert sum(len(e.result or "") for e in registry.events if isinstance(e, ToolCallRecord)) <= 10_000


@pytest.mark.covers("S3-053")
def test_invocation_ids_are_unique() -> None:
    registry = ToolRegistry().register(add)

    ids = {registry.invoke("add", {"a": 1, "b": 2}).invocation.invocation_id for _ in range(1_000)}

    assert len(ids) == 1_000


@pytest.mark.covers("S3-043", "S3-044")
async def test_a_call_may_come_as_one_request_value() -> None:
    registry = ToolRegistry().register(add)
    request = ToolInvocationRequest("add", {"a": 1, "b": 2})

    assert registry.invoke(request).value == 3
    assert (await registry.invoke_async(request)).value == 3
    with pytest.raises(AttributeError):
        request.tool_id = "other"  # type: ignore[misc]


@pytest.mark.covers("S3-047")
def test_a_logger_records_the_call_beside_the_registry_and_reaches_the_tool(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool(mode="read")
    def speak(ctx: ToolContext) -> bool:
        ctx.logger.info("from the tool")
        return ctx.logger.name == "mine"

    registry = ToolRegistry().register(speak)
    with caplog.at_level(logging.INFO, logger="mine"):
        result = registry.invoke("speak", logger=logging.getLogger("mine"))

    assert result.value is True
    assert [r.message for r in caplog.records] == [
        "call.started speak",
        "from the tool",
        "call.finished speak",
    ]
    assert len(registry.events) == 2


@pytest.mark.covers("S3-050", "S3-016", "S3-018", "S3-019")
def test_diagnostics_go_to_the_scope_that_holds_for_the_call() -> None:
    seen: dict[str, list[str]] = {"a": [], "b": [], "own": []}
    scopes = {name: DiagnosticScope(lambda event, _p, _d, n=name: seen[n].append(event)) for name in seen}
    registry = ToolRegistry(execution=ExecutionOptions(diagnostics=scopes["a"])).register(add)
    arguments = {"a": 1, "b": 2}

    registry.invoke("add", arguments)
    assert registry.set_diagnostics(scopes["b"]) is None
    registry.invoke("add", arguments)
    registry.invoke("add", arguments, diagnostics=scopes["own"])
    registry.set_diagnostics(None)
    registry.invoke("add", arguments)

    facts = ["call.started", "call.finished"]
    assert seen == {"a": facts, "b": facts, "own": facts}
    with pytest.raises(TypeError):
        registry.set_diagnostics()  # type: ignore[call-arg]


@pytest.mark.covers("S3-017")
async def test_a_call_in_flight_keeps_the_scope_that_it_began_with() -> None:
    seen: dict[str, list[str]] = {"a": [], "b": []}
    scopes = {name: DiagnosticScope(lambda event, _p, _d, n=name: seen[n].append(event)) for name in seen}
    released, entered = asyncio.Event(), asyncio.Event()

    @tool(mode="read")
    async def wait() -> str:
        entered.set()
        await released.wait()
        return "done"

    registry = ToolRegistry(execution=ExecutionOptions(diagnostics=scopes["a"])).register(wait)
    call = asyncio.create_task(registry.invoke_async("wait"))
    async with asyncio.timeout(5):
        await entered.wait()
        registry.set_diagnostics(scopes["b"])
        released.set()
        await call

    assert seen == {"a": ["call.started", "call.finished"], "b": []}


@pytest.mark.covers("S3-049")
async def test_an_abort_of_the_call_only_shortens_the_surrounding_one() -> None:
    @tool(mode="read")
    async def forever() -> None:
        await asyncio.Event().wait()

    outer = Abort()
    registry = ToolRegistry(execution=ExecutionOptions(abort=outer)).register(forever)
    own = Abort()
    mine = asyncio.create_task(registry.invoke_async("forever", abort=own))
    other = asyncio.create_task(registry.invoke_async("forever", abort=Abort()))
    await asyncio.sleep(0)

    async with asyncio.timeout(5):
        own.set("enough")
        with pytest.raises(ToolError) as first:
            await mine
        assert not other.done()
        outer.set("closing")
        with pytest.raises(ToolError) as second:
            await other

    assert (first.value.code, second.value.code) == ("call.cancelled", "call.cancelled")
    assert "enough" in str(first.value)
    assert "closing" in str(second.value)


@pytest.mark.covers("S3-051", "S3-052")
def test_a_result_is_read_only_and_its_receipt_json() -> None:
    result = ToolRegistry().register(add).invoke("add", {"a": 1, "b": 2})

    with pytest.raises(AttributeError):
        result.value = 4  # type: ignore[misc]
    made = json.loads(json.dumps(call_event_to_json(result.invocation)))
    assert (made["type"], made["status"], made["result"]) == ("call.finished", "ok", "3")


def test_a_failing_listener_does_not_disturb_the_call(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_event: object) -> None:
        raise RuntimeError("listener")

    heard: list[object] = []
    registry = ToolRegistry(listeners=[broken, heard.append]).register(add)

    assert registry.invoke("add", {"a": 1, "b": 2}).value == 3
    assert len(heard) == 2
    assert "a listener failed" in caplog.text


@pytest.mark.covers("B44")
def test_debug_mode_warns_of_a_tool_that_keeps_state_of_a_call_on_itself(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Notes:
        def __init__(self) -> None:
            self.current = ""

        def open(self, name: str) -> str:
            self.current = name
            return name

    registry = ToolRegistry(debug=True).register(tool(Notes().open))

    registry.invoke("open", {"name": "a"})

    assert "tool open changed its own current during a call" in caplog.text


@pytest.mark.covers("B44")
async def test_two_sessions_of_one_tool_object_do_not_see_each_others_context() -> None:
    class Whoami:
        async def ask(self, ctx: ToolContext) -> str:
            await asyncio.sleep(0)
            assert ctx.principal is not None
            return ctx.principal.user

    registry = ToolRegistry().register(tool(mode="read")(Whoami().ask))
    users = [f"user-{n}" for n in range(20)]

    results = await asyncio.gather(
        *[registry.invoke_async("ask", execution=ExecutionOptions(principal=Principal(u))) for u in users],
    )

    assert [r.value for r in results] == users
