"""The loop mode: how it ends, what it feeds back, and what it keeps of a conversation."""

import asyncio
import json
from typing import Any

import pytest
from pydantic import ValidationError

from callboard.errors import ModelError
from callboard.orchestration import LoopConfig, run_loop
from callboard.registry import ToolRegistry
from callboard.testing import ScriptedModel, call, calls, text
from callboard.tools import tool
from callboard.types import ExecutionOptions
from callboard.workflow import Run


async def test_finalize_in_the_first_round_completes_with_one_request(loop: Any) -> None:
    outcome = await loop([call("finalize", text="done")])
    assert (outcome.status, outcome.value, outcome.rounds, outcome.reason) == ("completed", "done", 1, None)
    assert len(loop.model.requests) == 1


async def test_prose_without_a_call_ends_a_loop_whose_text_ends(loop: Any) -> None:
    outcome = await loop([call("echo", a=1), text("it is 1")])
    assert (outcome.status, outcome.value, outcome.rounds) == ("completed", "it is 1", 2)
    loop.model.assert_complete()


async def test_a_loop_that_was_stopped_before_it_began_asks_nothing(loop: Any) -> None:
    loop.run.abort.set()
    outcome = await loop([text("x")])
    assert (outcome.status, outcome.reason, outcome.value) == ("cancelled", "user_stopped", None)
    assert loop.model.requests == []


async def test_three_silent_rounds_end_the_run_as_exhausted(loop: Any) -> None:
    outcome = await loop([text("")] * 3)
    assert (outcome.status, outcome.reason, outcome.rounds, outcome.value) == (
        "budget_exhausted",
        "no_tool_call_streak",
        3,
        None,
    )


async def test_a_call_between_silent_rounds_starts_the_streak_anew_and_silence_stays_in_the_history(
    loop: Any,
) -> None:
    script = [text("a"), text("b"), call("echo"), text("c"), text("d"), call("finalize", text="z")]
    outcome = await loop(script, text_ends=False, prompt="")
    assert outcome.value == "z"
    third = loop.model.requests[2].messages
    assert [m["role"] for m in third] == ["user", "assistant", "user", "assistant", "user"]
    assert [m["content"] for m in third if m["role"] == "assistant"] == ["a", "b"]
    assert third[-1]["content"] == "Your last answer called no tool. Call a tool, or end with finalize."


async def test_an_empty_answer_leaves_no_empty_message_in_the_history(loop: Any) -> None:
    await loop([text(""), text("done")], prompt="")
    assert [m["role"] for m in loop.model.requests[1].messages] == ["user", "user"]


async def test_at_max_rounds_the_newest_prose_is_what_is_left(loop: Any) -> None:
    script = [
        calls(call("echo", a=1), say="one"),
        calls(call("echo", a=2), say="two"),
        call("echo", a=3),
    ]
    outcome = await loop(script, max_rounds=3)
    assert (outcome.status, outcome.reason, outcome.value) == ("budget_exhausted", "max_rounds", "two")
    assert "budget.exhausted" in loop.types()


async def test_an_empty_finalize_goes_back_to_the_model_which_recovers(loop: Any) -> None:
    outcome = await loop([call("finalize", text="  "), call("finalize", text="ok")])
    assert outcome.value == "ok"
    assert json.loads(loop.told()[-1]) == {
        "ok": False,
        "error": "the text is empty",
        "code": "finalize.empty",
        "hint": "call finalize again with the whole final answer",
    }


async def test_finalize_with_wrong_arguments_goes_back_like_any_other_call(loop: Any) -> None:
    outcome = await loop([call("finalize", answer="x"), call("finalize", text="ok")])
    assert outcome.value == "ok"
    assert json.loads(loop.told()[-1])["code"].startswith("args.")


async def test_after_finalize_the_rest_is_not_run_but_every_call_gets_its_answer(loop: Any) -> None:
    ran: list[int] = []

    @tool
    def write() -> None:
        ran.append(1)

    outcome = await loop([calls(call("finalize", text="x"), call("write"), call("echo"))], write)
    answers = [m for m in outcome.state.messages if m["role"] == "tool"]
    assert [m["name"] for m in answers] == ["finalize", "write", "echo"]
    assert [json.loads(m["content"]).get("code") for m in answers] == [None, "run.ended", "run.ended"]
    assert ran == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_rounds": 0},
        {"max_rounds": 999},
        {"max_rounds": "lots"},
        {"seconds": 5},
        {"seconds": float("inf")},
        {"streak": 0},
        {"mode": "spec"},
        {"max_round": 3},
    ],
)
def test_limits_outside_their_range_and_unknown_keys_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        LoopConfig(**wrong)


def test_the_limits_of_a_loop_that_says_nothing() -> None:
    config = LoopConfig()
    assert (config.max_rounds, config.seconds, config.streak, config.text_ends) == (20, 300, 3, True)
    assert config.prompt


async def test_an_empty_prompt_is_none_and_a_missing_one_is_the_ready_made(loop: Any) -> None:
    await loop([text("x")], prompt="")
    assert [m["role"] for m in loop.model.requests[0].messages] == ["user"]
    await type(loop)()([text("x")])
    await loop([text("x")])
    assert [m["role"] for m in loop.model.requests[0].messages] == ["system", "user"]


async def test_finalize_is_offered_whatever_the_tools_of_the_profile_are(loop: Any) -> None:
    await loop([text("x")], tools=["echo"])
    assert [t.name for t in loop.model.requests[0].tools] == ["finalize", "echo"]


@pytest.mark.covers("B31")
async def test_an_invented_tool_name_goes_back_with_close_names_and_the_run_goes_on(loop: Any) -> None:
    outcome = await loop([call("ecko"), text("well")])
    assert outcome.status == "completed"
    told = json.loads(loop.told()[0])
    assert (told["ok"], told["code"]) == (False, "tool.unavailable")
    assert "echo" in told["hint"]


@pytest.mark.covers("B46")
async def test_one_failing_call_of_an_answer_takes_nothing_from_the_others(loop: Any) -> None:
    @tool(mode="read")
    def broken() -> str:
        raise RuntimeError("the disk is read-only")

    outcome = await loop([calls(call("echo", a=1), call("broken"), call("echo", a=2)), text("x")], broken)
    assert outcome.status == "completed"
    first, second, third = loop.told()
    assert (first, third) == ("echo 1", "echo 2")
    assert json.loads(second) == {
        "ok": False,
        "error": "the disk is read-only",
        "code": "tool.failed",
        "hint": None,
    }


@pytest.mark.covers("B47")
async def test_a_failure_without_a_message_still_names_its_call_and_says_something(loop: Any) -> None:
    @tool
    def silent() -> str:
        raise ValueError

    outcome = await loop([calls(call("silent"), call("silent")), text("x")], silent)
    answers = [m for m in outcome.state.messages if m["role"] == "tool"]
    asked = next(m for m in outcome.state.messages if m["role"] == "assistant")
    assert [m["call_id"] for m in answers] == [c["id"] for c in asked["calls"]]
    assert all(json.loads(m["content"])["error"] == "ValueError" for m in answers)


async def test_what_a_tool_raises_reaches_the_model_with_its_code_and_hint(loop: Any) -> None:
    @tool
    def guarded() -> str:
        error = RuntimeError("the disk is read-only")
        error.code, error.hint = "DB", "wait"  # type: ignore[attr-defined]
        raise error

    await loop([call("guarded"), text("x")], guarded)
    assert json.loads(loop.told()[0]) == {
        "ok": False,
        "error": "the disk is read-only",
        "code": "DB",
        "hint": "wait",
    }


async def test_what_an_agent_is_not_granted_it_neither_sees_nor_calls(loop: Any) -> None:
    @tool(mode="read")
    def secret() -> str:
        return "hush"

    await loop([call("secret"), text("x")], secret, tools=["echo"])
    assert "secret" not in [t.name for t in loop.model.requests[0].tools]
    assert json.loads(loop.told()[0])["code"] == "tool.unavailable"


async def test_a_tool_that_the_model_can_not_be_shown_is_left_out_with_a_notice(loop: Any) -> None:
    union: dict[str, Any] = {
        "id": "odd",
        "kind": "read",
        "schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "not": {"required": ["a"]}},
        "execute": dict,
        "parse_output": str,
    }
    outcome = await loop([call("echo"), text("x")], union)
    assert outcome.status == "completed"
    assert "odd" not in [t.name for t in loop.model.requests[0].tools]
    notices = [e.data for e in loop.events if e.type == "notice"]
    assert [n["code"] for n in notices] == ["schema.root_union"]
    assert notices[0]["text"].startswith("tool odd: ")


@pytest.mark.covers("B18")
async def test_strict_mode_that_a_tool_asked_for_in_vain_is_a_notice(loop: Any) -> None:
    @tool(mode="read", strict=True)
    def search(fields: dict[str, Any]) -> str:
        return str(fields)

    @tool(mode="read")
    def look(fields: dict[str, Any]) -> str:
        return str(fields)

    outcome = await loop([call("search", fields={"any": 1}), text("x")], search, look)
    assert outcome.status == "completed"
    notices = [e.data for e in loop.events if e.type == "notice"]
    assert [(n["code"], n["text"].split(":")[0]) for n in notices] == [("schema.not_strict", "tool search")]
    assert loop.told() == ["{'any': 1}"]


async def test_a_tool_may_not_take_the_name_of_one_of_the_engine_s(loop: Any) -> None:
    @tool
    def finalize() -> str:
        return "mine"

    outcome = await loop([text("x")], finalize)
    assert (outcome.status, outcome.reason) == ("failed", "agent.name_taken")


async def test_a_model_that_fails_ends_the_run_with_its_code_and_words_also_where_they_speak_of_aborts(
    loop: Any,
) -> None:
    script = [calls(call("echo"), say="so far"), ModelError("connection aborted", code="model.unreachable")]
    outcome = await loop(script)
    assert (outcome.status, outcome.reason, outcome.message, outcome.value) == (
        "failed",
        "model.unreachable",
        "connection aborted",
        "so far",
    )


async def test_text_is_streamed_as_transient_events_and_stands_whole_in_the_event_after(loop: Any) -> None:
    await loop([text("a b c")])
    deltas = [e for e in loop.events if e.type == "text.delta"]
    assert "".join(e.data["text"] for e in deltas) == "a b c"
    assert {e.n for e in deltas} == {0}
    finished = next(e for e in loop.events if e.type == "model.finished")
    assert finished.data["text"] == "a b c"


async def test_a_call_makes_these_events_in_this_order(loop: Any) -> None:
    await loop([call("echo", a=1), text("x")])
    act = [(e.path, e.n, e.type) for e in loop.events if e.path.startswith("act")]
    assert act == [
        ("act#1", 1, "node.started"),
        ("act#1", 2, "call.requested"),
        ("act#1/tool.echo.1@1", 1, "call.started"),
        ("act#1/tool.echo.1@1", 2, "call.finished"),
        ("act#1", 3, "call.answered"),
        ("act#1", 4, "node.finished"),
    ]


async def test_the_system_message_goal_and_conversation_before_open_the_request(loop: Any) -> None:
    history: list[Any] = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello", "calls": []},
    ]
    await loop([text("x")], history=history, goal="go", prompt="be kind")
    assert [(m["role"], m["content"]) for m in loop.model.requests[0].messages] == [
        ("system", "be kind"),
        ("user", "hi"),
        ("assistant", "hello"),
        ("user", "go"),
    ]


@pytest.mark.covers("B63")
async def test_calls_left_open_in_an_old_conversation_get_an_answer_before_the_first_request(
    loop: Any,
) -> None:
    open_ = [{"id": "a", "name": "mail", "arguments": "{}"}, {"id": "b", "name": "echo", "arguments": "{}"}]
    history: list[Any] = [
        {"role": "user", "content": "send it"},
        {"role": "assistant", "content": "", "calls": open_},
        {"role": "tool", "call_id": "b", "name": "echo", "content": "echo 0"},
        {"role": "user", "content": "and?"},
        {"role": "assistant", "content": "", "calls": [{"id": "c", "name": "mail", "arguments": "{}"}]},
    ]
    await loop([text("x")], history=history, prompt="")
    tools = [m for m in loop.model.requests[0].messages if m["role"] == "tool"]
    assert [m["call_id"] for m in tools] == ["b", "a", "c"]
    assert [json.loads(m["content"])["code"] for m in tools[1:]] == ["call.interrupted"] * 2
    roles = [m["role"] for m in loop.model.requests[0].messages]
    assert roles == ["user", "assistant", "tool", "tool", "user", "assistant", "tool", "user"]


async def test_answers_to_no_call_in_an_old_conversation_are_left_out(loop: Any) -> None:
    stray: Any = {"role": "tool", "call_id": "gone", "name": "mail", "content": "sent"}
    twice: Any = {"role": "tool", "call_id": "a", "name": "echo", "content": "echo 0"}
    asked: Any = {
        "role": "assistant",
        "content": "",
        "calls": [{"id": "a", "name": "echo", "arguments": "{}"}],
    }
    await loop([text("x")], history=[stray, asked, twice, twice], prompt="")
    roles = [m["role"] for m in loop.model.requests[0].messages]
    assert roles == ["assistant", "tool", "user"]


@pytest.mark.parametrize("how", ["none", "given", "raises"])
async def test_a_simulated_run_reads_really_and_writes_nothing(loop: Any, how: str) -> None:
    ran: list[int] = []

    def simulate(a: int) -> dict[str, int]:
        if how == "raises":
            raise ValueError("simulate broke")
        return {"would": a}

    def write(a: int) -> Any:
        ran.append(a)
        return "written"

    made = tool(mode="write", simulate=None if how == "none" else simulate)(write)
    loop.run.execution = ExecutionOptions(simulate=True)
    outcome = await loop([calls(call("write", a=1), call("echo", a=2)), text("x")], made)
    assert outcome.status == "completed"
    assert ran == []
    written, read = loop.told()
    assert read == "echo 2"
    assert (
        json.loads(written)
        == {
            "none": {"ok": True, "simulated": True, "unvalidated": True},
            "given": {"would": 1},
            "raises": {"ok": False, "error": "simulate broke", "code": "tool.failed", "hint": None},
        }[how]
    )


async def test_two_runs_at_once_do_not_share_a_simulation(loop: Any) -> None:
    ran: list[bool] = []

    @tool
    async def write() -> None:
        ran.append(True)

    other = type(loop)()
    other.run.execution = ExecutionOptions(simulate=True)
    script = [call("write"), text("x")]
    await asyncio.gather(loop(list(script), write), other(list(script), write))
    assert ran == [True]


@pytest.mark.covers("B52")
async def test_no_call_starts_after_a_stop_and_no_request_is_made(loop: Any) -> None:
    ran: list[str] = []

    @tool
    async def stop() -> str:
        loop.run.abort.set("user_stopped")
        return "stopping"

    @tool
    async def write() -> None:
        ran.append("later")

    outcome = await loop([calls(call("stop"), call("write"), call("write"), say="so far")], stop, write)
    assert (outcome.status, outcome.reason, outcome.value) == ("cancelled", "user_stopped", "so far")
    assert ran == []
    assert len(loop.model.requests) == 1
    finished = [e for e in loop.events if e.type == "call.finished"]
    assert [e.data["tool_id"] for e in finished] == ["stop"]
    assert loop.types()[-1] == "run.finished"


@pytest.mark.covers("B52")
async def test_a_tool_that_never_returns_is_ended_by_a_stop_with_its_record(loop: Any) -> None:
    cancelled = asyncio.Event()

    @tool
    async def hang() -> None:
        asyncio.get_running_loop().call_soon(loop.run.abort.set, "user_stopped")
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with asyncio.timeout(5):
        outcome = await loop([call("hang")], hang)
    assert outcome.status == "cancelled"
    assert cancelled.is_set()
    record = next(e for e in loop.events if e.type == "call.finished")
    assert record.data["status"] in {"cancelled", "unknown"}


async def test_a_tool_that_swallows_its_cancellation_is_left_behind_in_less_than_two_seconds(
    loop: Any,
) -> None:
    release = asyncio.Event()

    @tool
    async def stubborn() -> None:
        loop.run.abort.set("user_stopped")
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    async with asyncio.timeout(2):
        outcome = await loop([call("stubborn")], stubborn)
    assert outcome.status == "cancelled"
    release.set()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    if left:
        await asyncio.wait(left, timeout=5)


async def test_a_tool_that_raises_cancelled_error_itself_is_only_a_failed_call(loop: Any) -> None:
    @tool
    async def odd() -> None:
        raise asyncio.CancelledError

    outcome = await loop([call("odd"), text("x")], odd)
    assert outcome.status == "completed"
    assert json.loads(loop.told()[0])["ok"] is False


@pytest.mark.parametrize("missing", ["tools", "models"])
async def test_a_run_that_lacks_tools_or_models_fails_with_the_reason(missing: str) -> None:
    run = Run(id="r", models=None if missing == "models" else lambda _name: ScriptedModel([text("x")]))
    if missing == "models":
        run.tools = ToolRegistry()
    outcome = await run_loop(LoopConfig(), "go", run)
    assert (outcome.status, outcome.reason) == ("failed", f"workflow.no_{missing}")
