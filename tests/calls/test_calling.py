"""One call from its arguments to its record, sync and async."""

import asyncio
import contextvars
import gc
import threading
import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from callboard import Abort, Decision, ToolContext, ToolError, ToolRegistry, tool
from callboard.conversation import Image, Text
from callboard.errors import Aborted, NeedsAsync
from callboard.events import CallProgress, Failure, ToolCallRecord
from callboard.tools import RegisteredTool
from callboard.types import ExecutionOptions


def registry(*tools: Any, **options: Any) -> ToolRegistry:
    return ToolRegistry(**options).register_all(tools)


@tool(mode="read")
async def later(text: str) -> str:
    await asyncio.sleep(0)
    return text


@tool(mode="read")
def now(text: str) -> str:
    return text


@pytest.mark.covers("S3-041", "S3-042")
async def test_sync_and_async_calls_of_sync_and_async_tools() -> None:
    tools = registry(later, now)

    assert tools.invoke("now", {"text": "a"}).value == "a"
    assert (await tools.invoke_async("now", {"text": "b"})).value == "b"
    assert (await tools.invoke_async("later", {"text": "c"})).value == "c"


@pytest.mark.covers("S3-057")
def test_a_sync_call_of_a_coroutine_tool_is_an_error_and_not_a_coroutine() -> None:
    tools = registry(later)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NeedsAsync, match="later") as caught:
            tools.invoke("later", {"text": "c"})
        gc.collect()

    assert caught.value.hint == "use invoke_async"
    assert caught.value.invocation.status == "failed"


@pytest.mark.covers("S3-046")
def test_the_authoriser_sees_parsed_arguments_and_is_not_asked_about_illegal_ones() -> None:
    seen: list[Any] = []

    def authorize(view: Any) -> Any:
        seen.append(view.arguments)
        return Decision("allow")

    tools = registry(now, authorize=authorize)
    tools.invoke("now", '{"text": "a"}')
    with pytest.raises(ToolError):
        tools.invoke("now", {"text": 1})

    assert seen == [{"text": "a"}]


@pytest.mark.covers("S3-054", "B47", "B57")
@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (ValueError(), "ValueError"),
        (KeyError("k"), "KeyError: 'k'"),
        (ValueError(1), "ValueError: 1"),
        (ValueError("no such table"), "no such table"),
        (RuntimeError("postgres://u:pw@10.0.0.5/db is down"), "postgres://***@10.0.0.5/db is down"),
    ],
)
def test_what_a_tool_raises_is_a_new_error_with_a_text_and_a_record(raised: Exception, text: str) -> None:
    @tool
    def boom() -> None:
        raise raised

    with pytest.raises(ToolError) as caught:
        registry(boom).invoke("boom")

    assert caught.value is not raised
    assert caught.value.__cause__ is raised
    assert str(caught.value) == text
    assert caught.value.invocation.failure == Failure("tool.failed", text, None)
    assert caught.value.invocation.invocation_id


@pytest.mark.covers("B57")
def test_masked_errors_show_a_correlation_id_only() -> None:
    @tool(mask_errors=True)
    def boom(polite: bool) -> None:
        if polite:
            raise ToolError("read-only", code="DB", hint="wait")
        raise RuntimeError("secret host")

    tools = registry(boom)
    with pytest.raises(ToolError) as masked:
        tools.invoke("boom", {"polite": False})
    with pytest.raises(ToolError) as polite:
        tools.invoke("boom", {"polite": True})

    assert "secret" not in str(masked.value)
    assert masked.value.invocation.invocation_id in str(masked.value)
    assert (str(polite.value), polite.value.code, polite.value.hint) == ("read-only", "DB", "wait")


def test_code_and_hint_of_any_exception_reach_the_caller() -> None:
    @tool
    def boom() -> None:
        error = RuntimeError("Database is read-only.")
        error.code, error.hint = "DB_READONLY", "Wait."  # type: ignore[attr-defined]
        raise error

    with pytest.raises(ToolError) as caught:
        registry(boom).invoke("boom")

    assert (caught.value.code, caught.value.hint) == ("DB_READONLY", "Wait.")


@pytest.mark.covers("B31")
def test_an_unknown_name_gets_close_names_from_what_the_agent_sees() -> None:
    def visible(entry: RegisteredTool, _options: ExecutionOptions) -> bool:
        return entry.id != "later"

    tools = registry(now, later, visible=visible)

    with pytest.raises(ToolError) as unknown:
        tools.invoke("noww", {})
    with pytest.raises(ToolError) as hidden:
        tools.invoke("later", {"text": "x"})
    with pytest.raises(ToolError) as nothing:
        tools.invoke("latex", {})

    assert (unknown.value.code, unknown.value.hint) == ("tool.unavailable", "did you mean now?")
    assert (hidden.value.code, nothing.value.code) == ("tool.unavailable", "tool.unavailable")
    assert "later" not in str(nothing.value.hint)


async def test_a_grant_is_both_what_is_listed_and_what_is_executed() -> None:
    tools = registry(now, later, tool(name="mine", agents=["scout"])(lambda: "x"))
    options = ExecutionOptions(agent="main", grant=frozenset({"now"}))

    assert [t.id for t in tools.visible_to(options)] == ["now"]
    for hidden in ("later", "mine"):
        with pytest.raises(ToolError, match="there is no tool"):
            await tools.invoke_async(hidden, {"text": "x"}, execution=options)
    scout = ExecutionOptions(agent="main/scout")
    assert (await tools.invoke_async("mine", execution=scout)).value == "x"


def test_a_failing_call_leaves_no_reference_cycle() -> None:
    @tool
    def boom() -> None:
        raise ValueError("x")

    tools = registry(boom)
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            with pytest.raises(ToolError):
                tools.invoke("boom")
        assert gc.collect() < 20
    finally:
        gc.enable()


async def test_a_sync_tool_runs_in_a_thread_with_the_callers_context_variables() -> None:
    color: contextvars.ContextVar[str] = contextvars.ContextVar("color", default="none")

    @tool(mode="read")
    def look() -> list[Any]:
        return [color.get(), threading.current_thread() is threading.main_thread()]

    @tool(mode="read", blocking=False)
    def inline() -> bool:
        return threading.current_thread() is threading.main_thread()

    tools = registry(look, inline)
    color.set("blue")

    assert (await tools.invoke_async("look")).value == ["blue", False]
    assert tools.invoke("look").value == ["blue", True]
    assert (await tools.invoke_async("inline")).value is True


def test_yielded_values_are_progress_and_the_return_value_is_the_result() -> None:
    @tool(mode="read")
    def count(n: int) -> Iterator[int]:
        yield from range(n)

    @tool(mode="read")
    def steps() -> Any:
        yield "working"
        return "done"

    tools = registry(count, steps)

    assert tools.invoke("count", {"n": 3}).value == 2
    assert tools.invoke("steps").value == "done"
    progress = [e.value for e in tools.events if isinstance(e, CallProgress)]
    assert progress == ["0", "1", "2", '"working"']


async def test_an_async_generators_last_value_is_the_result() -> None:
    @tool(mode="read")
    async def count(n: int) -> AsyncIterator[int]:
        for i in range(n):
            await asyncio.sleep(0)
            yield i

    heard: list[Any] = []
    tools = registry(count, listeners=[heard.append])

    assert (await tools.invoke_async("count", {"n": 2})).value == 1
    assert [type(e).__name__ for e in heard] == [
        "CallStarted",
        "CallProgress",
        "CallProgress",
        "ToolCallRecord",
    ]


def test_a_call_inside_a_call_knows_its_parents_and_too_many_are_refused() -> None:
    tools = ToolRegistry()

    @tool
    def deeper(n: int) -> int:
        return tools.invoke("deeper", {"n": n + 1}).value

    tools.register(deeper)
    with pytest.raises(ToolError) as caught:
        tools.invoke("deeper", {"n": 0})

    assert caught.value.code == "call.too_deep"
    records = [e for e in tools.events if isinstance(e, ToolCallRecord)]
    outermost = records[-1]
    assert outermost.parents == ()
    assert records[-2].parents == (outermost.invocation_id,)
    assert len(records) == 17


def test_an_exit_of_a_tool_is_its_own_failure_and_not_the_hosts() -> None:
    @tool
    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(ToolError) as caught:
        registry(leave).invoke("leave")

    assert caught.value.code == "tool.exited"


def test_a_keyboard_interrupt_rises_after_it_was_recorded() -> None:
    @tool
    def stopped() -> None:
        raise KeyboardInterrupt

    tools = registry(stopped)
    with pytest.raises(KeyboardInterrupt):
        tools.invoke("stopped")

    assert tools.events[-1].status == "interrupted"  # type: ignore[union-attr]


async def test_a_tool_that_cancels_itself_fails_and_does_not_cancel_its_caller() -> None:
    @tool
    async def odd() -> None:
        raise asyncio.CancelledError

    @tool
    async def odd_later() -> None:
        await asyncio.sleep(0)
        raise asyncio.CancelledError

    tools = registry(odd, odd_later)
    for name in ("odd", "odd_later"):
        with pytest.raises(ToolError) as caught:
            await tools.invoke_async(name)
        assert caught.value.code == "tool.cancelled_itself"


def test_an_aborted_run_that_a_tool_looks_at_ends_the_call_as_cancelled() -> None:
    abort = Abort()

    @tool
    def careful(ctx: ToolContext) -> None:
        abort.set("enough")
        ctx.abort.check()

    with pytest.raises(ToolError) as caught:
        registry(careful).invoke("careful", abort=abort)

    assert (caught.value.code, caught.value.invocation.status) == ("call.cancelled", "cancelled")
    with pytest.raises(ToolError) as again:
        registry(careful).invoke("careful", abort=abort)
    assert again.value.invocation.status == "cancelled"
    with pytest.raises(Aborted):
        abort.check()


def test_the_context_falls_through_to_the_hosts() -> None:
    class Context:
        task_id = "t1"
        workspace = "/w"
        run = None
        user_name = "Ada"

    @tool(mode="read")
    def look(ctx: ToolContext) -> list[Any]:
        return [ctx.task_id, ctx.workspace, ctx.run, ctx.user_name, ctx.call_key, hasattr(ctx, "nothing")]

    tools = registry(look)

    with_host = tools.invoke("look", execution=ExecutionOptions(context=Context(), call_key="k"))
    assert with_host.value == ["t1", "/w", None, "Ada", "k", False]


@pytest.mark.covers("B27")
@pytest.mark.parametrize("number", [9007199254740993, 1915883588174806058, -(10**40)])
def test_integers_stay_exact_in_both_directions(number: int) -> None:
    @tool(mode="read")
    def echo(n: int) -> int:
        return n

    @tool(mode="read")
    def echo_any(n: Any) -> Any:
        return {"n": n}

    tools = registry(echo, echo_any)

    assert tools.invoke("echo", f'{{"n": {number}}}').text == str(number)
    assert tools.invoke("echo_any", {"n": number}).value == {"n": number}
    assert tools.events[-1].result == f'{{"n":{number}}}'  # type: ignore[union-attr]


@pytest.mark.covers("B61")
def test_typed_parts_keep_their_order_and_text_readers_get_a_handle() -> None:
    png = Image(b"\x89PNG", "image/png")

    @tool(mode="read")
    def look() -> list[Any]:
        return [Text("before"), png, "after"]

    result = registry(look).invoke("look")

    assert result.content == (Text("before"), png, Text("after"))
    assert result.text == "before\n[image image/png, 4 bytes]\nafter"


def test_a_large_result_shows_head_and_tail_and_is_kept_whole_in_the_record() -> None:
    @tool(mode="read")
    def big() -> str:
        return "a" * 150_000 + "b" * 150_000

    result = registry(big).invoke("big")

    assert len(result.value) == 300_000
    assert len(result.text) < 101_000
    assert "showing 100000 of 300000 characters" in result.text
    assert len(result.invocation.result or "") == 300_002


def test_a_blob_store_of_the_host_keeps_what_is_too_large() -> None:
    kept: list[str] = []

    class Store:
        def put(self, text: str) -> str:
            kept.append(text)
            return "blob-1"

    @tool(mode="read")
    def big() -> str:
        return "a" * 200_000

    result = registry(big, blobs=Store()).invoke("big")

    assert result.invocation.result == '{"blob":"blob-1","length":200002}'
    assert len(kept[0]) == 200_002


@pytest.mark.covers("B46", "B47")
async def test_a_batch_gives_one_outcome_for_each_call_in_order() -> None:
    @tool(mode="read")
    async def maybe(n: int) -> int:
        await asyncio.sleep(0)
        if n == 1:
            raise ValueError
        return n

    outcomes = await registry(maybe).invoke_batch([("maybe", {"n": n}) for n in range(3)] + [("nope", {})])

    assert [o.ok for o in outcomes] == [True, False, True, False]
    assert [o.text for o in outcomes[:3:2]] == ["0", "2"]
    assert outcomes[1].text == '{"ok":false,"error":"ValueError","code":"tool.failed","hint":null}'
    assert all(o.invocation is not None and o.invocation.invocation_id for o in outcomes)


def test_writes_are_simulated_and_reads_are_real() -> None:
    ran: list[str] = []

    def preview(name: str) -> dict[str, str]:
        return {"would": name}

    @tool(simulate=preview)
    def save(name: str) -> str:
        ran.append(name)
        return "saved"

    @tool
    def drop(name: str) -> str:
        ran.append(name)
        return "dropped"

    tools = registry(save, drop, now)
    simulated = ExecutionOptions(simulate=True)

    assert tools.invoke("drop", {"name": "a"}, execution=simulated).value == {
        "ok": True, "simulated": True, "unvalidated": True,
    }  # fmt: skip
    assert tools.invoke("now", {"text": "real"}, execution=simulated).value == "real"
    assert ran == []
    with pytest.raises(ToolError) as caught:
        tools.invoke("save", {"nam": "a"}, execution=simulated)
    assert caught.value.code == "args.unknown"
    assert caught.value.invocation.simulated is True


async def test_progress_comes_before_the_end_from_a_thread_too() -> None:
    @tool(mode="read")
    def slow(ctx: ToolContext) -> str:
        ctx.report({"at": 1})
        ctx.report(object())
        return "done"

    tools = registry(slow)
    await tools.invoke_async("slow")

    names = [type(e).__name__ for e in tools.events]
    assert names == ["CallStarted", "CallProgress", "CallProgress", "ToolCallRecord"]
