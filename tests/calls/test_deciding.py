"""Authorisers, people, hooks, the barrier: who may stop a call, and what binds them."""

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from callboard import Abort, Decision, Principal, ToolError, ToolRegistry, tool
from callboard.errors import OutcomeUnknown
from callboard.events import ApprovalAnswered, ApprovalAsked, CallStarted
from callboard.policy import CallView, ModePolicy
from callboard.types import ApprovalAnswer, ApprovalRequest, ExecutionOptions, PendingCall

BOUND = 5.0
ran: list[dict[str, Any]] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@tool
async def save(name: str, text: str = "") -> str:
    """Save a note."""
    ran.append({"name": name, "text": text})
    return f"saved {name}"


@tool(mode="read")
def look() -> str:
    return "seen"


class Person:
    """An approver whose answers are written by the test."""

    def __init__(self, answer: Callable[[ApprovalRequest], Any]) -> None:
        self.answer = answer
        self.asked: list[ApprovalRequest] = []

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        answer = self.answer(request)
        return await answer if asyncio.iscoroutine(answer) else answer


def yes(request: ApprovalRequest) -> ApprovalAnswer:
    return ApprovalAnswer(allowed=True, digest=request.digest, by="ada")


def registry(**options: Any) -> ToolRegistry:
    options.setdefault("authorize", ModePolicy())
    return ToolRegistry(**options).register_all([save, look])


Said = Callable[[ApprovalRequest], Any]
ANSWERS: list[tuple[Said, str]] = [
    (lambda r: ApprovalAnswer(False, r.digest, "not today"), "approval.denied"),
    (lambda r: ApprovalAnswer(True, "of another call"), "approval.stale"),
    (lambda r: True, "approval.failed"),
    (lambda r: ApprovalAnswer("yes", r.digest), "approval.denied"),  # type: ignore[arg-type]
    (lambda r: 1 / 0, "approval.failed"),
]
Policy = Callable[[CallView], Any]


def code_of(caught: pytest.ExceptionInfo[ToolError]) -> str:
    return caught.value.code


async def test_by_default_a_read_runs_a_write_asks_and_nobody_there_denies() -> None:
    tools = registry()

    assert (await tools.invoke_async("look")).value == "seen"
    with pytest.raises(ToolError) as caught:
        await tools.invoke_async("save", {"name": "a"})

    record = caught.value.invocation
    assert (code_of(caught), record.status, record.verdict) == ("approval.no_approver", "denied", "deny")
    assert record.reasons == ("default policy: write = ask", "nobody is there to ask")
    assert ran == []


async def test_a_profile_may_let_writes_run() -> None:
    tools = registry(authorize=ModePolicy(write="allow", source="profile loop"))

    result = await tools.invoke_async("save", {"name": "a"})

    assert result.invocation.reasons == ("profile loop: write = allow",)


async def test_a_person_sees_exactly_what_runs_and_the_answer_is_recorded() -> None:
    person = Person(yes)
    tools = registry(approver=person)

    await tools.invoke_async("save", '{"name": "a",  "text": "b"}', execution=ExecutionOptions(agent="main"))

    request = person.asked[0]
    assert (request.tool_id, request.kind, request.agent) == ("save", "write", "main")
    assert request.arguments == '{"name": "a",  "text": "b"}'
    assert ran == [{"name": "a", "text": "b"}]
    facts = list(tools.events)
    assert [type(f) for f in facts[:3]] == [ApprovalAsked, ApprovalAnswered, CallStarted]
    assert facts[2].reasons == ("default policy: write = ask", "approved by ada")  # type: ignore[union-attr]


@pytest.mark.parametrize(("answer", "code"), ANSWERS)
async def test_anything_but_a_bound_yes_denies(answer: Said, code: str) -> None:
    with pytest.raises(ToolError) as caught:
        await registry(approver=Person(answer)).invoke_async("save", {"name": "a"})

    assert code_of(caught) == code
    assert caught.value.invocation.status == "denied"
    assert ran == []


async def test_the_callers_dict_may_change_while_the_person_is_asked() -> None:
    arguments = {"name": "a", "text": "as shown"}

    def change(request: ApprovalRequest) -> ApprovalAnswer:
        arguments["text"] = "changed"
        return yes(request)

    await registry(approver=Person(change)).invoke_async("save", arguments)

    assert ran == [{"name": "a", "text": "as shown"}]


async def test_edited_arguments_are_parsed_and_decided_again() -> None:
    def edit(text: str) -> Person:
        return Person(lambda r: ApprovalAnswer(True, r.digest, arguments=text, by="ada"))

    def policy(view: CallView) -> Decision:
        return Decision("deny", ("not b",)) if view.arguments["name"] == "b" else Decision("ask")

    good = await registry(approver=edit('{"name": "c"}'), authorize=policy).invoke_async(
        "save", {"name": "a"}
    )
    with pytest.raises(ToolError) as refused:
        await registry(approver=edit('{"name": "b"}'), authorize=policy).invoke_async("save", {"name": "a"})
    with pytest.raises(ToolError) as illegal:
        await registry(approver=edit('{"nam": "b"}'), authorize=policy).invoke_async("save", {"name": "a"})

    assert json.loads(good.invocation.arguments or "") == {"name": "c"}
    assert good.invocation.reasons[-1] == "edited and approved by ada"
    assert (str(refused.value), code_of(illegal)) == ("not b", "args.unknown")
    assert ran == [{"name": "c", "text": ""}]


async def test_an_edit_reaches_a_parser_of_the_tools_own_as_a_value_and_must_be_json() -> None:
    def edited(text: str) -> ToolRegistry:
        own: Any = SimpleNamespace(id="own", kind="write", parse_input=repr, execute=str, parse_output=str)
        person = Person(lambda r: ApprovalAnswer(True, r.digest, arguments=text, by="ada"))
        return ToolRegistry(authorize=lambda _: Decision("ask"), approver=person).register(own)

    good = await edited('{"name": "c"}').invoke_async("own", {"name": "a"})
    with pytest.raises(ToolError) as broken:
        await edited("{name").invoke_async("own", {"name": "a"})

    assert good.value == "{'name': 'c'}"
    assert code_of(broken) == "args.not_json"


async def test_several_people_are_asked_at_once_and_each_answer_goes_to_its_call() -> None:
    waiting: dict[str, asyncio.Future[ApprovalAnswer]] = {}

    def later(request: ApprovalRequest) -> Any:
        waiting[request.arguments] = asyncio.get_running_loop().create_future()

        async def wait() -> ApprovalAnswer:
            return await waiting[request.arguments]

        return wait()

    person = Person(later)
    tools = registry(approver=person)
    batch = asyncio.create_task(tools.invoke_batch([("save", {"name": n}) for n in "abc"] + [("look", {})]))
    async with asyncio.timeout(BOUND):
        while len(waiting) < 3:
            await asyncio.sleep(0)
    for request in reversed(person.asked):
        allowed = "b" not in request.arguments
        waiting[request.arguments].set_result(ApprovalAnswer(allowed, request.digest))

    outcomes = await asyncio.wait_for(batch, BOUND)
    assert [o.ok for o in outcomes] == [True, False, True, True]
    assert sorted(r["name"] for r in ran) == ["a", "c"]


async def test_an_abort_ends_the_asking() -> None:
    abort = Abort()

    def never(_request: ApprovalRequest) -> Any:
        abort.set("closing")
        return asyncio.sleep(BOUND)

    with pytest.raises(ToolError) as caught:
        await registry(approver=Person(never)).invoke_async("save", {"name": "a"}, abort=abort)

    assert caught.value.invocation.status == "cancelled"


async def test_the_deadline_stands_still_while_a_person_is_asked() -> None:
    async def slowly(request: ApprovalRequest) -> ApprovalAnswer:
        await asyncio.sleep(0.15)
        return yes(request)

    tools = registry(approver=Person(slowly))

    result = await tools.invoke_async("save", {"name": "a"}, execution=ExecutionOptions(deadline=0.1))

    assert (result.invocation.status, result.invocation.late) == ("ok", False)
    assert result.invocation.duration_ns < 0.1e9


async def test_a_call_inside_one_that_waited_for_a_person_has_the_time_that_is_left() -> None:
    async def slowly(request: ApprovalRequest) -> ApprovalAnswer:
        await asyncio.sleep(0.15)
        return yes(request)

    tools = registry(approver=Person(slowly))

    @tool
    async def outer() -> str:
        return (await tools.invoke_async("look")).value

    tools.register(outer)
    result = await tools.invoke_async("outer", execution=ExecutionOptions(deadline=0.1))

    assert result.value == "seen"


def broken(_view: CallView) -> Decision:
    raise RuntimeError("no rules")


async def broken_later(_view: CallView) -> Decision:
    await asyncio.sleep(0)
    raise RuntimeError("no rules")


FAILING: list[Policy] = [broken, broken_later, lambda _v: True, lambda _v: None]


@pytest.mark.parametrize("policy", FAILING)
async def test_a_policy_that_fails_denies(policy: Policy) -> None:
    with pytest.raises(ToolError) as caught:
        await registry(authorize=policy).invoke_async("look")

    assert (code_of(caught), caught.value.invocation.status) == ("permission.policy_failed", "denied")


async def allow_later(_view: CallView) -> Decision:
    await asyncio.sleep(0)
    return Decision("allow", ("later",))


@pytest.mark.parametrize("way", ["authorize", "ask", "before"])
def test_a_sync_call_that_meets_anything_that_waits_is_denied(way: str) -> None:
    async def hook(_view: CallView) -> None:
        await asyncio.sleep(0)

    options: dict[str, dict[str, Any]] = {
        "authorize": {"authorize": allow_later},
        "ask": {"authorize": ModePolicy(read="ask"), "approver": Person(yes)},
        "before": {"authorize": None, "before": [hook]},
    }
    with pytest.raises(ToolError) as caught:
        registry(**options[way]).invoke("look")

    assert code_of(caught) == "approval.needs_async"
    assert caught.value.invocation.status == "denied"


async def test_an_async_authoriser_is_awaited() -> None:
    result = await registry(authorize=allow_later).invoke_async("look")

    assert result.invocation.reasons == ("later",)


async def test_a_hooks_rewrite_is_parsed_again_and_is_what_the_person_sees_and_what_runs() -> None:
    person = Person(yes)

    def force(view: CallView) -> dict[str, Any]:
        return view.arguments | {"text": "rewritten"}

    async def check(view: CallView) -> None:
        assert view.arguments["text"] == "rewritten"

    await registry(approver=person, before=[force, check]).invoke_async("save", {"name": "a"})

    assert json.loads(person.asked[0].arguments) == {"name": "a", "text": "rewritten"} == ran[0]


BAD_HOOKS: list[tuple[Policy, str]] = [
    (lambda _v: {"nam": 1}, "args.unknown"),
    (lambda _v: 1 / 0, "permission.hook_failed"),
]


@pytest.mark.parametrize(("hook", "code"), BAD_HOOKS)
async def test_a_hook_that_fails_or_rewrites_badly_stops_the_call(hook: Policy, code: str) -> None:
    with pytest.raises(ToolError) as caught:
        await registry(before=[hook], authorize=None).invoke_async("save", {"name": "a"})

    assert code_of(caught) == code
    assert ran == []


async def test_the_policy_is_asked_again_when_it_changed_while_the_call_waited() -> None:
    epoch, rule = [1], [Decision("allow")]
    entered, released = asyncio.Event(), asyncio.Event()

    @tool(serial="r", name="slow")
    async def slow() -> None:
        entered.set()
        await released.wait()

    tools = ToolRegistry(authorize=lambda _v: rule[0], policy_epoch=lambda: epoch[0]).register(slow)
    first = asyncio.create_task(tools.invoke_async("slow"))
    await entered.wait()
    second = asyncio.create_task(tools.invoke_async("slow"))
    await asyncio.sleep(0)
    epoch[0], rule[0] = 2, Decision("deny", ("tightened",))
    released.set()

    await asyncio.wait_for(first, BOUND)
    with pytest.raises(ToolError, match="tightened") as caught:
        await asyncio.wait_for(second, BOUND)
    assert caught.value.invocation.status == "denied"


async def test_an_approval_does_not_survive_a_change_of_policy() -> None:
    epoch = [1]

    def tighten(request: ApprovalRequest) -> ApprovalAnswer:
        epoch[0] = 2
        return yes(request)

    tools = registry(approver=Person(tighten), policy_epoch=lambda: epoch[0])
    with pytest.raises(ToolError) as caught:
        await tools.invoke_async("save", {"name": "a"})

    assert code_of(caught) == "approval.stale"


async def test_the_barrier_has_the_last_word() -> None:
    begun: list[PendingCall] = []

    async def barrier(call: PendingCall) -> None:
        begun.append(call)
        if len(begun) > 1:
            raise OutcomeUnknown("it had begun before the crash")

    tools = registry(authorize=None)
    options = ExecutionOptions(call_key="r save.1", barrier=barrier)

    await tools.invoke_async("save", {"name": "a"}, execution=options)
    with pytest.raises(ToolError) as caught:
        await tools.invoke_async("save", {"name": "a"}, execution=options)

    assert (begun[0].call_key, begun[0].kind, begun[0].idempotent) == ("r save.1", "write", False)
    assert caught.value.invocation.status == "unknown"
    assert len(ran) == 1


async def test_an_approver_of_the_call_goes_before_the_registrys() -> None:
    mine, theirs = Person(yes), Person(yes)

    await registry(approver=theirs).invoke_async(
        "save", {"name": "a"}, execution=ExecutionOptions(approver=mine)
    )

    assert (len(mine.asked), len(theirs.asked)) == (1, 0)


async def test_arguments_that_are_no_json_can_not_be_asked_for() -> None:
    raw = object()
    own: dict[str, Any] = {
        "id": "own",
        "kind": "x",
        "parse_input": lambda v: v,  # pyright: ignore[reportUnknownLambdaType]
        "execute": lambda: 1,
        "parse_output": lambda v: v,  # pyright: ignore[reportUnknownLambdaType]
    }
    tools = ToolRegistry(authorize=ModePolicy(), approver=Person(yes)).register(own)
    with pytest.raises(ToolError) as caught:
        await tools.invoke_async("own", raw)

    assert code_of(caught) == "approval.not_json"


async def test_the_principal_reaches_policy_and_record() -> None:
    def only_ada(view: CallView) -> Decision:
        return Decision("allow") if view.principal == ("ada", None) else Decision("deny", ("only ada",))

    tools = registry(authorize=only_ada)
    await tools.invoke_async("look", execution=ExecutionOptions(principal=Principal("ada")))
    with pytest.raises(ToolError, match="only ada"):
        await tools.invoke_async("look", execution=ExecutionOptions(principal=Principal("bob")))
