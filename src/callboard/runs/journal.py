"""Steps that outlive the process: what is recorded is never executed again."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from callboard.calls.steps import Thunk
from callboard.errors import ReplayDiverged


class StepRow(Protocol):
    """One row of a journal."""

    @property
    def step_id(self) -> str:
        """The step, child or mark."""
        ...

    @property
    def about(self) -> str:
        """What it was about."""
        ...

    @property
    def outcome(self) -> str | None:
        """How it ended, JSON text; None where it only began."""
        ...


class JournalStore(Protocol):
    """Where a journal's rows are kept. All of it is synchronous and returns once it is durable."""

    def load(self, run_id: str) -> Iterable[StepRow]:
        """The rows of exactly this run; its children have run ids of their own."""
        ...

    def begin(self, run_id: str, step_id: str) -> int:
        """Note that something begins; returns how often that was noted, this time included."""
        ...

    def save(self, run_id: str, step_id: str, about: str, outcome: str) -> None:
        """Record an outcome; the first one stays."""
        ...


class Journal:
    """Steps over a store. One journal serves any number of runs of this process.

    A run is worked on by one process at a time; to see to that is the host's or the durable engine's.
    """

    def __init__(self, store: JournalStore) -> None:
        self._store = store
        self._runs: dict[str, _Recorded] = {}

    async def step(self, run_id: str, step_id: str, thunk: Thunk, about: str = "") -> str:
        """See `Steps.step`."""
        return await self._once(run_id, step_id, thunk, about)

    async def child(self, run_id: str, child_id: str, body: Thunk, about: str = "") -> str:
        """See `Steps.child`."""
        return await self._once(run_id, child_id, body, about, branch=True)

    async def begin(self, run_id: str, mark: str) -> int:
        """See `Steps.begin`."""
        return self._store.begin(run_id, mark)

    def replaying(self, run_id: str) -> bool:
        """See `Steps.replaying`."""
        recorded = self._recorded(run_id)
        return not recorded.live and bool(recorded.ends)

    def forget(self, run_id: str) -> None:
        """Let go of what is held in memory of a run and its children; a resume reads it again."""
        for id_ in [id_ for id_ in self._runs if id_ == run_id or id_.startswith(f"{run_id}/")]:
            del self._runs[id_]

    async def _once(self, run_id: str, id_: str, thunk: Thunk, about: str, *, branch: bool = False) -> str:
        recorded = self._recorded(run_id)
        end = recorded.ends.get(id_)
        if end is not None:
            if end.about != about:
                raise ReplayDiverged(
                    f"run {run_id}, step {id_}: recorded about {end.about!r}, now about {about!r}",
                    hint="the workflow or the profile changed since the run began: start a new run",
                )
            return end.outcome
        if not branch:  # entering a branch says nothing about the steps inside
            recorded.live = True
        outcome = await thunk()
        self._store.save(run_id, id_, about, outcome)
        recorded.ends[id_] = _End(about, outcome)
        return outcome

    def _recorded(self, run_id: str) -> "_Recorded":
        recorded = self._runs.get(run_id)
        if recorded is None:
            rows = self._store.load(run_id)
            ends = {row.step_id: _End(row.about, row.outcome) for row in rows if row.outcome is not None}
            recorded = self._runs[run_id] = _Recorded(ends)
        return recorded


class _End(NamedTuple):
    about: str
    outcome: str


class _Recorded:
    """What is known of one run, and whether this process has executed one of its steps."""

    __slots__ = ("ends", "live")

    def __init__(self, ends: dict[str, _End]) -> None:
        self.ends = ends
        self.live = False


class MemoryRow(NamedTuple):
    """A row of `MemoryJournalStore`."""

    step_id: str
    about: str
    outcome: str | None


class MemoryJournalStore:
    """Rows in memory: a run can be resumed as long as the store lives."""

    def __init__(self) -> None:
        self._ends: dict[str, dict[str, MemoryRow]] = {}
        self._begun: dict[tuple[str, str], int] = {}

    def load(self, run_id: str) -> Iterable[MemoryRow]:
        """See `JournalStore.load`."""
        return list(self._ends.get(run_id, {}).values())

    def begin(self, run_id: str, step_id: str) -> int:
        """See `JournalStore.begin`."""
        count = self._begun[run_id, step_id] = self._begun.get((run_id, step_id), 0) + 1
        return count

    def save(self, run_id: str, step_id: str, about: str, outcome: str) -> None:
        """See `JournalStore.save`."""
        self._ends.setdefault(run_id, {}).setdefault(step_id, MemoryRow(step_id, about, outcome))
