"""From whatever went wrong to the error that is raised, the record's facts, and the text for the model."""

import re
from asyncio import CancelledError
from difflib import get_close_matches
from typing import NoReturn

from callboard.calls.ports import Ports
from callboard.catalog import Snapshot
from callboard.errors import (
    Aborted,
    Ambiguous,
    CallCancelled,
    Denied,
    InternalError,
    NeedsAsync,
    OutcomeUnknown,
    TooDeep,
    ToolError,
    Unavailable,
)
from callboard.events import CallStatus, Failure, ToolCallRecord
from callboard.tools import RegisteredTool
from callboard.types import Abort, ExecutionOptions

MAX_DEPTH = 16  # calls inside each other
MAX_MESSAGE = 2_000
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+(?=@)")


def hidden(ports: Ports, tool: RegisteredTool, options: ExecutionOptions) -> bool:
    """Whether this agent may not see the tool; what it may not see it can't call."""
    if options.grant is not None and tool.id not in options.grant:
        return True
    if tool.agents is not None and (
        options.agent is None or options.agent.rsplit("/", 1)[-1] not in tool.agents
    ):
        return True
    return ports.visible is not None and not ports.visible(tool, options)


def unavailable(
    ports: Ports,
    snapshot: Snapshot,
    tool_id: str,
    options: ExecutionOptions,
) -> Unavailable:
    """One answer for unknown and hidden; names that are close come only from what this agent sees."""
    seen = [name for name, tool in snapshot.tools.items() if not hidden(ports, tool, options)]
    full = [name for name in snapshot.short_names.get(tool_id, ()) if name in seen]
    if len(full) > 1:
        return Ambiguous(f"several tools are called {tool_id!r}", hint=f"use one of {', '.join(full)}")
    close = full or get_close_matches(tool_id, seen, n=3)
    return Unavailable(
        f"there is no tool {tool_id!r}",
        hint=f"did you mean {', '.join(close)}?" if close else "call one of the tools that are listed",
    )


def not_now(tool_id: str, chain: tuple[str, ...], abort: Abort | None, *, needs_async: bool) -> ToolError:
    """Why a call that was found can't even begin."""
    if needs_async:
        return NeedsAsync(f"{tool_id} is asynchronous", hint="use invoke_async")
    if len(chain) > MAX_DEPTH:
        return TooDeep(f"more than {MAX_DEPTH} calls inside each other")
    return CallCancelled(f"the call was stopped: {None if abort is None else abort.reason}")


def fail(tool: RegisteredTool, call_id: str, failure: BaseException) -> NoReturn:
    """Raise what a tool raised as a new error: its object may be shared, or carry an inner call's record."""
    raise _tool_failure(tool, call_id, failure) from failure


def _tool_failure(tool: RegisteredTool, call_id: str, failure: BaseException) -> ToolError:
    if isinstance(failure, Aborted):
        return CallCancelled(f"the call was stopped: {failure.reason}")
    if isinstance(failure, CancelledError):
        return ToolError("the tool cancelled itself", code="tool.cancelled_itself")
    if isinstance(failure, SystemExit):
        return ToolError(f"the tool called exit({failure.code})", code="tool.exited")
    if tool.mask_errors and not isinstance(failure, ToolError):
        return ToolError(f"the tool failed; its operator finds the reason under {call_id}")
    code, hint = getattr(failure, "code", None), getattr(failure, "hint", None)
    return ToolError(
        _shown(str(failure)) or type(failure).__name__,
        code=code if isinstance(code, str) and code else None,
        hint=_shown(hint) if isinstance(hint, str) and hint else None,
    )


def ending(failure: BaseException, call_id: str) -> tuple[BaseException, CallStatus]:
    """The error that a call ends with, and the status that its record gets."""
    if isinstance(failure, ToolError):
        return failure, failure.status
    if isinstance(failure, CancelledError):
        rising = CancelledError(*failure.args)  # the plain class: `asyncio.timeout` looks for no other
        rising.__cause__ = failure.__cause__
        return rising, "unknown" if isinstance(failure.__cause__, OutcomeUnknown) else "cancelled"
    if isinstance(failure, Exception):  # ours: its text stays here, as the cause
        error = InternalError(f"Callboard failed, see {call_id}")
        error.__cause__ = failure
        return error, "failed"
    return failure, "interrupted"


def denial_of(error: BaseException) -> tuple[str, tuple[str, ...]] | None:
    """Verdict and reasons for the record, where the call was not allowed."""
    return ("deny", error.reasons) if isinstance(error, Denied) else None


def failure_of(ports: Ports, error: BaseException) -> Failure:
    """The record's account of an error."""
    code = getattr(error, "code", None)
    if not isinstance(code, str):
        code = "call.cancelled" if isinstance(error, CancelledError) else "call.interrupted"
    if ports.errors.error_code is not None:
        try:
            code = ports.errors.error_code(error)
        except Exception:  # noqa: BLE001 - the host's factory failed: our own code stands
            code = str(code)
    return Failure(code, str(error) or type(error).__name__, getattr(error, "hint", None))


def with_record(ports: Ports, error: BaseException, record: ToolCallRecord) -> BaseException:
    """The error that is raised, carrying the record where it can."""
    if isinstance(error, Unavailable) and ports.errors.unavailable is not None:
        made = ports.errors.unavailable(record.tool_id)
        made.__cause__ = error
        error = made
    if isinstance(error, Exception):
        try:
            error.invocation = record  # type: ignore[attr-defined]
        except (AttributeError, TypeError):  # a host's own class with slots
            return error
    return error


def _shown(text: str) -> str:
    text = _CREDENTIALS.sub("***", text)
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}… ({len(text)} characters)"
