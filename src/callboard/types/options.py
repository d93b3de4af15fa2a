"""How a call is to run, on whose behalf, and the errors a registry's host wants."""

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from callboard.events import DiagnosticContext
from callboard.types.abort import Abort
from callboard.types.approvals import Approver, Barrier
from callboard.types.principal import Principal
from callboard.types.redaction import Redaction


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """How a call is to run. A field that is None falls back to the registry's own.

    Attributes:
        abort: ends the call; together with the registry's, the first to fire counts.
        deadline: seconds from the start of the call; it stands still while a person is asked. Zero or less
            means that it has passed.
        diagnostics: replaces the registry's scope for this call.
        logger: records the call beside the registry's log, and reaches the tool as ``ctx.logger``.
        principal: on whose behalf.
        agent: the agent's path, such as ``main/scout``.
        grant: the tool ids that this agent may see and call; None means all.
        simulate: a write is simulated instead of executed.
        call_key: stable over retries and resume; the invocation id where it is not given.
        approver: who is asked for this call, instead of the registry's.
        barrier: has the last word before the call starts (an engine that must not repeat a write).
        context: what the host and the run put on ``ctx``: `task_id`, `workspace`, `run` and the host's own.
        injected: what fills in `Injected[...]` parameters, by name, over the registry's: a value, or a
            function of the `ToolContext` that makes it. It goes no further than this call.
        redaction: shared by calls whose records keep each other's secrets out; a run has one.
    """

    abort: Abort | None = None
    deadline: float | None = None
    diagnostics: DiagnosticContext | None = None
    logger: logging.Logger | None = None
    principal: Principal | None = None
    agent: str | None = None
    grant: frozenset[str] | None = None
    simulate: bool | None = None
    call_key: str | None = None
    approver: Approver | None = None
    barrier: Barrier | None = None
    context: Any = None
    injected: Mapping[str, Any] | None = field(default=None, repr=False, hash=False)
    redaction: Redaction | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse a deadline that is no number of seconds; an infinite one is none."""
        if self.deadline is None:
            return
        if math.isnan(self.deadline):
            raise ValueError("a deadline is a number of seconds, not NaN")
        if self.deadline == math.inf:
            object.__setattr__(self, "deadline", None)


@dataclass(frozen=True, slots=True)
class ToolInvocationRequest:
    """Seed 003's form of a call: one value that holds all of it."""

    tool_id: str
    input: Any = None
    logger: logging.Logger | None = None
    abort: Abort | None = None
    diagnostics: DiagnosticContext | None = None


@dataclass(frozen=True, slots=True)
class ErrorFactories:
    """The host's own errors, shared by all tools of a registry.

    Attributes:
        unavailable: makes the exception for an id that is unknown or hidden.
        error_code: gives the code that record and events carry for an exception.
    """

    unavailable: Callable[[str], Exception] | None = None
    error_code: Callable[[BaseException], str] | None = None
