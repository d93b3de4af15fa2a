"""What the gate would decide about a call, and why, told without making it.

Each step asks the function that the gate asks at this step. No tool, simulation or hook runs and no person is
asked: where a hook may have a word, the answer says that it is not the last one.
"""

from collections.abc import Iterator
from enum import Enum
from time import monotonic_ns
from typing import Any, Literal

from msgspec import Struct, to_builtins

from callboard.calls.decide import decide, denied, whom_to_ask
from callboard.calls.failures import failure_of, hidden, not_now, unavailable
from callboard.calls.inherit import inherited
from callboard.calls.ports import Ports, frame_around
from callboard.catalog import Snapshot
from callboard.errors import Denied, InternalError, ToolError, Unavailable
from callboard.policy import CallView
from callboard.tools import RegisteredTool
from callboard.tools.entry import Parsed
from callboard.types import ExecutionOptions
from callboard.workers import Ended

_ID = "explained"  # the id of a call that is never made
StepName = Literal["find", "arguments", "hooks", "policy", "approval", "turn", "run"]
StepOutcome = Literal["passes", "stops", "note"]
Outcome = Literal["allow", "ask", "deny", "fail"]


class Anything(Enum):
    """In the place of arguments that are not known."""

    ANYTHING = "arguments that are left open"


ANYTHING = Anything.ANYTHING


class Step(Struct, frozen=True):
    """One step of the gate: whether the call passes it (`note`: it does not decide here), and why."""

    step: StepName
    outcome: StepOutcome
    text: str


class Explanation(Struct, frozen=True):
    """What would become of a call.

    Attributes:
        tool: the id that was asked about.
        kind: the tool's kind; None where there is no such tool for this agent.
        agent: whose call it would be.
        verdict: `allow`; `ask`: a person decides; `deny`: it may not; `fail`: its arguments are refused.
        certain: whether nothing else has a word, such as a hook, a source of secrets, or arguments left open.
        code: of the error that the call would end with; None for `allow` and `ask`.
        message: of that error.
        hint: the next step.
        arguments: the JSON text that would run; None where there is none.
        repaired: whether the arguments needed a repair.
        simulated: whether the call would be simulated.
        reasons: of the policy.
        steps: the way, in the gate's order, as far as the call comes.
    """

    tool: str
    kind: str | None
    agent: str | None
    verdict: Outcome
    certain: bool
    code: str | None
    message: str
    hint: str | None
    arguments: str | None
    repaired: bool
    simulated: bool
    reasons: tuple[str, ...]
    steps: tuple[Step, ...]

    def to_json(self) -> dict[str, Any]:
        """The explanation as JSON."""
        return to_builtins(self)


async def explain(
    ports: Ports,
    snapshot: Snapshot,
    tool_id: str,
    raw: Any,
    options: ExecutionOptions,
    owner: str | None = None,
) -> Explanation:
    """Go the way of a call as far as it would come, without making it.

    Args:
        ports: the gate's surroundings.
        snapshot: the tools.
        tool_id: the tool.
        raw: its arguments, or `ANYTHING`.
        options: those of the call.
        owner: who contributed the tool.
    """
    if (frame := frame_around()) is not None:
        options = inherited(frame, ports, options)
    way = _Way(ports, snapshot, tool_id, options)
    try:
        await way.go(raw, owner)
    except ToolError as error:
        way.refuse(error)
    except Ended as ended:
        way.refuse(ended.error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as the gate: a fault, whose text is not shown
        made = InternalError(f"Callboard failed: {type(error).__name__}")
        made.__cause__ = error
        way.refuse(made)
    return way.told()


def of_the_engine(tool_id: str, agent: str) -> Explanation:
    """Of a tool that an engine answers itself: it comes to no gate."""
    step = Step("find", "passes", "one of the engine's own tools: it is answered without the gate")
    return Explanation(
        tool_id,
        kind=None,
        agent=agent,
        verdict="allow",
        certain=True,
        code=None,
        message="",
        hint=None,
        arguments=None,
        repaired=False,
        simulated=False,
        reasons=(),
        steps=(step,),
    )


class _Way:
    """One explanation while it is made."""

    def __init__(self, ports: Ports, snapshot: Snapshot, tool_id: str, options: ExecutionOptions) -> None:
        self._ports = ports
        self._snapshot = snapshot
        self._tool_id = tool_id
        self._options = options
        self._tool: RegisteredTool | None = None
        self._parsed: Parsed = (None, None, False)
        self._open = False  # the arguments are not known
        self._verdict: Outcome = "allow"
        self._reasons: tuple[str, ...] = ()
        self._error: ToolError | None = None
        self._at: StepName = "find"
        self._steps: list[Step] = []

    async def go(self, raw: Any, owner: str | None) -> None:
        tool = self._tool = self._found(owner)
        abort, deadline = self._options.abort, self._options.deadline
        if (abort is not None and abort.aborted) or (deadline is not None and deadline <= 0):
            raise not_now(self._tool_id, (), abort, needs_async=False)
        self._at = "arguments"
        self._parse(tool, raw)
        self._at = "hooks"
        if self._ports.before:
            names = ", ".join(
                getattr(hook, "__qualname__", type(hook).__qualname__) for hook in self._ports.before
            )
            self._say("note", f"not run here, and may refuse or rewrite the call: {names}")
        self._at = "policy"
        await self._decide(tool)
        self._at = "turn"
        if tool.turn is not None:
            self._say("note", f"it waits for its turn: {tool.turn}")
        self._at = "run"
        if self._supplied(tool):
            self._say(
                "note", "secrets and injected values are fetched for the call itself: not looked for here"
            )
        self._say("note", _running(tool, simulate=self._options.simulate is True))

    def refuse(self, error: ToolError) -> None:
        self._error = error
        self._verdict = "deny" if isinstance(error, Denied | Unavailable) else "fail"
        if isinstance(error, Denied):
            self._reasons = error.reasons
        self._say("stops", str(error))

    def told(self) -> Explanation:
        tool, failure = self._tool, None
        if self._error is not None:
            failure = failure_of(self._ports, self._error)
        return Explanation(
            self._tool_id,
            None if tool is None else tool.kind,
            self._options.agent,
            self._verdict,
            self._certain(),
            None if failure is None else failure.code,
            "" if failure is None else failure.message,
            None if failure is None else failure.hint,
            self._parsed[1],
            self._parsed[2],
            self._options.simulate is True and tool is not None and tool.kind != "read",
            self._reasons,
            tuple(self._steps),
        )

    def _certain(self) -> bool:
        """Whether nothing has a word that was not asked here."""
        if self._tool is None or self._at == "arguments":
            return True
        if self._ports.before or self._open:
            return False
        return self._error is not None or not self._supplied(self._tool)

    def _supplied(self, tool: RegisteredTool) -> bool:
        """Whether the call would need what only the host can give."""
        simulated = self._options.simulate is True and tool.kind != "read"
        return bool(tool.simulate_needs if simulated else tool.needs)

    def _say(self, outcome: StepOutcome, text: str) -> None:
        self._steps.append(Step(self._at, outcome, text))

    def _found(self, owner: str | None) -> RegisteredTool:
        tool = self._snapshot.tools.get(self._tool_id)
        if tool is None or hidden(self._ports, tool, self._options):
            error = unavailable(self._ports, self._snapshot, self._tool_id, self._options)
            if tool is not None:  # the operator may know what an agent may not
                self._say(
                    "stops", f"it is there, and not for this agent: {'; '.join(self._why_hidden(tool))}"
                )
            raise error
        told = f"a {tool.kind}" + ("" if owner is None else f", registered by {owner}")
        self._say("passes", "; ".join((told, *self._why_seen(tool))))
        return tool

    def _why_hidden(self, tool: RegisteredTool) -> Iterator[str]:
        options = self._options
        if options.grant is not None and tool.id not in options.grant:
            yield f"its grant is {', '.join(sorted(options.grant)) or 'empty'}"
        if tool.agents is not None:
            yield f"the tool is for {', '.join(sorted(tool.agents))}"
        if self._ports.visible is not None:
            yield "`visible` of the registry has a word"

    def _why_seen(self, tool: RegisteredTool) -> Iterator[str]:
        options = self._options
        yield "every tool is granted" if options.grant is None else "it is in the grant"
        yield (
            "every agent may see it" if tool.agents is None else f"it is for {', '.join(sorted(tool.agents))}"
        )

    def _parse(self, tool: RegisteredTool, raw: Any) -> None:
        self._open = isinstance(raw, Anything)
        if self._open:
            self._say("note", "left open: they are not checked, and the policy does not see them")
            return
        self._parsed = tool.parse(raw)
        self._say("passes", "they fit" + (" after a repair" if self._parsed[2] else ""))

    async def _decide(self, tool: RegisteredTool) -> None:
        ports = self._ports
        key = self._options.call_key or _ID
        view = CallView(tool, "{}" if self._open else self._parsed[1], _ID, key, self._options)
        decision = await decide(ports, view, monotonic_ns(), sync=False)
        self._reasons, self._verdict = decision.reasons, decision.verdict
        if decision.verdict == "deny":
            raise denied(decision)
        said = "; ".join(decision.reasons) or "no reason given"
        self._say("passes", f"{decision.verdict}: {said}")
        if decision.verdict == "ask":
            self._at = "approval"
            approver, _ = whom_to_ask(ports, view, decision)
            self._say("note", f"would be asked: {getattr(approver, 'name', type(approver).__name__)}")


def _running(tool: RegisteredTool, *, simulate: bool) -> str:
    if tool.kind == "read":
        return "it runs; a simulation runs it, too, because it is a read"
    preview = (
        "a simulation asks the tool's own `simulate`"
        if tool.simulate is not None
        else "a simulation answers ok without running it, marked unvalidated"
    )
    return f"simulated: {preview}" if simulate else f"it runs; {preview}"
