"""Asking a person: requests and answers are data, so that they can be made elsewhere and later."""

from typing import NamedTuple, Protocol

from callboard.types.principal import Principal


class ApprovalRequest(NamedTuple):
    """What a person is asked. `arguments` is exactly the JSON text that will run."""

    invocation_id: str
    call_key: str
    tool_id: str
    kind: str
    description: str | None
    arguments: str
    agent: str | None
    principal: Principal | None
    reasons: tuple[str, ...]
    digest: str  # binds the answer to tool, arguments, principal and policy


class ApprovalAnswer(NamedTuple):
    """What the person said. `digest` is the request's; `arguments` is new JSON text where it was edited.

    Edited arguments are parsed and decided like any others, and run without asking again only if the policy
    still says so little as `ask`.
    """

    allowed: bool
    digest: str
    reason: str = ""
    by: str | None = None
    arguments: str | None = None


class Approver(Protocol):
    """Whoever can be asked: a terminal, a web page, a webhook, the embedder's own."""

    async def ask(self, request: ApprovalRequest, /) -> ApprovalAnswer:
        """Wait for a person's answer; raising counts as a denial."""
        ...


class PendingCall(NamedTuple):
    """A call that is about to start, for the barrier."""

    invocation_id: str
    call_key: str
    tool_id: str
    kind: str
    idempotent: bool


class Barrier(Protocol):
    """The engine's word before a call starts: it notes the start, or raises to refuse it."""

    async def __call__(self, call: PendingCall, /) -> None:
        """Raise a ToolError to refuse."""
        ...
