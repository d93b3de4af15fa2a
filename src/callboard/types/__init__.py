"""What callers hold: options, principal, abort, requests, results, and the context that a tool asks for."""

from callboard.types.abort import Abort
from callboard.types.approvals import ApprovalAnswer, ApprovalRequest, Approver, Barrier, PendingCall
from callboard.types.context import RunView, ToolContext
from callboard.types.logs import redacting
from callboard.types.options import ErrorFactories, ExecutionOptions, ToolInvocationRequest
from callboard.types.principal import Principal
from callboard.types.redaction import Redaction
from callboard.types.results import CallOutcome, ToolResult
from callboard.types.secrets import Secrets

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
    "Redaction",
    "RunView",
    "Secrets",
    "ToolContext",
    "ToolInvocationRequest",
    "ToolResult",
    "redacting",
]
