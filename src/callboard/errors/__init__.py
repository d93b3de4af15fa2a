"""Every exception of Callboard, and who should react to it.

::

    CallboardError
    ├── RegistrationError      the tool author: this tool can't work, and why
    │   └── SealedError        the host: the registry is closed to registration
    ├── ConfigError            the operator: file, key and legal values are named
    ├── StoreError             the operator: the state folder can't be used
    ├── ModelError             the operator: no model, no key, or the provider refused
    ├── WorkflowError          the workflow's author: no such node, no route, a route that fails
    ├── BudgetExhausted        the caller of a run: a limit was reached
    ├── ReplayDiverged         the operator: the run was recorded by other code
    └── ToolError              the model and the caller: this call did not succeed
        ├── Unavailable        no such tool for this agent
        │   └── Ambiguous      a short name that several tools share
        ├── InvalidArguments   what the model sent is not what the tool takes
        ├── InvalidResult      what the tool returned is not what it declared
        ├── Denied             policy or a person said no
        ├── NeedsAsync         a sync call met something that waits
        ├── Busy               its turn can't be waited for here
        ├── RateLimited        its turn comes after its deadline
        ├── TooDeep            calls inside calls inside calls
        ├── CallCancelled      an abort ended the call
        ├── DeadlineExceeded   the call took too long
        ├── OutcomeUnknown     a write may or may not have happened: ask a person
        └── InternalError      a fault of Callboard; only a correlation id is shown

    Aborted (BaseException)    somebody stopped the run; no `except Exception` swallows it
    Withheld (Exception)       the cause of a ToolError whose call held a secret: a text, no object

A direct call needs one clause::

    try:
        registry.invoke("add", {"a": 1, "b": 2})
    except ToolError as error:
        print(error.code, error.hint, error.invocation)
"""

from typing import Any, Literal, Self

__all__ = [
    "Aborted",
    "Ambiguous",
    "BudgetExhausted",
    "Busy",
    "CallCancelled",
    "CallboardError",
    "ConfigError",
    "DeadlineExceeded",
    "Denied",
    "InternalError",
    "InvalidArguments",
    "InvalidResult",
    "ModelError",
    "NeedsAsync",
    "OutcomeUnknown",
    "RateLimited",
    "RegistrationError",
    "ReplayDiverged",
    "SealedError",
    "StoreError",
    "TooDeep",
    "ToolError",
    "Unavailable",
    "Withheld",
    "WorkflowError",
]


class CallboardError(Exception):
    """Base of all errors: `code` is stable and machine-readable, `hint` says the next step."""

    code = "internal"

    def __init__(self, message: str = "", *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        self.hint = hint
        if hint is not None:
            self.add_note(f"hint: {hint}")  # a traceback shows it

    def __reduce__(self) -> tuple[Any, ...]:
        """Survive a process border: keyword arguments would be lost by the default."""
        return _rebuilt, (type(self), self.args, self.__dict__.copy())


def _rebuilt(made: type[CallboardError], args: tuple[Any, ...], fields: dict[str, Any]) -> CallboardError:
    error = made.__new__(made, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class RegistrationError(CallboardError):
    """Raised when a tool that can't work is registered; names the tool and the reason."""

    code = "tool.invalid"


class SealedError(RegistrationError):
    """Raised when something is registered in a sealed registry."""

    code = "registry.sealed"


class ConfigError(CallboardError):
    """Raised for a configuration that can't be used; names the file, the key and the legal values."""

    code = "config.invalid"


class StoreError(CallboardError):
    """Raised when the state folder can't be read or written."""

    code = "store.unusable"


class ModelError(CallboardError):
    """Raised when no model can be had, or a model request ended without an answer."""

    code = "model.failed"


class WorkflowError(CallboardError):
    """Raised for a workflow that is wrong, or that ended by a failing route."""

    code = "workflow.failed"


class BudgetExhausted(CallboardError):
    """Raised when a run reached one of its limits; `reason` is the limit's name."""

    code = "budget.exhausted"

    def __init__(self, reason: str, limit: float | None = None) -> None:
        super().__init__(f"the budget is used up: {reason}" + ("" if limit is None else f" ({limit:g})"))
        self.reason = reason
        self.limit = limit


class ReplayDiverged(CallboardError):
    """Raised when a resumed run asks for something else under a step id that is recorded."""

    code = "run.diverged"


class Aborted(BaseException):
    """Raised inside a run that somebody stopped. A type of its own: never told from a text."""

    def __init__(self, reason: str = "user_stopped") -> None:
        super().__init__(reason)
        self.reason = reason


class Withheld(Exception):
    """Stands in for what a tool raised while it held a secret: class, text and traceback, without the secret.

    The exception itself is let go: its arguments and its frames hold the secret. Never raised.
    """


class ToolError(CallboardError):
    """One call did not succeed. Tools raise it themselves to speak to the model.

    `invocation` is the call's terminal `ToolCallRecord` once the gate has written it, `status` the status
    that the record gets. `is_fresh` says that Callboard itself made it for one call and nobody else holds it:
    the gate raises a copy of any other.
    """

    code = "tool.failed"
    status: Literal["failed", "denied", "cancelled", "unknown"] = "failed"
    is_fresh = False

    def __init__(self, message: str = "", *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, code=code)
        # no note of it: a tool's own hint may hold a secret, and each refused call would pay for it
        self.hint = hint
        self.invocation: Any = None  # a ToolCallRecord: events stands above this room

    def fresh(self) -> Self:
        """The same error, marked as made for the one call that raises it."""
        self.is_fresh = True
        return self

    def recorded(self, invocation: Any) -> Self:
        """The same error, carrying its terminal record."""
        self.invocation = invocation
        return self


class Unavailable(ToolError):
    """No tool of that name for this agent: unknown and hidden answer alike."""

    code = "tool.unavailable"


class Ambiguous(Unavailable):
    """A short name that several visible tools share; the hint lists their full names."""

    code = "tool.ambiguous"


class InvalidArguments(ToolError):
    """The arguments are not JSON, or not what the tool takes."""

    code = "args.invalid"


class InvalidResult(ToolError):
    """The tool returned something that it did not declare, or that is no JSON."""

    code = "result.invalid"


class Denied(ToolError):
    """Policy, or the person who was asked, said no; `reasons` is the chain that led there."""

    code = "permission.denied"
    status = "denied"

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        hint: str | None = None,
        reasons: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.reasons = reasons or (message,)


class NeedsAsync(ToolError):
    """A sync call met a tool, policy, hook or person that has to be waited for."""

    code = "call.needs_async"


class Busy(ToolError):
    """It is not the call's turn, and this caller can't wait for it."""

    code = "call.busy"


class RateLimited(ToolError):
    """The rate of the tool, or of what it shares, lets the call start only after its deadline."""

    code = "call.rate_limited"


class TooDeep(ToolError):
    """Too many calls inside each other."""

    code = "call.too_deep"


class CallCancelled(ToolError):
    """An abort ended the call."""

    code = "call.cancelled"
    status = "cancelled"


class DeadlineExceeded(ToolError):
    """The call took longer than its deadline."""

    code = "call.deadline"


class OutcomeUnknown(ToolError):
    """A write had started and nobody knows whether it happened: never repeated without a person."""

    code = "call.unknown"
    status = "unknown"


class InternalError(ToolError):
    """A fault of our own machinery: the model sees the correlation id only."""

    code = "call.internal"
