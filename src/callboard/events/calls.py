"""Facts of one call. Structs, because two of them are built on the way of every call (decisions/0012)."""

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import asdict

CallStatus = Literal["ok", "failed", "denied", "cancelled", "interrupted", "unknown"]


class Failure(Struct, frozen=True, gc=False):
    """Why a call did not succeed, as the model sees it."""

    code: str
    message: str
    hint: str | None


class CallStarted(Struct, frozen=True, gc=False):
    """The call passed the decision and is about to run."""

    invocation_id: str
    tool_id: str
    kind: str
    call_key: str
    parents: tuple[str, ...]
    principal: tuple[str | None, ...] | None
    agent: str | None
    at_ns: int
    arguments: str | None
    repaired: bool
    simulated: bool
    verdict: str
    reasons: tuple[str, ...]


class CallProgress(Struct, frozen=True, gc=False):
    """A tool that is running reported something; `value` is JSON text."""

    invocation_id: str
    tool_id: str
    kind: str
    n: int
    at_ns: int
    value: str


class ApprovalAsked(Struct, frozen=True, gc=False):
    """A person is asked; the call waits."""

    invocation_id: str
    tool_id: str
    kind: str
    agent: str | None
    at_ns: int
    arguments: str | None
    reasons: tuple[str, ...]
    digest: str


class ApprovalAnswered(Struct, frozen=True, gc=False):
    """The person answered."""

    invocation_id: str
    tool_id: str
    kind: str
    at_ns: int
    allowed: bool
    reason: str
    by: str | None


class ToolCallRecord(Struct, frozen=True, gc=False):
    """The one terminal fact of a call: its receipt."""

    invocation_id: str
    tool_id: str
    kind: str
    call_key: str
    parents: tuple[str, ...]  # invocation ids of the calls around it, outermost first
    principal: tuple[str | None, ...] | None  # user, tenant
    agent: str | None
    started_ns: int  # wall clock, Unix time
    duration_ns: int  # of the call's own work: waiting for a person is left out
    status: CallStatus
    arguments: str | None  # the JSON text that passed; None where nothing did
    repaired: bool
    simulated: bool
    late: bool  # it came to its end after it was told to: after its deadline, or with its abort
    verdict: str | None  # allow or deny; None where the call never came to a decision
    reasons: tuple[str, ...]
    result: str | None  # JSON text of the value
    failure: Failure | None
    debug_steps: Any = None


CallEvent = CallStarted | CallProgress | ApprovalAsked | ApprovalAnswered | ToolCallRecord
Listener = Callable[[CallEvent], None]

EventName = Literal["call.started", "call.progress", "approval.asked", "approval.answered", "call.finished"]

_NAMES: dict[type[CallEvent], EventName] = {
    CallStarted: "call.started",
    CallProgress: "call.progress",
    ApprovalAsked: "approval.asked",
    ApprovalAnswered: "approval.answered",
    ToolCallRecord: "call.finished",
}


def event_name(event: CallEvent) -> EventName:
    """The name under which a fact is reported."""
    return _NAMES[type(event)]


def call_event_to_json(event: CallEvent) -> dict[str, Any]:
    """A fact as a JSON object, tagged by `type`."""
    made: dict[str, Any] = {"type": event_name(event), **asdict(event)}
    if isinstance(event, ToolCallRecord) and event.failure is not None:
        made["failure"] = asdict(event.failure)
    for name in ("parents", "principal", "reasons"):
        if made.get(name) is not None:
            made[name] = list(made[name])
    return made
