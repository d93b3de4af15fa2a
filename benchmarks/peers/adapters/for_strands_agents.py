# pyright: basic, reportMissingImports=false
"""strands-agents: the tool's `stream`, whose last event holds the result for the model.

Its executor adds the look-up, hooks, middleware and telemetry around that call and needs a whole agent: they
are not measured.
"""

import json
from collections.abc import Sequence
from typing import Any

from contract import Calls, Function, Peer
from strands import tool
from strands.tools.registry import ToolRegistry


def register(functions: Sequence[Function]) -> ToolRegistry:
    registry = ToolRegistry()
    for function in functions:
        registry.register_tool(tool(function))
    return registry


def failed(result: Any) -> bool:
    return result["status"] == "error"


async def calls(registry: ToolRegistry) -> Calls:
    tools = registry.registry

    async def awaited(name: str, text: str) -> Any:
        use = {"toolUseId": "call", "name": name, "input": json.loads(text)}
        return [event async for event in tools[name].stream(use, {})][-1].tool_result

    return Calls(awaited=awaited, failed=failed, finds=False)


async def listed(registry: ToolRegistry) -> Sequence[Any]:
    return registry.get_all_tool_specs()


PEER = Peer(entry="tool.stream", level="tool", register=register, calls=calls, listed=listed)
