# pyright: basic, reportMissingImports=false
"""openai-agents: the tool's `on_invoke_tool`, and the output item for the model.

Its runner adds approvals, guardrails, hooks and tracing around that call, in code that is not public: they
are not measured. Without `strict_mode=False` it would refuse tools that take a dict.
"""

from collections.abc import Sequence
from typing import Any

from agents import function_tool
from agents.models.chatcmpl_converter import Converter
from agents.tool_context import ToolContext
from contract import Calls, Function, Peer


def register(functions: Sequence[Function]) -> dict[str, Any]:
    return {function.__name__: function_tool(function, strict_mode=False) for function in functions}


def failed(item: Any) -> bool:
    return item["output"].startswith("An error occurred while running the tool")


async def calls(tools: dict[str, Any]) -> Calls:
    async def awaited(name: str, text: str) -> Any:
        context = ToolContext(None, tool_name=name, tool_call_id="call", tool_arguments=text)
        output = await tools[name].on_invoke_tool(context, text)
        return {"type": "function_call_output", "call_id": "call", "output": str(output)}

    return Calls(awaited=awaited, failed=failed, finds=False)


async def listed(tools: dict[str, Any]) -> Sequence[Any]:
    return [Converter.tool_to_openai(tool) for tool in tools.values()]


PEER = Peer(entry="tool.on_invoke_tool", level="tool", register=register, calls=calls, listed=listed)
