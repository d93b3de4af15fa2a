"""How a run ended."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

RunStatus = Literal["completed", "failed", "cancelled", "budget_exhausted"]


@dataclass(frozen=True, slots=True)
class RunResult:
    """The end of a run.

    Attributes:
        id: the run's id, for `callboard runs show`.
        status: completed, failed, cancelled or budget_exhausted.
        reason: machine-readable: why it did not complete; None where it did.
        text: what the run delivered, or the best there was when it ended otherwise.
        message: for a person: what went wrong.
        rounds: model rounds.
        usage: counts of tokens by name, all rounds added up.
    """

    id: str
    status: RunStatus
    reason: str | None = None
    text: str = ""
    message: str = ""
    rounds: int = 0
    usage: Mapping[str, int] = field(default_factory=dict[str, int])

    def to_json(self) -> dict[str, Any]:
        """The result as JSON."""
        return asdict(self)
