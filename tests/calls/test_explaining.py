"""What is explained of a call is what the gate then does, and nothing is done to find out."""

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callboard import Abort, Decision, Injected, Principal, ToolError, ToolRegistry, secret, tool
from callboard.calls.explaining import ANYTHING, Explanation
from callboard.events import ApprovalAsked
from callboard.policy import CallView, ModePolicy
from callboard.types import ApprovalAnswer, ApprovalRequest, ExecutionOptions

BOUND = 20.0
ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@tool(mode="read")
def look(a: int) -> int:
    """Look."""
    ran.append("look")
    return a


def preview(a: int) -> str:
    ran.append("preview")
    return f"would save {a}"


@tool(simulate=preview, serial=True)
async def save(a: int) -> str:
    """Save."""
    ran.append("save")
    return f"saved {a}"


@tool(agents=["scout"])
def send(to: str = "nobody") -> str:
    """Send."""
    ran.append("send")
    return to


class Yes:
    """Agrees to everything."""

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        return ApprovalAnswer(allowed=True, digest=request.digest, by="yes")


async def slowly(view: CallView) -> Decision:
    await asyncio.sleep(0)
    return Decision("ask" if view.kind == "write" else "allow", ("slowly",))


def strict(view: CallView) -> Decision:
    return Decision("deny" if view.arguments.get("a") == 2 else "ask", ("twos are denied",))


def broken(_view: CallView) -> Decision:
    raise ValueError("broken")


def no_decision(_view: CallView) -> Any:
    return "allow"


POLICIES: dict[str, Any] = {
    "none": None,
    "default": ModePolicy(),
    "free": ModePolicy(write="allow"),
    "closed": ModePolicy(read="deny", write="deny"),
    "slowly": slowly,
    "strict": strict,
    "broken": broken,
    "no decision": no_decision,
}
ARGUMENTS: list[Any] = [
    {"a": 1}, {"a": 2}, '{"a": 1}', {"a": "1"}, {"a": "x"}, {}, "", None, "{", {"b": 1},
    '{"a":1,"a":2}', [1], {"to": "x"},
]  # fmt: skip
GRANTS = [None, frozenset({"look"}), frozenset({"save", "send"}), frozenset[str]()]


def only_ada(_tool: Any, options: ExecutionOptions) -> bool:
    return options.principal is not None and options.principal.user == "ada"


def registry(policy: str, *, approver: bool, visible: bool) -> ToolRegistry[Any]:
    return ToolRegistry(
        authorize=POLICIES[policy],
        approver=Yes() if approver else None,
        visible=only_ada if visible else None,
    ).register_all([look, save, send])


async def done(tools: ToolRegistry[Any], name: str, raw: Any, options: ExecutionOptions) -> tuple[str, Any]:
    """What the gate does: a verdict in the words of an explanation, and the code of the error."""
    code = None
    try:
        await tools.invoke_async(name, raw, execution=options)
    except ToolError as error:
        code = error.code
    record: Any = tools.events[-1]
    asked = any(isinstance(event, ApprovalAsked) for event in tools.events)
    if code is None:
        return ("ask" if asked else "allow"), None
    denied = record.status == "denied" or code in {"tool.unavailable", "tool.ambiguous"}
    return ("deny" if denied else "fail"), code


@dataclass(frozen=True)
class Case:
    """A call, and what surrounds it."""

    name: str
    raw: Any
    policy: str
    agent: str | None
    grant: frozenset[str] | None
    user: str | None
    simulate: bool
    approver: bool
    visible: bool

    def options(self) -> ExecutionOptions:
        principal = None if self.user is None else Principal(self.user)
        return ExecutionOptions(
            agent=self.agent, grant=self.grant, simulate=self.simulate, principal=principal
        )


CASES = st.builds(
    Case,
    name=st.sampled_from(["look", "save", "send", "sned"]),
    raw=st.sampled_from(ARGUMENTS),
    policy=st.sampled_from(sorted(POLICIES)),
    agent=st.sampled_from([None, "main", "main/scout"]),
    grant=st.sampled_from(GRANTS),
    user=st.sampled_from([None, "ada", "bob"]),
    simulate=st.booleans(),
    approver=st.booleans(),
    visible=st.booleans(),
)


@given(CASES)
@settings(max_examples=400, deadline=None)
def test_what_is_explained_is_what_the_gate_then_does(case: Case) -> None:
    async def both() -> tuple[Explanation, tuple[str, Any]]:
        tools = registry(case.policy, approver=case.approver, visible=case.visible)
        options = case.options()
        ran.clear()
        told = await tools.explain(case.name, case.raw, execution=options)
        assert ran == []
        assert list(tools.events) == []
        made = await done(tools, case.name, case.raw, options)
        if told.arguments is not None and made[0] in {"allow", "ask"}:
            record: Any = tools.events[-1]
            assert (told.arguments, told.repaired, told.simulated) == (
                record.arguments,
                record.repaired,
                record.simulated,
            )
        return told, made

    told, made = asyncio.run(asyncio.wait_for(both(), BOUND))
    assert (told.verdict, told.code) == made
    assert told.certain


def test_every_profile_of_a_policy_is_told_the_same_way() -> None:
    for policy, raw in itertools.product(sorted(POLICIES), ({"a": 1}, {"a": 2})):
        tools = registry(policy, approver=True, visible=False)
        told = asyncio.run(tools.explain("save", raw))
        assert (told.verdict, told.code) == asyncio.run(done(tools, "save", raw, ExecutionOptions())), policy


async def test_the_steps_tell_the_way_of_a_call() -> None:
    tools = registry("default", approver=True, visible=False)
    told = await tools.explain("save", {"a": "1"}, execution=ExecutionOptions(agent="main", simulate=False))
    assert [(step.step, step.outcome) for step in told.steps] == [
        ("find", "passes"),
        ("arguments", "passes"),
        ("policy", "passes"),
        ("approval", "note"),
        ("turn", "note"),
        ("run", "note"),
    ]
    assert told.steps[1].text == "they fit after a repair"
    assert told.steps[2].text == "ask: default policy: write = ask"
    assert told.steps[-1].text == "it runs; a simulation asks the tool's own `simulate`"
    assert told.to_json()["steps"][0] == {
        "step": "find",
        "outcome": "passes",
        "text": "a write, registered by host; every tool is granted; every agent may see it",
    }


async def test_a_tool_that_is_there_and_not_for_this_agent_is_told_apart_from_one_that_is_not() -> None:
    tools = registry("free", approver=False, visible=False)
    hidden = await tools.explain(
        "send", {}, execution=ExecutionOptions(agent="main", grant=frozenset({"look"}))
    )
    assert hidden.code == "tool.unavailable"
    assert (
        hidden.steps[0].text
        == "it is there, and not for this agent: its grant is look; the tool is for scout"
    )
    absent = await tools.explain("sned", {})
    assert (absent.code, len(absent.steps)) == ("tool.unavailable", 1)


async def test_hooks_are_named_and_not_run_and_the_answer_is_not_the_last_word() -> None:
    def rewriting(_view: CallView) -> None:
        ran.append("hook")

    tools = ToolRegistry(before=[rewriting]).register(look)
    told = await tools.explain("look", {"a": 1})
    assert (told.verdict, told.certain, ran) == ("allow", False, [])
    assert "rewriting" in told.steps[2].text
    assert (await tools.explain("look", {"a": "x"})).certain


async def test_what_only_the_host_can_give_has_the_last_word() -> None:
    @tool
    def post(user: Injected[str], token: str = secret("TOKEN")) -> None: ...

    tools = ToolRegistry(authorize=ModePolicy(write="allow")).register(post)
    told = await tools.explain("post", {})
    assert (told.verdict, told.certain) == ("allow", False)
    assert "secrets and injected values" in told.steps[-2].text
    assert (await tools.explain("post", {}, execution=ExecutionOptions(simulate=True))).certain
    assert (await tools.explain("post", {"token": "x"})).certain


async def test_a_parser_that_exits_ends_the_explanation_and_nothing_else() -> None:
    def exits(_raw: Any) -> None:
        raise SystemExit(3)

    tools = ToolRegistry().register(
        {"id": "own", "kind": "read", "parse_input": exits, "execute": ran.append, "parse_output": exits}
    )
    told = await tools.explain("own", {})
    assert (told.verdict, told.code) == await done(tools, "own", {}, ExecutionOptions())


@pytest.mark.parametrize("name", [5, [], None])
async def test_what_is_no_name_is_answered_as_the_gate_answers_it(name: Any) -> None:
    tools = ToolRegistry().register(look)

    told = await tools.explain(name)

    with pytest.raises(ToolError) as caught:
        tools.invoke(name)
    assert (told.verdict, told.code) == ("deny", caught.value.code) == ("deny", "tool.unavailable")


@pytest.mark.parametrize("deadline", [0.0, -1.0])
async def test_a_call_that_could_not_start_any_more_is_told_so(deadline: float) -> None:
    abort = Abort()
    abort.set()
    tools = ToolRegistry().register(look)

    stopped = await tools.explain("look", {}, execution=ExecutionOptions(abort=abort))
    late = await tools.explain("look", {}, execution=ExecutionOptions(deadline=deadline))

    assert (stopped.verdict, stopped.code, stopped.certain) == ("fail", "call.cancelled", True)
    assert (late.verdict, late.code, late.certain) == ("fail", "call.deadline", True)


async def test_arguments_can_be_left_open() -> None:
    tools = registry("default", approver=True, visible=False)
    told = await tools.explain("save", ANYTHING)
    assert (told.verdict, told.certain, told.arguments) == ("ask", False, None)


@pytest.mark.parametrize("make", [lambda: {1: object()}, object])
async def test_whatever_the_arguments_are_it_is_an_answer(make: Callable[[], Any]) -> None:
    raw = make()
    tools = registry("free", approver=False, visible=False)
    told = await tools.explain("look", raw)
    assert (told.verdict, told.code) == await done(tools, "look", raw, ExecutionOptions())
