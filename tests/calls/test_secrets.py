"""Secrets: fetched for an allowed call, and delivered to its tool only."""

import asyncio
import threading
from typing import Annotated, Any

import pytest

from callboard import Abort, Decision, Principal, ToolContext, ToolError, secret, tool
from callboard.events import CallStarted, DiagnosticScope, ToolCallRecord
from callboard.policy import CallView, Verdict
from callboard.types import ApprovalAnswer, ApprovalRequest, ExecutionOptions
from tests.calls.secret_tools import KEY, Token, always, asking, everything, keys, knowing, show
from tests.calls.surroundings import BOUND, code_of, registry


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (None, "secret.missing"),
        ("", "secret.missing"),
        ("  \n", "secret.missing"),
        ("12345", "secret.too_short"),
        ("x" * 8_193, "secret.too_long"),
        ("  12345\n", "secret.too_short"),
        (123456, "secret.failed"),
        (b"0123456789", "secret.failed"),
    ],
)
async def test_what_is_no_secret_fails_the_call_before_it_starts(found: Any, code: str) -> None:
    ran: list[str] = []

    @tool
    def use(token: Token) -> None:
        ran.append(token)

    tools = registry(use, secrets=always(found))

    with pytest.raises(ToolError) as caught:
        tools.invoke("use")
    assert await code_of(tools.invoke_async("use")) == code

    assert (caught.value.code, ran) == (code, [])
    assert "'TOKEN'" in str(caught.value)
    assert "'token'" in str(caught.value)
    assert caught.value.hint
    assert "12345" not in everything(tools)
    record = caught.value.invocation
    assert (record.status, record.verdict) == ("failed", "allow")
    assert not [event for event in tools.events if isinstance(event, CallStarted)]


def test_a_default_stands_in_for_a_missing_secret() -> None:
    @tool(mode="read")
    def use(token: Annotated[str | None, secret("MISSING")] = None) -> bool:
        return token is None

    assert registry(use, secrets=keys).invoke("use").value is True


async def test_a_source_that_fails_is_named_by_its_class_and_one_that_speaks_to_the_model_is_heard() -> None:
    def broken(*_: Any) -> str:
        raise OSError("vault password hunter2 was refused")

    async def polite(*_: Any) -> str:
        raise ToolError("your session is over", code="vault.session", hint="log in again")

    tools = registry(show, secrets=broken)
    with pytest.raises(ToolError) as caught:
        await tools.invoke_async("show")
    assert caught.value.code == "secret.failed"
    assert "OSError" in str(caught.value)
    assert "hunter2" not in everything(tools)

    with pytest.raises(ToolError, match="your session is over") as heard:
        await registry(show, secrets=polite).invoke_async("show")
    assert (heard.value.code, heard.value.hint) == ("vault.session", "log in again")


async def test_nothing_is_fetched_for_a_call_that_is_refused() -> None:
    asked: list[str] = []

    def resolve(name: str, _: object) -> str:
        asked.append(name)
        return KEY

    def deny(_: CallView) -> Decision:
        return Decision("deny", ("no",))

    class No:
        async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
            return ApprovalAnswer(False, request.digest)

    stopped = Abort()
    stopped.set()
    refused = [
        registry(show, secrets=resolve, authorize=deny).invoke_async("show"),
        registry(show, secrets=resolve, authorize=asking, approver=No()).invoke_async("show"),
        registry(show, secrets=resolve).invoke_async("show", {"how": 3, "x": 1}),
        registry(show, secrets=resolve).invoke_async("show", abort=stopped),
        registry(show, secrets=resolve).invoke_async("shown"),
    ]
    for call in refused:
        await code_of(call)

    assert asked == []


async def test_a_policy_that_changes_while_a_secret_is_fetched_decides_again() -> None:
    rule: list[Verdict] = ["allow"]

    def by_rule(_: CallView) -> Decision:
        return Decision(rule[0])

    async def resolve(*_: Any) -> str:
        await asyncio.sleep(0)
        rule[0] = "deny"
        return KEY

    tools = registry(
        show,
        secrets=resolve,
        authorize=by_rule,
        policy_epoch=lambda: rule[0],
    )

    assert await code_of(tools.invoke_async("show")) == "permission.denied"


async def test_a_slow_source_blocks_no_other_call_and_ends_with_the_deadline() -> None:
    entered, leave = threading.Event(), threading.Event()

    def slow(*_: Any) -> str:
        entered.set()
        leave.wait(BOUND)
        return KEY

    async def never(*_: Any) -> str:
        await asyncio.Event().wait()
        return KEY

    tools = registry(show, secrets=slow)
    waiting = asyncio.create_task(tools.invoke_async("show"))
    while not entered.is_set():
        await asyncio.sleep(0)  # the loop goes on
    leave.set()
    assert (await asyncio.wait_for(waiting, BOUND)).value == KEY

    options = ExecutionOptions(deadline=0.05)
    assert (
        await code_of(registry(show, secrets=never).invoke_async("show", execution=options))
        == "call.deadline"
    )
    abort = Abort()
    ended = asyncio.create_task(registry(show, secrets=never).invoke_async("show", abort=abort))
    await asyncio.sleep(0)
    abort.set()
    assert await code_of(ended) == "call.cancelled"


def test_a_sync_call_takes_an_async_source_that_never_waits_and_refuses_one_that_does() -> None:
    async def at_once(*_: Any) -> str:
        return KEY

    async def waits(*_: Any) -> str:
        await asyncio.sleep(0)
        return KEY

    assert registry(show, secrets=at_once).invoke("show").value == KEY
    with pytest.raises(ToolError) as caught:
        registry(show, secrets=waits).invoke("show")
    assert caught.value.code == "approval.needs_async"


@pytest.mark.covers("B44")
async def test_secrets_of_concurrent_calls_never_mix() -> None:
    @tool
    async def mine(token: Token, ctx: ToolContext) -> str:
        await asyncio.sleep(0)
        ctx.report(token)
        return token

    @tool
    def threaded(token: Token, ctx: ToolContext) -> str:
        ctx.report(token)
        return token

    tools = registry(mine, threaded, secrets=keys)
    users = [f"user{number}" for number in range(20)]
    calls = [
        tools.invoke_async(name, execution=ExecutionOptions(principal=Principal(user)))
        for user in users
        for name in ("mine", "threaded")
    ]

    results = await asyncio.gather(*calls)

    assert [result.value for result in results] == [
        f"TOKEN-of-{user}-0123456789" for user in users for _ in "ab"
    ]
    assert {result.text for result in results} == {"***"}
    assert "-of-user" not in everything(tools)


def test_options_views_and_diagnostics_never_hold_what_was_delivered() -> None:
    seen: list[str] = []

    def authorize(view: CallView) -> Decision:
        seen.append(repr((view, view.options, view.arguments)))
        return Decision("allow")

    def before(view: CallView) -> None:
        seen.append(repr(view))

    @tool(debug_steps=["first"])
    def use(token: Token, ctx: ToolContext) -> str:
        seen.append(repr(ctx))
        return token

    def note(*fact: Any) -> None:
        seen.append(repr(fact))

    scope = DiagnosticScope(note, debug=True, content=frozenset({"metadata", "content"}))
    tools = registry(use, secrets=keys, authorize=authorize, before=[before])
    tools.invoke("use", diagnostics=scope)

    assert len(seen) >= 5
    assert "sk-" not in "".join(seen)
    assert "sk-" not in repr(ExecutionOptions(injected={"a": KEY}, redaction=knowing(KEY)))


def test_a_lock_and_a_slow_secret_start_in_order() -> None:
    order: list[str] = []

    def resolve(*_: Any) -> str:
        order.append("fetched")
        return KEY

    @tool(serial=True)
    def use(token: Token) -> None:
        order.append("ran")

    def listen(event: Any) -> None:
        order.append("started" if isinstance(event, CallStarted) else type(event).__name__)

    registry(use, secrets=resolve, listeners=[listen]).invoke("use")

    assert order == ["fetched", "started", "ran", ToolCallRecord.__name__]
