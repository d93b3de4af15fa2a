"""Step 4 of the gate: what policy and people say, and whether it still holds when the call starts."""

import logging
from inspect import isawaitable
from time import monotonic_ns, time_ns
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from callboard.calls.failures import RISING
from callboard.calls.hooks import as_coroutine, hooked
from callboard.calls.ports import Ports, delay_frame
from callboard.errors import Denied
from callboard.events import ApprovalAnswered, ApprovalAsked
from callboard.policy import UNGOVERNED, CallView, Decision
from callboard.tools.entry import Parsed
from callboard.tools.reading import read_json, text_of
from callboard.types import (
    ApprovalAnswer,
    ApprovalRequest,
    Approver,
    ExecutionOptions,
    PendingCall,
    Redaction,
    redacting,
)
from callboard.workers import cannot_wait, watched

_log = logging.getLogger("callboard.calls")


class Settled(Struct, frozen=True):
    """An allowed call: why, the arguments as they may run, how long a person took, and the policy's epoch."""

    decision: Decision
    parsed: Parsed
    waited_ns: int = 0
    epoch: object = None
    approved: tuple[str, ...] = ()  # what a person's answer adds to the reasons


def first_word(ports: Ports, view: CallView, parsed: Parsed) -> Any:
    """The call as it is settled by a plain `allow`; else what the authoriser answered, for `settle`.

    Raises:
        Denied: by a plain `deny`, or because the policy failed.
    """
    epoch = None if ports.policy_epoch is None else _epoch(ports)
    try:
        decided = UNGOVERNED if ports.authorize is None else ports.authorize(view)
    except RISING:
        raise
    except BaseException as error:
        raise _policy_failed(error, view.options.redaction) from error
    if type(decided) is not Decision or type(decided.reasons) is not tuple:
        return decided
    for reason in decided.reasons:
        if type(reason) is not str:
            return decided
    if decided.verdict == "allow":
        return Settled(decided, parsed, 0, epoch)
    if decided.verdict == "deny":
        raise denied(decided)
    return decided


async def settle(
    ports: Ports, view: CallView, decided: Any, parsed: Parsed, began_ns: int, *, sync: bool
) -> Settled:
    """Bring what the authoriser answered to an end, and ask a person where it asks.

    Args:
        ports: the gate's surroundings.
        view: the call.
        decided: the authoriser's answer, perhaps to be awaited.
        parsed: the call's arguments.
        began_ns: since when its deadline counts.
        sync: nothing can be waited for.

    Raises:
        Denied: the policy or a person said no, nobody is there to ask, or one of them failed.
        Ended: the call's abort or deadline came first.
    """
    epoch = _epoch(ports)
    decision = await _awaited(decided, view, began_ns, sync=sync)
    if decision.verdict == "allow":
        return Settled(decision, parsed, 0, epoch)
    if decision.verdict == "deny":
        raise denied(decision)
    if sync:
        raise cannot_wait()
    began_asking = monotonic_ns()
    answer = await _asked(ports, view, decision)
    waited = monotonic_ns() - began_asking
    said: tuple[str, ...] = (f"approved by {answer.by or 'a person'}",)
    if answer.arguments is not None:
        # An edit is a new call of the person's: it passes hooks and policy, and needs no second answer.
        raw = read_json(text_of(answer.arguments)) if view.tool.own_parser else answer.arguments
        parsed = view.tool.parse(raw)
        parsed = await hooked(ports, replace(view, frozen=parsed[1]), parsed, began_ns + waited, sync=sync)
        view = replace(view, frozen=parsed[1])
        decision = await decide(ports, view, began_ns + waited, sync=sync)
        if decision.verdict == "deny":
            raise denied(decision)
        said = (f"edited and approved by {answer.by or 'a person'}",)
    delay_frame(waited)
    return Settled(Decision("allow", (*decision.reasons, *said)), parsed, waited, epoch, said)


async def confirm(ports: Ports, view: CallView, settled: Settled, began_ns: int, *, sync: bool) -> Decision:
    """The decision, made again if the policy changed while the call waited.

    Raises:
        Denied: it is no longer allowed without asking.
    """
    if _epoch(ports) == settled.epoch:
        return settled.decision
    decision = await decide(ports, view, began_ns, sync=sync)
    if decision.verdict == "deny":
        raise denied(decision)
    if decision.verdict == "ask":
        raise Denied("the policy changed while the call waited", code="approval.stale", hint="call again")
    return Decision("allow", (*decision.reasons, *settled.approved))


async def passed(ports: Ports, view: CallView, settled: Settled | None, began_ns: int, *, sync: bool) -> None:
    """Let the engine's barrier have its word; what changed meanwhile counts.

    Raises:
        ToolError: the barrier refused.
        Denied: the policy changed while it took its time.
    """
    options, tool = view.options, view.tool
    if options.barrier is None:
        return
    pending = PendingCall(view.invocation_id, view.call_key, tool.id, tool.kind, tool.idempotent)
    await watched(as_coroutine(options.barrier(pending)), options.abort, began_ns, options.deadline)
    if settled is not None and ports.policy_epoch is not None:
        await confirm(ports, view, settled, began_ns, sync=sync)


def _epoch(ports: Ports) -> object:
    if ports.policy_epoch is None:
        return None
    try:
        return ports.policy_epoch()
    except Exception as error:
        raise _policy_failed(error) from error


def _policy_failed(failure: BaseException, redaction: Redaction | None = None) -> Denied:
    """A policy that raises denies; a denial that it raises itself keeps its words."""
    if isinstance(failure, Denied) and failure.invocation is None:
        return failure
    redacting(_log, redaction).warning("the policy failed", exc_info=failure)
    return Denied(f"the policy failed: {type(failure).__name__}", code="permission.policy_failed")


def denied(decision: Decision) -> Denied:
    """The error of a call that the policy denies."""
    return Denied(
        "; ".join(decision.reasons) or "denied by policy",
        hint="this call is not allowed here",
        reasons=decision.reasons,
    ).fresh()


async def decide(ports: Ports, view: CallView, began_ns: int, *, sync: bool) -> Decision:
    """What the policy says, before any person is asked.

    Raises:
        Denied: it failed.
        Ended: the call's abort or deadline came first.
    """
    settled = first_word(ports, view, (None, None, False))
    if isinstance(settled, Settled):
        return settled.decision
    return await _awaited(settled, view, began_ns, sync=sync)


async def _awaited(decided: Any, view: CallView, began_ns: int, *, sync: bool) -> Decision:
    if isawaitable(decided):
        work, options = as_coroutine(decided, sync=sync), view.options
        try:
            decided = await watched(work, options.abort, began_ns, options.deadline)
        except RISING:
            raise
        except BaseException as error:
            raise _policy_failed(error, options.redaction) from error
    return _checked(decided)


def _checked(decided: Any) -> Decision:
    """A decision of the right shape; anything else is a policy that failed."""
    if isinstance(decided, Decision) and decided.verdict in ("allow", "ask", "deny"):
        reasons: Any = (decided.reasons,) if isinstance(decided.reasons, str) else decided.reasons
        if isinstance(reasons, (list, tuple)) and all(isinstance(each, str) for each in cast("Any", reasons)):
            return Decision(decided.verdict, tuple(cast("Any", reasons)))
    raise Denied(
        f"the policy answered with {type(decided).__name__}, which is no decision",
        code="permission.policy_failed",
    )


def whom_to_ask(ports: Ports, view: CallView, decision: Decision) -> tuple[Approver, str]:
    """Who is asked about a call, and the text of its arguments.

    Raises:
        Denied: nobody is there, or nothing can be shown.
    """
    approver = view.options.approver or ports.approver
    if approver is None:
        reasons = (*decision.reasons, "nobody is there to ask")
        raise Denied(
            "; ".join(reasons),
            code="approval.no_approver",
            hint="give the host an approver, or allow this tool in its policy",
            reasons=reasons,
        )
    if view.frozen is None:
        raise Denied("arguments that are no JSON can't be shown to a person", code="approval.not_json")
    return approver, view.frozen


async def _asked(ports: Ports, view: CallView, decision: Decision) -> ApprovalAnswer:
    """Ask, and make sure that the answer is for exactly this call."""
    tool, options = view.tool, view.options
    approver, given = whom_to_ask(ports, view, decision)
    bound, reasons = _digest(ports, view), decision.reasons
    frozen = shown = given
    if options.redaction is not None:
        shown, reasons = options.redaction.json(frozen), options.redaction.texts(reasons)
    ports.emit(
        ApprovalAsked(
            view.invocation_id, tool.id, tool.kind, options.agent, time_ns(), shown, reasons, bound
        ),
        options,
    )
    answer = await _answer(approver, _request(view, shown, reasons, bound), options)
    allowed = answer.allowed is True
    reason, by = answer.reason, answer.by
    if options.redaction is not None:
        reason, by = options.redaction.value((reason, by))
    ports.emit(
        ApprovalAnswered(view.invocation_id, tool.id, tool.kind, time_ns(), allowed, reason, by),
        options,
    )
    if not allowed:
        said = f"refused by {answer.by or 'a person'}: {answer.reason or 'no reason given'}"
        raise Denied(
            answer.reason or "refused by the person who was asked",
            code="approval.denied",
            hint="do not try the same call again",
            reasons=(*decision.reasons, said),
        )
    if answer.arguments is not None and shown != frozen:
        raise Denied(
            "the arguments hold a secret: what was shown and edited is not what would run",
            code="approval.redacted",
            hint="let them be approved or refused as they are",
        )
    if not answer.digest == bound == _digest(ports, view):
        raise Denied(
            "the approval is for another call, or the policy changed meanwhile",
            code="approval.stale",
            hint="call again",
        )
    return answer


def _request(view: CallView, shown: str, reasons: tuple[str, ...], bound: str) -> ApprovalRequest:
    return ApprovalRequest(
        view.invocation_id,
        view.call_key,
        view.tool.id,
        view.tool.kind,
        view.tool.description,
        shown,
        view.options.agent,
        view.options.principal,
        reasons,
        bound,
    )


async def _answer(approver: Approver, request: ApprovalRequest, options: ExecutionOptions) -> ApprovalAnswer:
    try:
        answer: Any = await watched(as_coroutine(approver.ask(request)), options.abort)
    except RISING:
        raise
    except BaseException as error:
        redacting(_log, options.redaction).warning("the approver failed", exc_info=error)
        raise Denied(f"the approver failed: {type(error).__name__}", code="approval.failed") from error
    if not isinstance(answer, ApprovalAnswer) or not all(
        isinstance(each, str | None) for each in cast("Any", (answer.reason, answer.by, answer.arguments))
    ):
        raise Denied(
            f"the approver answered with {type(answer).__name__}, which is no ApprovalAnswer",
            code="approval.failed",
        )
    return answer


def _digest(ports: Ports, view: CallView) -> str:
    """What an approval is bound to: this call of this tool, its arguments, principal, agent and policy."""
    from hashlib import sha256  # noqa: PLC0415 - a call that asks nobody does without it

    parts = (
        view.call_key,
        view.tool.id,
        view.tool.fingerprint,
        view.frozen,
        view.principal,
        view.agent,
        _epoch(ports),
    )
    return sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()
