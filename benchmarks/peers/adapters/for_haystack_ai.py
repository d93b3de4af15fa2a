# pyright: basic, reportMissingImports=false
"""haystack-ai: the tool's `invoke` and `invoke_async`, and the message for the model.

Its agent component adds the look-up and its state around that call: they are not measured.
"""

import json
from collections.abc import Sequence
from typing import Any

from contract import Calls, Function, Peer
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import Tool, create_tool_from_function


def register(functions: Sequence[Function]) -> dict[str, Tool]:
    return {function.__name__: create_tool_from_function(function) for function in functions}


def message(name: str, arguments: dict[str, Any], value: Any) -> ChatMessage:
    origin = ToolCall(tool_name=name, arguments=arguments, id="call")
    return ChatMessage.from_tool(tool_result=json.dumps(value), origin=origin)


async def calls(tools: dict[str, Tool]) -> Calls:
    def sync(name: str, text: str) -> Any:
        arguments = json.loads(text)
        return message(name, arguments, tools[name].invoke(**arguments))

    async def awaited(name: str, text: str) -> Any:
        arguments = json.loads(text)
        return message(name, arguments, await tools[name].invoke_async(**arguments))

    return Calls(sync=sync, awaited=awaited, finds=False)


async def listed(tools: dict[str, Tool]) -> Sequence[Any]:
    return [tool.tool_spec for tool in tools.values()]


PEER = Peer(entry="tool.invoke_async", level="tool", register=register, calls=calls, listed=listed)
