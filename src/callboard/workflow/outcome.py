"""How a run ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from callboard.errors import Aborted, BudgetExhausted, CallboardError, StoreError, ToolError

Status = Literal["completed", "failed", "cancelled", "budget_exhausted"]


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one run: rounds, and seconds of work."""

    rounds: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        status: one of four.
        value: what was delivered; else what the workflow salvages.
        reason: machine-readable: an error's code, a limit's name, why it was stopped; None if completed.
        message: for people.
        rounds: how many were started.
        limit: the figure of the limit that was reached.
        state: the last state; None where the run had ended in an earlier process.
        error: what was raised; only in the process that ran it.
    """

    status: Status
    value: Any = None
    reason: str | None = None
    message: str = ""
    rounds: int = 0
    limit: float | None = None
    state: Any = field(default=None, compare=False, repr=False)
    error: BaseException | None = field(default=None, compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        """What is recorded of it."""
        return {
            "status": self.status,
            "value": self.value,
            "reason": self.reason,
            "message": self.message,
            "rounds": self.rounds,
            "limit": self.limit,
        }

    @classmethod
    def from_json(cls, made: Mapping[str, Any]) -> "Outcome":
        """The outcome that `to_json` wrote."""
        return cls(
            cast("Status", made["status"]),
            made["value"],
            made["reason"],
            made["message"],
            made["rounds"],
            made["limit"],
        )


def ended_by(error: BaseException, salvaged: Any = None) -> Outcome:
    """The outcome of a run that `error` ended, with what it still had."""
    if isinstance(error, Aborted):
        # nobody wished for an end for want of a store: that run has failed
        status = "failed" if error.reason == StoreError.code else "cancelled"
        return Outcome(status, salvaged, error.reason, error=error)
    if isinstance(error, BudgetExhausted):
        return Outcome("budget_exhausted", salvaged, error.reason, str(error), limit=error.limit, error=error)
    if isinstance(error, CallboardError):
        return Outcome("failed", salvaged, error.code, _told(error), error=error)
    return Outcome("failed", salvaged, "node.raised", f"{type(error).__name__}: {error}", error=error)


def _told(error: CallboardError) -> str:
    """The reason and the next step; that of a ToolError is for the model."""
    hint = None if isinstance(error, ToolError) else error.hint
    return str(error) if hint is None else f"{error}\nhint: {hint}"
