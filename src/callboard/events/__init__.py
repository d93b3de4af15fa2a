"""Facts: what happened, as small frozen values that hold JSON only. No behaviour, no tool objects."""

from callboard.events.calls import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEvent,
    CallProgress,
    CallStarted,
    CallStatus,
    EventName,
    Failure,
    Listener,
    ToolCallRecord,
    call_event_to_json,
    event_name,
)
from callboard.events.diagnostics import DiagnosticContext, DiagnosticScope
from callboard.events.runs import RUN_EVENT_TYPES, RunEvent, RunEventType

__all__ = [
    "RUN_EVENT_TYPES",
    "ApprovalAnswered",
    "ApprovalAsked",
    "CallEvent",
    "CallProgress",
    "CallStarted",
    "CallStatus",
    "DiagnosticContext",
    "DiagnosticScope",
    "EventName",
    "Failure",
    "Listener",
    "RunEvent",
    "RunEventType",
    "ToolCallRecord",
    "call_event_to_json",
    "event_name",
]
