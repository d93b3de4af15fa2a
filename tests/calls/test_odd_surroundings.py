"""People, policies, hooks and factories that misbehave end their own call only, and as denied."""

# Much of what is handed over here has the wrong type on purpose.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnnecessaryTypeIgnoreComment=false, reportOptionalMemberAccess=false

import asyncio
import gc
from collections import OrderedDict
from typing import Any

import pytest

from callboard import Decision, ToolError, tool
from callboard.errors import Aborted, Denied, OutcomeUnknown
from callboard.policy import CallView, ModePolicy
from callboard.types import ApprovalAnswer, ApprovalRequest, ExecutionOptions, PendingCall
from tests.calls.surroundings import BOUND, boom, code_of, one, records, registry


class Person:
    def __init__(self, **answer: Any) -> None:
        self.answer = answer
        self.asked: list[ApprovalRequest] = []

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        answer: dict[str, Any] = {"allowed": True, "digest": request.digest, **self.answer}
        return ApprovalAnswer(**answer)


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
