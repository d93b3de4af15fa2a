"""A span `execute_tool {tool}` around each passage through the gate, filled from the call's own record."""

from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from callboard.events import ApprovalAnswered, ApprovalAsked, CallEvent, ToolCallRecord
from callboard.telemetry import spans as named
from callboard.telemetry.spans import Open, Spans

MAX_CONTENT = 20_000  # characters of arguments, and of a result, that a span carries
MAX_NAME = 200  # characters of a tool's name in a span
Passage = Callable[..., Coroutine[Any, Any, Any]]  # the gate, or what stands in front of it


class _Call:
    """One passage: its span, and the record once there is one."""

    __slots__ = ("opened", "record")

    def __init__(self, opened: Open) -> None:
        self.opened = opened
        self.record: ToolCallRecord | None = None


# The call that the facts which are emitted here are of; a call inside it has its own.
_current: ContextVar[_Call | None] = ContextVar("traced_call", default=None)


def traced(passage: Passage, spans: Spans) -> Passage:
    """The same passage with a span around it; `heard` must be among the listeners of its facts.

    The span is the current one inside, so that what the tool opens itself, in threads too, becomes its child.
    """

    async def through(
        ports: Any, snapshot: Any, tool_id: str, raw: Any, options: Any, *more: Any, sync: bool
    ) -> Any:
        name = _named(tool_id)
        attributes = {named.TOOL: name, named.TOOL_TYPE: "function", named.AGENT: options.agent}
        with spans.open("execute_tool", name, attributes) as opened:
            call = _Call(opened)
            token = _current.set(call)
            try:
                return await passage(ports, snapshot, tool_id, raw, options, *more, sync=sync)
            finally:
                if _current.get() is call:
                    with suppress(ValueError):  # closed from a copy of the context
                        _current.reset(token)
                if call.record is not None:
                    _tell(opened, call.record, content=spans.content)

    return through


def heard(event: CallEvent) -> None:
    """Take a fact of the call that is going on here."""
    call = _current.get()
    if call is None:
        return
    if isinstance(event, ToolCallRecord):
        call.record = event
    elif isinstance(event, ApprovalAsked):
        call.opened.span.add_event("callboard.approval.asked", {"callboard.reasons": event.reasons})
    elif isinstance(event, ApprovalAnswered):
        call.opened.span.add_event("callboard.approval.answered", {"callboard.allowed": event.allowed})


def _tell(opened: Open, record: ToolCallRecord, *, content: bool) -> None:
    opened.set({named.CALL_ID: record.invocation_id, named.AGENT: record.agent})
    opened.note(
        status=record.status,
        mode=record.kind or None,
        call_key=record.call_key,
        verdict=record.verdict,
        simulated=record.simulated or None,
        repaired=record.repaired or None,
        late=record.late or None,
    )
    if content:
        opened.set({named.ARGUMENTS: _shown(record.arguments), named.RESULT: _shown(record.result)})
    if record.failure is not None:
        opened.fail(record.failure.code, record.failure.message)


def _named(tool_id: str) -> str:
    """The name of a span: what a model made up may be of any length, and hold what can't be sent."""
    if len(tool_id) > MAX_NAME:
        tool_id = f"{tool_id[:MAX_NAME]}…"
    return tool_id if tool_id.isascii() else tool_id.encode("utf-8", "backslashreplace").decode()


def _shown(text: str | None) -> str | None:
    if text is None or len(text) <= MAX_CONTENT:
        return text
    return f"{text[:MAX_CONTENT]}… ({len(text)} characters)"
