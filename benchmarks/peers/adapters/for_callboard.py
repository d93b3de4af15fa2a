"""Callboard: `ToolRegistry.invoke` and `invoke_async`, which are the gate that its loop uses, too.

Everything is on: a policy decides each call, a deadline, an abort, a principal and a listener are there, and
each call leaves its two facts in the registry's log. The tools are what `@tool` makes of the functions.
"""

from collections.abc import Sequence
from typing import Any

from contract import Calls, Function, Peer

from callboard import Abort, Principal, ToolRegistry, tool
from callboard.policy import ModePolicy
from callboard.types import ExecutionOptions


def listener(_event: object) -> None:
    """Somebody who hears of each fact."""


def register(functions: Sequence[Function]) -> ToolRegistry[Any]:
    execution = ExecutionOptions(abort=Abort(), deadline=30.0, principal=Principal("ada"), agent="main")
    registry = ToolRegistry[Any](authorize=ModePolicy(), execution=execution, listeners=[listener])
    return registry.register_all([tool(mode="read")(function) for function in functions]).seal()


async def calls(registry: ToolRegistry[Any]) -> Calls:
    return Calls(sync=registry.invoke, awaited=registry.invoke_async)


async def listed(registry: ToolRegistry[Any]) -> Sequence[Any]:
    return registry.export("openai").definitions


PEER = Peer(entry="ToolRegistry.invoke_async", level="loop", register=register, calls=calls, listed=listed)
