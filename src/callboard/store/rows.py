"""What goes into the store and comes out of it: plain values that hold JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

if TYPE_CHECKING:
    from callboard.config import StoreTable


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
    """Which call records: newest first; what is None or empty is not asked for.

    Attributes:
        run: of this run and its children; None for all calls, those outside of runs included.
        status: of these statuses.
        tool: of these tools.
        agent: made by this agent, by its whole path.
        user: on this user's behalf.
        tenant: on this tenant's behalf.
        code: that failed with one of these codes.
        since: started at this moment or later, Unix seconds.
        until: started before this moment, Unix seconds.
        simulated: only simulated calls, or only real ones.
        slow: that took so many seconds or more.
        before: older than the record with this `seq`, for the next page.
    """

    run: str | None = None
    status: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()
    agent: str | None = None
    user: str | None = None
    tenant: str | None = None
    code: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    simulated: bool | None = None
    slow: float | None = None
    limit: int = 50
    before: int | None = None


LAST = 2**63 - 1  # the largest number that SQLite holds


def nanoseconds(seconds: float) -> int:
    """What the store compares moments and durations by; one that it can't hold is its first or last."""
    return int(max(-9e9, min(9e9, seconds)) * 1e9)


Reason = Literal["keep_days", "keep_runs", "max_size"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What is kept; None is no limit. A run that has not ended is kept in any case.

    Attributes:
        keep_days: days since a run, or a call outside of runs, began.
        keep_runs: so many runs, the newest ones.
        max_size: bytes of the file, without what is free in it.
    """

    keep_days: float | None = None
    keep_runs: int | None = None
    max_size: int | None = None

    @classmethod
    def of(cls, table: "StoreTable") -> Self:
        """What the configuration keeps."""
        return cls(keep_days=table.keep_days, keep_runs=table.keep_runs, max_size=table.max_bytes)

    @property
    def keeps_all(self) -> bool:
        """Whether nothing has to go."""
        return self.keep_days is None and self.keep_runs is None and self.max_size is None


@dataclass(slots=True)
class Pruned:
    """What went, or would go.

    Attributes:
        runs: their ids, oldest first, with the limit that they went by.
        calls: records of calls outside of runs.
        bytes_before: of the file, before.
        bytes_after: of the file, after; in a rehearsal, about.
        whole: whether all that had to go has gone; False where it was stopped.
    """

    runs: list[tuple[str, Reason]] = field(default_factory=list[tuple[str, Reason]])
    calls: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    whole: bool = True
