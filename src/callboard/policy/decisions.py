"""A decision, and what whoever decides may look at."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from msgspec import Struct
from pydantic_core import from_json

from callboard.tools import RegisteredTool
from callboard.types import ExecutionOptions, Principal

Verdict = Literal["allow", "ask", "deny"]


class Decision(Struct, frozen=True):
    """A verdict with its chain of reasons, outermost rule first."""

    verdict: Verdict
    reasons: tuple[str, ...] = ()


UNGOVERNED = Decision("allow", ("no authoriser registered",))


class CallView(Struct, frozen=True):
    """What an authoriser or a hook sees of a call. Nothing in it is the object that the tool will get."""

    tool: RegisteredTool
    frozen: str | None  # the JSON text that will run; None where the tool's own parser got no JSON
    invocation_id: str
    call_key: str
    options: ExecutionOptions

    @property
    def tool_id(self) -> str:
        """The tool's id."""
        return self.tool.id

    @property
    def kind(self) -> str:
        """The tool's kind: `read`, `write`, or the host's own word."""
        return self.tool.kind

    @property
    def arguments(self) -> Any:
        """The arguments, decoded afresh at each look; None where they are no JSON."""
        return None if self.frozen is None else from_json(self.frozen)

    @property
    def principal(self) -> Principal | None:
        """On whose behalf the call is made."""
        return self.options.principal

    @property
    def agent(self) -> str | None:
        """The path of the calling agent."""
        return self.options.agent

    @property
    def simulate(self) -> bool:
        """Whether a write would be simulated."""
        return bool(self.options.simulate)


# Sync ones run on the caller's thread, event loops included: one that waits is a coroutine function.
Authorize = Callable[[CallView], Decision | Awaitable[Decision]]
