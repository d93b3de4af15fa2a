# pyright: basic, reportMissingImports=false
"""langchain-core: the tool's `invoke` and `ainvoke` with a tool call, which hand back a ToolMessage.

The loop that finds the tool by its name is in other packages of LangChain.
"""

import inspect
import json
from collections.abc import Sequence
from typing import Any

from contract import Calls, Function, Peer
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool


def made(function: Function) -> StructuredTool:
    if inspect.iscoroutinefunction(function):
        return StructuredTool.from_function(coroutine=function)
    return StructuredTool.from_function(func=function)


def register(functions: Sequence[Function]) -> dict[str, StructuredTool]:
    return {function.__name__: made(function) for function in functions}


def tool_call(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "args": json.loads(text), "id": "call", "type": "tool_call"}


async def calls(tools: dict[str, StructuredTool]) -> Calls:
    async def awaited(name: str, text: str) -> Any:
        return await tools[name].ainvoke(tool_call(name, text))

    return Calls(
        sync=lambda name, text: tools[name].invoke(tool_call(name, text)), awaited=awaited, finds=False
    )


async def listed(tools: dict[str, StructuredTool]) -> Sequence[Any]:
    return [convert_to_openai_tool(tool) for tool in tools.values()]


PEER = Peer(entry="tool.ainvoke(tool call)", level="tool", register=register, calls=calls, listed=listed)
