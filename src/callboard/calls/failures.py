"""From whatever went wrong to the error that is raised, the record's facts, and the text for the model."""

import logging
import re
import traceback
from asyncio import CancelledError
from difflib import get_close_matches
from inspect import iscoroutine
from typing import Any, NoReturn

from callboard.calls.ports import Ports
from callboard.catalog import Snapshot
from callboard.errors import (
    Aborted,
    Ambiguous,
    CallCancelled,
    DeadlineExceeded,
    Denied,
    InternalError,
    NeedsAsync,
    OutcomeUnknown,
    TooDeep,
    ToolError,
    Unavailable,
    Withheld,
)
from callboard.events import CallStatus, Failure, ToolCallRecord
from callboard.tools import RegisteredTool
from callboard.types import Abort, ExecutionOptions, Redaction
from callboard.workers import CallerCancelled, Ended

MAX_DEPTH = 16  # calls inside each other
MAX_MESSAGE = 2_000  # characters of an error's text, and of its hint
MAX_TRACEBACK = 20_000  # characters of the traceback of what is withheld
_SHOWN_ID = 100  # characters of an unknown id
_CREDENTIALS = re.compile(r"(?<=://)\S+(?=@)")
# What is never a policy's or a hook's own failure: it rises through them.
RISING = (KeyboardInterrupt, GeneratorExit, Aborted, CallerCancelled, Ended)
_log = logging.getLogger("callboard.calls")


def hidden(ports: Ports, tool: RegisteredTool, options: ExecutionOptions) -> bool:
    """Whether this agent may not see the tool; what it may not see it can't call."""
    if options.grant is not None and tool.id not in options.grant:
        return True
    if tool.agents is not None and (
        options.agent is None or options.agent.rsplit("/", 1)[-1] not in tool.agents
    ):
        return True
    if ports.visible is None:
        return False
    try:
        seen: Any = ports.visible(tool, options)
    except Exception:  # noqa: BLE001 - logged: a look that fails shows nothing
        _log.exception("`visible` failed for %s", tool.id)
        return True
    if iscoroutine(seen):  # a look can't be waited for, and a promise is no yes
        seen.close()
    return seen is not True


def unavailable(ports: Ports, snapshot: Snapshot, tool_id: str, options: ExecutionOptions) -> Unavailable:
    """One answer for unknown and hidden; names that are close come only from what this agent sees."""
    seen = [name for name, tool in snapshot.tools.items() if not hidden(ports, tool, options)]
    shown = _shown(repr(tool_id), room=_SHOWN_ID)
    full = [name for name in snapshot.short_names.get(tool_id, ()) if name in seen]
    if len(full) > 1:
        return Ambiguous(f"several tools are called {shown}", hint=f"use one of {', '.join(full)}").fresh()
    close = full or get_close_matches(tool_id[:_SHOWN_ID], seen, n=3)
    return Unavailable(
        f"there is no tool {shown}",
        hint=f"did you mean {', '.join(close)}?" if close else "call one of the tools that are listed",
    ).fresh()


def not_now(tool_id: str, chain: tuple[str, ...], abort: Abort | None, *, needs_async: bool) -> ToolError:
    """Why a call that was found can't begin."""
    if needs_async:
        return NeedsAsync(f"{tool_id} is asynchronous", hint="use invoke_async")
    if len(chain) > MAX_DEPTH:
        return TooDeep(f"more than {MAX_DEPTH} calls inside each other")
    if abort is not None and abort.reason is not None:
        return CallCancelled(f"the call was stopped: {abort.reason}")
    return DeadlineExceeded("the call reached its deadline before it could start")


def fail(tool: RegisteredTool, call_id: str, failure: BaseException, veil: Redaction | None) -> NoReturn:
    """Raise what a tool raised as a new error: its object may be shared, or carry an inner call's record."""
    raise _tool_failure(tool, call_id, failure, veil) from failure


def _tool_failure(
    tool: RegisteredTool, call_id: str, failure: BaseException, veil: Redaction | None
) -> ToolError:
    if isinstance(failure, Aborted):
        return CallCancelled(f"the call was stopped: {failure.reason}")
    if isinstance(failure, CancelledError):
        return ToolError("the tool cancelled itself", code="tool.cancelled_itself")
    if isinstance(failure, SystemExit):
        return ToolError(f"the tool called exit({failure.code})", code="tool.exited")
    if tool.mask_errors and not isinstance(failure, ToolError):
        return ToolError(f"the tool failed; its operator finds the reason under {call_id}")
    code, hint = _attribute(failure, "code", veil), _attribute(failure, "hint", veil)
    return ToolError(text_of(failure, veil), code=code, hint=hint)


def ending(failure: BaseException, call_id: str, veil: Redaction | None) -> tuple[BaseException, CallStatus]:
    """The error that a call ends with, without any secret, and the status that its record gets."""
    if not veil:
        return _ending(failure, call_id, None)
    error, status = _ending(failure, call_id, veil)
    if isinstance(error, ToolError):
        error.__traceback__ = None  # its frames hold what was raised
        error.__cause__ = None if error.__cause__ is None else _withheld(error.__cause__, veil)
    else:  # it rises as the object that it is
        error.args = tuple(map(veil.value, error.args))
    return error, status


def _withheld(cause: BaseException, veil: Redaction) -> Withheld:
    """What stands in for a cause whose text or frames may hold a secret."""
    made = Withheld(f"{type(cause).__name__}: {text_of(cause, veil)}")
    told = veil.text("".join(traceback.format_exception(cause)))
    made.add_note(told if len(told) <= MAX_TRACEBACK else f"…{told[-MAX_TRACEBACK:]}")
    return made


def _ending(failure: BaseException, call_id: str, veil: Redaction | None) -> tuple[BaseException, CallStatus]:
    if isinstance(failure, ToolError):
        as_it_is = veil is None and failure.is_fresh and _is_clean(failure)
        error = failure if as_it_is else _renewed(failure, veil)
        return error, error.status
    if isinstance(failure, Ended):
        return _renewed(failure.error, veil), failure.error.status
    if isinstance(failure, CallerCancelled):
        rising = CancelledError(*failure.args)  # the plain class: `asyncio.timeout` looks for no other
        rising.__cause__ = failure.__cause__
        return rising, "unknown" if isinstance(failure.__cause__, Ended) else "cancelled"
    if isinstance(failure, Aborted):
        return CallCancelled(f"the call was stopped: {failure.reason}"), "cancelled"
    if isinstance(failure, KeyboardInterrupt | GeneratorExit):
        return failure, "interrupted"
    error = InternalError(f"Callboard failed, see {call_id}")  # its text stays here, as the cause
    error.__cause__ = failure
    return error, "failed"


# The classes whose status a call may end with; of a class of the host's own, the one that it comes from.
_STATUS_CLASSES = (
    Ambiguous,
    Unavailable,
    Denied,
    CallCancelled,
    OutcomeUnknown,
    InternalError,
)


def _is_clean(failure: ToolError) -> bool:
    """Whether nothing in its texts has to be cut, escaped or masked."""
    reasons = failure.reasons if isinstance(failure, Denied) else ()
    return all(
        len(text) <= MAX_MESSAGE and text.isascii() and "://" not in text
        for text in (str(failure), failure.hint or "", *reasons)
    )


def _renewed(failure: ToolError, veil: Redaction | None) -> ToolError:
    """The same error as a new object: policies and parsers may raise one that they share or borrowed."""
    made = type(failure)
    if made.__module__ != ToolError.__module__:
        made = next((known for known in _STATUS_CLASSES if isinstance(failure, known)), ToolError)
    code, hint = _attribute(failure, "code", veil), _attribute(failure, "hint", veil)
    if isinstance(failure, Denied):
        reasons = tuple(_shown(str(reason), veil) for reason in failure.reasons)
        error: ToolError = Denied(text_of(failure, veil), code=code, hint=hint, reasons=reasons)
    else:
        error = made(text_of(failure, veil), code=code, hint=hint)
    error.__cause__ = failure.__cause__
    return error.with_traceback(failure.__traceback__)


def denial_of(error: BaseException) -> tuple[str, tuple[str, ...]] | None:
    """Verdict and reasons for the record, where the call was not allowed."""
    return ("deny", error.reasons) if isinstance(error, Denied) else None


def failure_of(ports: Ports, error: BaseException) -> Failure:
    """The record's account of what `ending` gave."""
    if isinstance(error, ToolError):
        code, text, hint = error.code, str(error) or type(error).__name__, error.hint
    else:
        code = "call.cancelled" if isinstance(error, CancelledError) else "call.interrupted"
        text, hint = text_of(error), None
    if ports.errors.error_code is not None:
        try:
            own: Any = ports.errors.error_code(error)
        except Exception:  # noqa: BLE001 - logged: our own code stands
            _log.exception("`error_code` failed")
        else:
            code = own if isinstance(own, str) else code
    return Failure(code, text, hint)


def with_record(ports: Ports, error: BaseException, record: ToolCallRecord) -> BaseException:
    """The error that is raised, carrying the record where it can."""
    if isinstance(error, Unavailable) and ports.errors.unavailable is not None:
        error = _hosts_own(ports, error, record.tool_id)
    if isinstance(error, Exception):
        try:
            error.invocation = record  # type: ignore[attr-defined]
        except (AttributeError, TypeError):  # a host's own class with slots
            return error
    return error


def _hosts_own(ports: Ports, error: Unavailable, tool_id: str) -> Exception:
    made: object = None
    try:
        made = None if ports.errors.unavailable is None else ports.errors.unavailable(tool_id)
    except Exception:  # noqa: BLE001 - logged: our own error stands
        _log.exception("`unavailable` failed")
    if not isinstance(made, Exception):
        return error
    made.__cause__ = error
    return made


def text_of(failure: BaseException, veil: Redaction | None = None) -> str:
    """Its text for a person or a model: capped, no secret in it, never empty, whatever its class does."""
    try:
        text = str(failure)
    except Exception:  # noqa: BLE001 - a class whose own text fails is named
        text = ""
    if isinstance(failure, ToolError) or " " in text:
        return _shown(text, veil) or type(failure).__name__
    # one word, such as the key of a KeyError, tells nothing without the class
    return f"{type(failure).__name__}: {_shown(text, veil)}" if text else type(failure).__name__


def _attribute(failure: BaseException, name: str, veil: Redaction | None) -> str | None:
    try:
        value: Any = getattr(failure, name, None)
    except Exception:  # noqa: BLE001 - a property of the tool's own class
        return None
    return _shown(value, veil) if isinstance(value, str) and value else None


def _shown(text: str, veil: Redaction | None = None, room: int = MAX_MESSAGE) -> str:
    if veil is not None:  # first: what is cut in two is found no more
        text = veil.text(text)
    if len(text) > room:
        text = f"{text[:room]}… ({len(text)} characters)"
    if not text.isascii():  # a lone surrogate could not be sent to anybody
        text = text.encode("utf-8", "backslashreplace").decode()
    return _CREDENTIALS.sub("***", text) if "://" in text else text
