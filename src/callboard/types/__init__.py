"""What callers hold: options, principal, abort, requests, results, and the context that a tool asks for."""

from callboard.types.abort import Abort
from callboard.types.approvals import ApprovalAnswer, ApprovalRequest, Approver, Barrier, PendingCall
from callboard.types.context import RunView, ToolContext
from callboard.types.options import ErrorFactories, ExecutionOptions, ToolInvocationRequest
from callboard.types.principal import Principal
from callboard.types.results import CallOutcome, ToolResult

__all__ = [
    "Abort",
    "ApprovalAnswer",
    "ApprovalRequest",
    "Approver",
    "Barrier",
    "CallOutcome",
    "ErrorFactories",
    "ExecutionOptions",
    "PendingCall",
    "Principal",
    "RunView",
    "ToolContext",
    "ToolInvocationRequest",
    "ToolResult",
]
