"""Limits and retries: a service that takes two calls at once, thirty a minute, and fails now and then."""

import asyncio

from callboard import ToolRegistry, tool
from callboard.tools import Limit, Retries

SHOP = Limit("shop", concurrency=2, rate="30/min")
failed: list[str] = []


@tool(mode="read", limit=SHOP, retries=Retries(2, on=(OSError, "http.429"), wait=0.01))
async def price(item: str) -> int:
    """The price of an item, in cents."""
    if item not in failed:
        failed.append(item)
        raise ConnectionError(f"no answer about {item}")
    return 100 * len(item)


orders: dict[str, str] = {}


def was_ordered(item: str) -> bool:
    """Whether the order took place."""
    return item in orders.values()


@tool(limit=SHOP, probe=was_ordered)
async def order(item: str) -> str:
    """Order an item."""
    orders[f"order-{len(orders)}"] = item
    return "ordered"


async def main() -> None:
    tools = ToolRegistry().register_all([price, order])
    outcomes = await tools.invoke_batch([("price", {"item": "tea"}), ("price", {"item": "cocoa"})])
    print([outcome.text for outcome in outcomes])
    print(sum(type(event).__name__ == "CallProgress" for event in tools.events), "tries after the first")


asyncio.run(main())
