import asyncio
from typing import Any

from callboard import ToolRegistry, tool
from callboard.runs import Journal, JournalStore, MemoryJournalStore
from callboard.workflow import Context, Node, Run, Workflow, WorkflowEngine, route


class PowerCut(BaseException):
    """Stands for the end of the process."""


charged: list[int] = []


@tool
async def charge(amount: int) -> str:
    """Take the money."""
    charged.append(amount)
    raise PowerCut


@tool(mode="read")
async def price() -> int:
    """Ask for the price."""
    return 12


registry: ToolRegistry = ToolRegistry().register_all([price, charge])


async def buy(_state: dict[str, Any], ctx: Context) -> dict[str, Any]:
    amount = (await ctx.tools.invoke("price")).value
    receipt = await ctx.tools.call("charge", {"amount": amount})
    return {"receipt": receipt["status"], "error": receipt.get("error")}


engine = WorkflowEngine(Workflow("buy", [Node("buy", buy, [route.deliver("error")])]))


def run_of(store: JournalStore) -> Run:
    return Run(id="order-7", steps=Journal(store), tools=registry)


store = MemoryJournalStore()  # the host's is in SQLite
try:
    asyncio.run(engine.execute({}, run_of(store)))
except PowerCut:
    print("the process is gone, in the middle of a write")
outcome = asyncio.run(engine.execute({}, run_of(store)))
print(outcome.status, outcome.value)
assert charged == [12]
