"""A span around a piece of work, and what the GenAI conventions call its attributes."""

import logging
from collections.abc import Callable
from contextvars import Token
from importlib.metadata import version
from types import TracebackType
from typing import Self

from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.trace import (
    INVALID_SPAN,
    Span,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    get_tracer,
    set_span_in_context,
)
from opentelemetry.util.types import AttributeValue

# As in version 1.43 of the semantic conventions; they are data here, so that the API alone is enough.
OPERATION = "gen_ai.operation.name"
AGENT = "gen_ai.agent.name"
TOOL = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
CALL_ID = "gen_ai.tool.call.id"
ARGUMENTS = "gen_ai.tool.call.arguments"
RESULT = "gen_ai.tool.call.result"
ERROR_TYPE = "error.type"

_log = logging.getLogger("callboard.telemetry")
_KINDS = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}


def global_tracer() -> Tracer:
    """Callboard's tracer of the provider that the process has configured, or will."""
    return get_tracer("callboard", version("callboard"))


def _harmless(work: Callable[[], object]) -> None:
    """Whatever a tracer does, what its span is around goes on."""
    try:
        work()
    except Exception:  # noqa: BLE001 - logged: a tracer or processor of the host's own
        _log.warning("a span failed", exc_info=True)


class Open:
    """One open span, the current one while its block runs."""

    __slots__ = ("_context", "_failed", "_token", "span")

    def __init__(self, span: Span) -> None:
        self.span = span
        self._failed = False
        self._context: Context | None = None
        self._token: Token[Context] | None = None

    def note(self, **attributes: AttributeValue | None) -> None:
        """Set attributes of our own, under ``callboard.``; what is None is left out."""
        self.set({f"callboard.{name}": value for name, value in attributes.items()})

    def set(self, attributes: dict[str, AttributeValue | None]) -> None:
        """Set attributes; what is None is left out."""
        given = {name: value for name, value in attributes.items() if value is not None}
        _harmless(lambda: self.span.set_attributes(given))

    def fail(self, code: str, message: str) -> None:
        """It did not succeed: `code` becomes `error.type`."""
        self._failed = True
        self.set({ERROR_TYPE: code})
        _harmless(lambda: self.span.set_status(Status(StatusCode.ERROR, message or code)))

    def __enter__(self) -> Self:
        self._context = set_span_in_context(self.span)
        self._token = attach(self._context)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        # a coroutine that is closed from elsewhere is not where the span is the current one
        if self._token is not None and get_current() is self._context:
            detach(self._token)
        if error is not None and not self._failed:  # nobody has said why
            code = getattr(error, "code", None)
            if isinstance(code, str):
                self.fail(code, str(error))  # one of ours: written to be read
            else:
                self.fail(type(error).__name__, "")
        _harmless(self.span.end)


class Spans:
    """How spans are opened.

    Args:
        tracer: makes them.
        content: whether arguments and results are set, too: they may hold what only few may see.
    """

    def __init__(self, tracer: Tracer, *, content: bool = False) -> None:
        self.tracer = tracer
        self.content = content

    def open(
        self,
        operation: str,
        about: str,
        attributes: dict[str, AttributeValue | None],
        *,
        kind: str = "internal",
    ) -> Open:
        """A span named by its operation and what it is about; use it as a context manager."""
        given = {name: value for name, value in attributes.items() if value is not None}
        made: list[Span] = [INVALID_SPAN]

        def start() -> None:
            made[0] = self.tracer.start_span(
                f"{operation} {about}",
                kind=_KINDS[kind],
                attributes={OPERATION: operation, **given},
                record_exception=False,
                set_status_on_exception=False,
            )

        _harmless(start)
        return Open(made[0])
