"""The registry's tools inside a node: each call is a step, and so is the answer of a person who is asked."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from callboard.errors import CallCancelled, OutcomeUnknown
from callboard.events import (
    CallEvent,
    DiagnosticContext,
    DiagnosticScope,
    EventName,
    call_event_to_json,
)
from callboard.types import (
    Abort,
    ApprovalAnswer,
    ApprovalRequest,
    Approver,
    ExecutionOptions,
    PendingCall,
    ToolInvocationRequest,
    ToolResult,
)
from callboard.workflow.receipts import envelope_of, failed, result_of, succeeded
from callboard.workflow.recorded import Json, recalled, valued
from callboard.workflow.run import Run, Tools
from callboard.workflow.stops import bounded

Work = Callable[[str], Awaitable[Json]]
# Draws the id of a step at once, and takes the step when called: what is never awaited is never made.
TakeStep = Callable[[str, Work, str], Callable[[], Awaitable[Json]]]

# Seconds that the gate gets to end a stopped call with its record: more than it gives the tool itself.
PATIENCE = 1.5


@dataclass(frozen=True, slots=True)
class _Call:
    tool_id: str
    input: Any
    agent: str | None
    grant: frozenset[str] | None
    request: ToolInvocationRequest | None = None


class BoundTools:
    """The tools of a run, bound to one node visit. Values are JSON here, whatever the tool returned."""

    __slots__ = ("_run", "_take")

    def __init__(self, run: Run, take: TakeStep) -> None:
        self._run = run
        self._take = take

    def invoke(self, request: str | ToolInvocationRequest, input: Any = None) -> Awaitable[ToolResult[Any]]:  # noqa: A002 - seed 003's word
        """Call a tool as a step; the step's id is drawn here, not when it is awaited.

        Returns:
            To be awaited: the result; its value as JSON, its invocation the receipt.

        Raises:
            ToolError: when awaited: the call did not succeed; `invocation` is the receipt.
        """
        if isinstance(request, ToolInvocationRequest):
            call = _Call(request.tool_id, request.input, None, None, request)
        else:
            call = _Call(request, input, None, None)
        recorded = self._recorded(call)

        async def result() -> ToolResult[Any]:
            return result_of(await recorded())

        return result()

    def call(
        self,
        tool_id: str,
        input: Any = None,  # noqa: A002 - as in `invoke`
        *,
        agent: str | None = None,
        grant: frozenset[str] | None = None,
    ) -> Awaitable[dict[str, Json]]:
        """Call a tool as a step, for a model: the envelope of what came of it; a failure is one, too.

        The envelope has `ok`, `text` (what the model sees), `status`, `simulated` and `invocation_id`; on
        success `value`, and `parts` where there are typed ones; on failure `error`, `code` and `hint`.

        Args:
            tool_id: the tool.
            input: its arguments, JSON text or a value.
            agent: on whose behalf; None is the run's agent.
            grant: what that agent may call, where it is less than the run's; None is the run's grant.
        """
        recorded = self._recorded(_Call(tool_id, input, agent, grant))

        async def envelope() -> dict[str, Json]:
            return envelope_of(await recorded())

        return envelope()

    def _recorded(self, call: _Call) -> Callable[[], Awaitable[Json]]:
        return self._take(
            call.tool_id, _Execution(self._run, self._run.pinned, call).live, _about(call.input)
        )


class _Execution:
    """One call of a tool that is really made: under the run's options, its stops, and its steps."""

    def __init__(self, run: Run, tools: Tools, call: _Call) -> None:
        self._run = run
        self._tools = tools
        self._call = call
        given = call.request.abort if call.request is not None else None
        self._abort = run.abort.child() if given is None else Abort.first_of(run.abort, given)

    async def live(self, step_id: str) -> Json:
        run, call = self._run, self._call
        attempt = await run.steps.begin(run.id, step_id)
        options = self._options(step_id, attempt)

        async def passage() -> Json:
            try:
                result = await self._tools.invoke_async(call.tool_id, call.input, execution=options)
            except CallCancelled as error:
                run.stops.check()  # the run was stopped, not only the call
                return failed(error)
            except Exception as error:  # noqa: BLE001 - a failing call is an end like a value
                return failed(error)
            return succeeded(result, run.redaction if options.redaction is None else options.redaction)

        return await bounded(passage, run.stops, told=self._abort.set, patience=lambda: PATIENCE)

    def _options(self, step_id: str, attempt: int) -> ExecutionOptions:
        run, call = self._run, self._call
        base, request = run.execution, call.request
        approver = base.approver or self._tools.approver
        return replace(
            base,
            abort=self._abort,
            diagnostics=self._diagnostics(step_id, attempt),
            logger=base.logger if request is None or request.logger is None else request.logger,
            agent=base.agent if call.agent is None else call.agent,
            grant=run.granted(call.grant),
            call_key=f"{run.id} {step_id}",
            approver=None if approver is None else _RecordedApprover(run, step_id, approver),
            barrier=_Barrier(run, step_id),
            context=_CallContext(run, base.context),
            redaction=run.redaction if base.redaction is None else base.redaction,
        )

    def _diagnostics(self, step_id: str, attempt: int) -> DiagnosticContext:
        """The gate's facts as events of the run: a step that is tried again has other facts, so other ids."""
        path = f"{step_id}@{attempt}"
        emitter = self._run.emitter(path)

        def observe(name: EventName, fact: CallEvent) -> None:
            if self._run.listener is None:
                return
            made = call_event_to_json(fact)
            del made["type"]
            emitter.emit(name, **made)

        request = self._call.request
        given = self._run.execution.diagnostics
        if request is not None and request.diagnostics is not None:
            given = request.diagnostics
        if given is not None:
            return given.with_observer(observe)
        return DiagnosticScope(identity={"run": self._run.id, "path": path}, observers=(observe,))


class _RecordedApprover:
    """Asks as a step of its own, before the execution's: a crash after the answer never asks again."""

    def __init__(self, run: Run, step_id: str, approver: Approver) -> None:
        self._run = run
        self._step_id = step_id
        self._approver = approver
        self._asked = 0

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """The recorded answer to exactly this request, else the person's; a failure to ask is none."""
        run, fresh = self._run, False

        async def asked() -> Json:
            nonlocal fresh
            fresh = True
            with run.clock.hold():
                return (await self._approver.ask(request))._asdict()

        while True:
            self._asked += 1
            step_id = f"{self._step_id}/answer" + (f".{self._asked}" if self._asked > 1 else "")
            text = await run.steps.step(run.id, step_id, lambda: valued(asked, run.clock))
            answer = ApprovalAnswer(**recalled(text, run.clock, []))
            if fresh or answer.digest == request.digest:
                return answer
            # recorded for another question: the policy or the tool is not what it was


class _Barrier:
    """Notes that a write begins inside an attempt. What began in an earlier one is never made again."""

    def __init__(self, run: Run, step_id: str) -> None:
        self._run = run
        self._mark = f"{step_id}/write"
        self._noted = False

    async def __call__(self, call: PendingCall) -> None:
        """Refuse a write that an earlier process had begun, and what the host's own barrier refuses.

        Raises:
            OutcomeUnknown: it may or may not have happened.
            CallCancelled: the run was stopped while the call waited.
        """
        run = self._run
        if run.execution.barrier is not None:  # first: what it refuses has not begun
            await run.execution.barrier(call)
        writes = call.kind != "read" and not call.idempotent and not run.simulate
        if writes and not self._noted:
            self._noted = await run.steps.begin(run.id, self._mark) == 1
            if not self._noted:
                raise OutcomeUnknown(
                    f"{call.tool_id} was interrupted with its process; nobody knows whether it happened",
                    hint="look at what it would have changed before you call it again",
                )
        if run.abort.aborted:
            raise CallCancelled(f"the call was stopped: {run.abort.reason}")


@dataclass(frozen=True, slots=True)
class _RunFacts:
    """`ctx.run` of a tool: what belongs to the run and concerns a tool."""

    id: str
    abort: Abort


class _CallContext:
    """What a tool's context reads through to: the run's facts, then what the host put there."""

    __slots__ = ("_host", "run")

    def __init__(self, run: Run, host: Any) -> None:
        self.run = getattr(host, "run", None) or _RunFacts(run.id, run.abort)
        self._host = host

    def __getattr__(self, name: str) -> Any:
        """Fall through to the host's."""
        if self._host is None:
            raise AttributeError(name)
        return getattr(self._host, name)


def _about(raw: Any) -> str:
    """The arguments in one spelling, to tell a call from another."""
    if isinstance(raw, str | bytes | bytearray):
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError):
            return repr(raw)
    try:
        return json.dumps(raw, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return type(raw).__qualname__
