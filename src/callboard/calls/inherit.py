"""A call inside a call: it can do no more than the call around it."""

from dataclasses import replace
from time import monotonic_ns

from callboard.calls.ports import Frame, Ports
from callboard.types import Abort, ExecutionOptions


def inherited(frame: Frame, ports: Ports, own: ExecutionOptions) -> ExecutionOptions:
    """The options of a call that code of another call makes.

    A simulation stays one, an abort of either ends it, the time left of either bounds it. Principal and agent
    are the outer call's unless it names its own. Within one registry it reaches only what both grants reach.
    """
    outer = frame.options
    return replace(
        own,
        simulate=True if outer.simulate else own.simulate,
        abort=_joined(outer.abort, own.abort),
        deadline=_shorter(frame, own.deadline),
        principal=outer.principal if own.principal is None else own.principal,
        agent=outer.agent if own.agent is None else own.agent,
        grant=_both(outer.grant, own.grant) if frame.ports is ports else own.grant,
    )


def _joined(outer: Abort | None, own: Abort | None) -> Abort | None:
    if outer is None or own is None or outer is own:
        return own if outer is None else outer
    return Abort.first_of(outer, own)


def _shorter(frame: Frame, own: float | None) -> float | None:
    if frame.options.deadline is None:
        return own
    left = frame.options.deadline - (monotonic_ns() - frame.began_ns) / 1e9
    return left if own is None else min(left, own)


def _both(outer: frozenset[str] | None, own: frozenset[str] | None) -> frozenset[str] | None:
    if outer is None or own is None:
        return own if outer is None else outer
    return outer & own
