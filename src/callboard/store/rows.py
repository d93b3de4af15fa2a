"""What goes into the store and comes out of it: plain values that hold JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """One run. Times are Unix seconds; what is not known yet is None.

    Attributes:
        status: ``running`` until the run ended, then the status it ended with.
        model: the model's name; `model_reason` says why it was chosen.
        principal: user and tenant.
        usage: token counts by name.
        owner: who runs it, `Store.this_process` of that process; None where nobody says.
    """

    id: str
    profile: str
    started_at: float
    status: str = "running"
    reason: str | None = None
    message: str | None = None
    finished_at: float | None = None
    input: str = ""
    text: str | None = None
    simulate: bool = False
    model: str | None = None
    model_reason: str | None = None
    principal: tuple[str | None, ...] | None = None
    workspace: str | None = None
    rounds: int | None = None
    usage: Mapping[str, int] | None = None
    owner: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The run as a JSON object; its owner means nothing outside of the store."""
        made = asdict(self)
        del made["owner"]
        if self.principal is not None:
            made["principal"] = list(self.principal)
        return made


class StoredStep(NamedTuple):
    """A recorded step of a run: `outcome` is JSON text, None where the step began and never ended."""

    step_id: str
    attempts: int
    about: str
    outcome: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs: newest first, of these statuses (all where empty), after `skip` of them."""

    status: tuple[str, ...] = ()
    limit: int = 50
    skip: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFilter:
    """Which call records: newest first.

    Attributes:
        run: of this run and its children; None for all calls, those outside of runs included.
        status: of these statuses; all where empty.
        tool: of this tool.
        before: older than the record with this `seq`, for the next page.
    """

    run: str | None = None
    status: tuple[str, ...] = ()
    tool: str | None = None
    limit: int = 50
    before: int | None = None
