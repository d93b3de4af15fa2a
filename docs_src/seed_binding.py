import asyncio
from typing import Any

from callboard import ToolRegistry
from callboard.workflow import Context, Node, Workflow, WorkflowEngine, route


async def look() -> str:
    return "the service is up"


def nothing() -> dict[str, Any]:
    return {}


def as_it_is(value: object) -> object:
    return value


tools = ToolRegistry()
tools.register(
    {"id": "get_status", "kind": "read", "parse_input": nothing, "execute": look, "parse_output": as_it_is},
)


async def read(_state: dict[str, Any], ctx: Context) -> dict[str, Any]:
    result = await ctx.tools.invoke("get_status", {})
    return {"answer": result.value}


node = Node("read", read, [route.deliver("answer")], "reads the status", starts_round=True)
workflow: Workflow[dict[str, Any], Any] = Workflow("status", [node])
agent = WorkflowEngine(workflow).bind_tools(tools.seal())
print(asyncio.run(agent.run({})))
