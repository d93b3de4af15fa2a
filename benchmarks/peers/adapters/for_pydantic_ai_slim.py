# pyright: basic, reportMissingImports=false
"""pydantic-ai: `ToolManager.handle_call`, which its agent loop calls for each tool call.

The value is then turned into the text that the model gets, as the loop does. The retries are set so high that
the invalid calls of the measurement don't use them up.
"""

from collections.abc import Sequence
from typing import Any

from contract import Calls, Function, Peer
from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.messages import ToolCallPart, ToolReturnPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.usage import RunUsage

RETRIES = 10**9


def context() -> RunContext[None]:
    return RunContext(deps=None, model=TestModel(), usage=RunUsage())


def register(functions: Sequence[Function]) -> FunctionToolset[None]:
    tools: FunctionToolset[None] = FunctionToolset(max_retries=RETRIES)
    for function in functions:
        tools.add_function(function, takes_ctx=False)
    return tools


async def calls(tools: FunctionToolset[None]) -> Calls:
    manager = await ToolManager(tools, default_max_retries=RETRIES).for_run_step(context())

    async def awaited(name: str, text: str) -> Any:
        value = await manager.handle_call(ToolCallPart(name, text, "call"))
        return ToolReturnPart(name, value, "call").model_response_str()

    return Calls(awaited=awaited)


async def listed(tools: FunctionToolset[None]) -> Sequence[Any]:
    return [tool.tool_def for tool in (await tools.get_tools(context())).values()]


PEER = Peer(entry="ToolManager.handle_call", level="loop", register=register, calls=calls, listed=listed)
