"""A governed call of one tool, for its tests: by the gate, with a policy and somebody to ask."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from callboard.policy import Authorize, ModePolicy
from callboard.registry import ToolRegistry
from callboard.testing.tripwire import Tripwire
from callboard.types import ApprovalAnswer, ApprovalRequest, Approver, ExecutionOptions, Principal, ToolResult

Approve = bool | Approver | None
Callee = Callable[..., Any] | Mapping[str, Any] | Any
_POLICY = ModePolicy(source="call_tool")


@dataclass(frozen=True, slots=True)
class Answering:
    """Somebody who gives each request the same answer."""

    allowed: bool

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Allow or deny exactly what was shown."""
        reason = "" if self.allowed else "the test said no"
        return ApprovalAnswer(self.allowed, request.digest, reason=reason, by="the test")


class CallTool:
    """Calls tools as an agent would: nothing of the gate is left out.

    Reads run and writes ask, as with a host that nobody configured. ``approve`` is the answer to whoever
    asks: True, False, an `Approver`, or None where nobody is there.
    """

    def __init__(self, tripwire: Tripwire | None = None) -> None:
        self._tripwire = tripwire

    def __call__(
        self,
        tool: Callee,
        arguments: Any = None,
        *,
        approve: Approve = True,
        simulate: bool = False,
        principal: Principal | None = None,
        authorize: Authorize | None = None,
        execution: ExecutionOptions | None = None,
    ) -> ToolResult[Any]:
        """Call a tool from a test that is no coroutine: in a loop of its own, as an agent calls it.

        Args:
            tool: a `Tool`, a function, or any object that a registry takes.
            arguments: a mapping, or JSON text as a model sends it.
            approve: the answer to what is asked.
            simulate: simulate a write instead of running it.
            principal: on whose behalf.
            authorize: decides instead of the policy described above.
            execution: whatever else a call can be told.

        Raises:
            ToolError: the call did not succeed; `error.invocation` is its record.
            RuntimeError: the test is a coroutine: await `wait`.
        """
        if _inside_a_loop():
            raise RuntimeError("this test runs in an event loop: await call_tool.wait(...) instead")
        called = self.wait(
            tool,
            arguments,
            approve=approve,
            simulate=simulate,
            principal=principal,
            authorize=authorize,
            execution=execution,
        )
        return asyncio.run(called)

    async def wait(
        self,
        tool: Callee,
        arguments: Any = None,
        *,
        approve: Approve = True,
        simulate: bool = False,
        principal: Principal | None = None,
        authorize: Authorize | None = None,
        execution: ExecutionOptions | None = None,
    ) -> ToolResult[Any]:
        """The same for a test that is a coroutine, which awaits it.

        Raises:
            ToolError: as above.
        """
        registry = _registry(tool, approve, authorize)
        (name,) = registry.ids()
        options = _options(execution, principal, simulate=simulate)
        with self._watched():
            return await registry.invoke_async(name, arguments, execution=options)

    def _watched(self) -> AbstractContextManager[None]:
        return nullcontext() if self._tripwire is None else self._tripwire.undecided()


def _registry(tool: Callee, approve: Approve, authorize: Authorize | None) -> ToolRegistry[Any]:
    approver = Answering(approve) if isinstance(approve, bool) else approve
    return ToolRegistry(authorize=authorize or _POLICY, approver=approver).register(tool)


def _options(
    execution: ExecutionOptions | None, principal: Principal | None, *, simulate: bool
) -> ExecutionOptions:
    options = execution or ExecutionOptions()
    return replace(
        options,
        simulate=simulate or options.simulate,
        principal=principal or options.principal or Principal(user="test"),
    )


def _inside_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
