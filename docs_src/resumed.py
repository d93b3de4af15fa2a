import asyncio
from typing import Any

from callboard import ToolRegistry, tool
from callboard.runs import Journal, JournalStore, MemoryJournalStore
from callboard.workflow import Context, Node, Outcome, Run, Workflow, WorkflowEngine, route

charged: list[int] = []


@tool
async def charge(amount: int) -> str:
    """Take the money."""
    charged.append(amount)
    await asyncio.sleep(60)  # the bank is slow
    return "paid"


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


async def work(store: JournalStore) -> Outcome:
    run = Run(id="order-7", steps=Journal(store), tools=registry)
    async with asyncio.timeout(0.2):  # stands for a process that has to go
        return await engine.execute({}, run)


store = MemoryJournalStore()  # the host's is in SQLite
try:
    asyncio.run(work(store))
except TimeoutError:
    print("the process is gone, in the middle of a write")
outcome = asyncio.run(work(store))
print(outcome.status, outcome.value)
assert charged == [12]
