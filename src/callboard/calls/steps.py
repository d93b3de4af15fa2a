"""The seam: what a run does to the world, and what it sees of it, passes here and can be recorded."""

from collections.abc import Awaitable, Callable
from typing import Protocol

Thunk = Callable[[], Awaitable[str]]


class Steps(Protocol):
    """Where the steps of runs are recorded; docs/contracts/seam.md is the whole contract.

    JSON text goes in and out. What a thunk returns is recorded before it is returned; what it raises is not:
    the run's engine writes failures, stops and exhausted budgets into the text, so an exception here always
    means that the process goes or that our own machinery failed.
    """

    async def step(self, run_id: str, step_id: str, thunk: Thunk, about: str = "") -> str:
        """The recorded text of this step, else that of `thunk`, recorded. `thunk` may ask for steps itself.

        Raises:
            ReplayDiverged: the step is recorded about something else.
        """
        ...

    async def child(self, run_id: str, child_id: str, body: Thunk, about: str = "") -> str:
        """The recorded end of a branch, else that of `body`, recorded.

        The branch has steps under a run id of its own. One that has ended is not entered again.

        Raises:
            ReplayDiverged: the branch is recorded about something else.
        """
        ...

    async def begin(self, run_id: str, mark: str) -> int:
        """Note durably that something begins; returns how often that was noted, this time included."""
        ...

    def replaying(self, run_id: str) -> bool:
        """Whether this run is still in its recorded prefix. False once one of its steps was executed."""
        ...


class MemorySteps:
    """Keeps no journal: each step is executed, for runs that end with their process."""

    __slots__ = ()

    async def step(self, run_id: str, step_id: str, thunk: Thunk, about: str = "") -> str:  # noqa: ARG002 - the protocol's
        """The text of `thunk`."""
        return await thunk()

    async def child(self, run_id: str, child_id: str, body: Thunk, about: str = "") -> str:  # noqa: ARG002 - the protocol's
        """The text of `body`."""
        return await body()

    async def begin(self, run_id: str, mark: str) -> int:  # noqa: ARG002 - the protocol's
        """Without a journal everything begins for the first time."""
        return 1

    def replaying(self, run_id: str) -> bool:  # noqa: ARG002 - the protocol's
        """Nothing is recorded."""
        return False
