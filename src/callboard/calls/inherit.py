"""A call inside a call: it can do no more than the call around it."""

from dataclasses import replace
from time import monotonic_ns

from callboard.calls.ports import Frame, Ports
from callboard.types import Abort, Barrier, ExecutionOptions, PendingCall


def inherited(frame: Frame, ports: Ports, own: ExecutionOptions) -> ExecutionOptions:
    """The options of a call that code of another call makes.

    A simulation stays one, an abort of either ends it, the time left of either bounds it, and both barriers
    have their word. Principal, agent and approver are the outer call's unless it names its own. What is kept
    out of the outer call's record stays out of its own. Within one registry it reaches only what both grants
    reach.
    """
    _, outer, through, began_ns = frame
    return replace(
        own,
        simulate=True if outer.simulate else own.simulate,
        abort=_joined(outer.abort, own.abort),
        deadline=_shorter(outer.deadline, began_ns, own.deadline),
        principal=outer.principal if own.principal is None else own.principal,
        agent=outer.agent if own.agent is None else own.agent,
        approver=outer.approver if own.approver is None else own.approver,
        barrier=_each(outer.barrier, own.barrier),
        redaction=own.redaction if outer.redaction is None else outer.redaction,
        grant=_both(outer.grant, own.grant) if through is ports else own.grant,
    )


def _joined(outer: Abort | None, own: Abort | None) -> Abort | None:
    if outer is None or own is None or outer is own:
        return own if outer is None else outer
    return Abort.first_of(outer, own)


def _each(outer: Barrier | None, own: Barrier | None) -> Barrier | None:
    if outer is None or own is None or outer is own:
        return own if outer is None else outer

    async def both(call: PendingCall) -> None:
        await outer(call)
        await own(call)

    return both


def _shorter(outer: float | None, began_ns: int, own: float | None) -> float | None:
    if outer is None:
        return own
    left = outer - (monotonic_ns() - began_ns) / 1e9
    return left if own is None else min(left, own)


def _both(outer: frozenset[str] | None, own: frozenset[str] | None) -> frozenset[str] | None:
    if outer is None or own is None:
        return own if outer is None else outer
    return outer & own
