"""Step 4 of the gate where the answer is not a plain allow: async authorisers, and asking a person."""

import hashlib
from collections.abc import Awaitable
from inspect import isawaitable
from time import monotonic_ns, time_ns
from typing import Any, NamedTuple

from callboard.calls.ports import Ports
from callboard.errors import CallCancelled, Denied
from callboard.events import ApprovalAnswered, ApprovalAsked
from callboard.policy import UNGOVERNED, CallView, Decision
from callboard.tools.entry import Parsed
from callboard.types import Abort, ApprovalAnswer, ApprovalRequest, Approver
from callboard.workers import cannot_wait, watched


class Settled(NamedTuple):
    """An allowed call: why, the arguments as they may run, and how long a person took."""

    decision: Decision
    parsed: Parsed
    waited_ns: int = 0


async def settle(ports: Ports, view: CallView, decided: Any, parsed: Parsed, *, sync: bool) -> Settled:
    """Bring what the authoriser answered to an end.

    Args:
        ports: the gate's surroundings.
        view: the call.
        decided: the authoriser's answer, perhaps to be awaited.
        parsed: the arguments, in case nobody edits them.
        sync: nothing can be waited for.

    Raises:
        Denied: policy or person said no, nobody is there to ask, or the policy failed.
    """
    decision = await _checked(decided, view)
    if decision.verdict == "allow":
        return Settled(decision, parsed)
    if decision.verdict == "deny":
        raise _denied(decision)
    approver = view.options.approver or ports.approver
    if sync:
        raise cannot_wait()
    if approver is None:
        raise Denied(
            "; ".join((*decision.reasons, "nobody is there to ask")),
            code="approval.no_approver",
            reasons=(*decision.reasons, "nobody is there to ask"),
            hint="give the host an approver, or allow this tool in its policy",
        )
    if view.frozen is None:
        raise Denied("arguments that are no JSON can't be shown to a person", code="approval.not_json")
    began = monotonic_ns()
    answer = await _asked(ports, view, decision, view.frozen, approver)
    waited = monotonic_ns() - began
    by = answer.by or "a person"
    if answer.arguments is None:
        return Settled(Decision("allow", (*decision.reasons, f"approved by {by}")), parsed, waited)
    edited = view.tool.parse(answer.arguments)
    again = await _decide(ports, view._replace(frozen=edited[1]))
    if again.verdict == "deny":
        raise _denied(again)
    return Settled(Decision("allow", (*again.reasons, f"edited and approved by {by}")), edited, waited)


async def still_allowed(ports: Ports, view: CallView) -> Decision:
    """Decide again, at the last moment, because the policy changed while the call waited.

    Raises:
        Denied: it is no longer allowed without asking.
    """
    decision = await _decide(ports, view)
    if decision.verdict == "allow":
        return decision
    if decision.verdict == "deny":
        raise _denied(decision)
    raise Denied("the policy changed while the call waited", code="approval.stale", hint="call again")


def policy_failed(failure: Exception) -> Denied:
    """A policy that raises denies; a denial that it raises itself keeps its words."""
    if isinstance(failure, Denied) and failure.invocation is None:
        return Denied(str(failure), code=failure.code, hint=failure.hint, reasons=failure.reasons)
    return Denied(f"the policy failed: {type(failure).__name__}", code="permission.policy_failed")


def _denied(decision: Decision) -> Denied:
    return Denied(
        "; ".join(decision.reasons) or "denied by policy",
        hint="this call is not allowed here",
        reasons=decision.reasons,
    )


async def _decide(ports: Ports, view: CallView) -> Decision:
    if ports.authorize is None:
        return UNGOVERNED
    try:
        decided = ports.authorize(view)
    except Exception as error:
        raise policy_failed(error) from error
    return await _checked(decided, view)


async def _checked(decided: Any, view: CallView) -> Decision:
    if isawaitable(decided):
        try:
            decided = await watched(_awaited(decided), view.options.abort)
        except CallCancelled:
            raise
        except Exception as error:
            raise policy_failed(error) from error
    if not isinstance(decided, Decision) or decided.verdict not in {"allow", "ask", "deny"}:
        raise Denied(
            f"the policy answered with {type(decided).__name__}, not a Decision",
            code="permission.policy_failed",
        )
    return decided


async def _awaited(waiting: Awaitable[Any]) -> Any:
    return await waiting


async def _asked(
    ports: Ports,
    view: CallView,
    decision: Decision,
    frozen: str,
    approver: Approver,
) -> ApprovalAnswer:
    """Ask, and make sure that the answer is for exactly this call."""
    tool, options = view.tool, view.options
    bound = _digest(ports, view)
    asked = ApprovalAsked(
        view.invocation_id,
        tool.id,
        tool.kind,
        options.agent,
        time_ns(),
        frozen,
        decision.reasons,
        bound,
    )
    ports.emit(asked, options)
    request = ApprovalRequest(
        view.invocation_id,
        view.call_key,
        tool.id,
        tool.kind,
        tool.description,
        frozen,
        options.agent,
        options.principal,
        decision.reasons,
        bound,
    )
    answer = await _answer(approver, request, options.abort)
    allowed = answer.allowed is True
    ports.emit(
        ApprovalAnswered(
            view.invocation_id, tool.id, tool.kind, time_ns(), allowed, answer.reason, answer.by
        ),
        options,
    )
    if not allowed:
        raise Denied(
            answer.reason or "refused by the person who was asked",
            code="approval.denied",
            reasons=(
                *decision.reasons,
                f"refused by {answer.by or 'a person'}: {answer.reason or 'no reason given'}",
            ),
            hint="do not try the same call again",
        )
    if not answer.digest == bound == _digest(ports, view):
        raise Denied(
            "the approval is for another call, or the policy changed meanwhile",
            code="approval.stale",
            hint="call again",
        )
    return answer


async def _answer(approver: Approver, request: ApprovalRequest, abort: Abort | None) -> ApprovalAnswer:
    try:
        answer: object = await watched(_awaited(approver.ask(request)), abort)
    except CallCancelled:
        raise
    except Exception as error:
        raise Denied(f"the approver failed: {type(error).__name__}", code="approval.failed") from error
    if not isinstance(answer, ApprovalAnswer):
        raise Denied(f"the approver answered with {type(answer).__name__}", code="approval.failed")
    return answer


def _digest(ports: Ports, view: CallView) -> str:
    """What an approval is bound to: tool, arguments, principal, agent and policy."""
    epoch = None if ports.policy_epoch is None else ports.policy_epoch()
    parts = (view.tool.id, view.tool.fingerprint, view.frozen, view.principal, view.agent, epoch)
    return hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()
