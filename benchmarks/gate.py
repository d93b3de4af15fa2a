"""What a governed call costs: CPU-time ratios to bare pydantic-core validation plus the call.

Everything of the gate is on: duplicate keys refused, frozen text, abort, deadline, started and terminal
record, one listener, principal and agent. Rounds are interleaved in one process and the medians of the
per-round ratios printed, because machines are noisy and ratios are not. `python benchmarks/gate.py [rounds]`
"""

import asyncio
import gc
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel, Field, TypeAdapter

from callboard import Abort, Decision, Principal, ToolError, ToolRegistry, tool
from callboard.policy import CallView, ModePolicy
from callboard.types import ExecutionOptions

ADD = '{"a": 3, "b": 4}'
ORDER = (
    '{"items": [{"name": "bolt", "qty": 3, "price": 0.25}, {"name": "nut", "qty": 10, "price": 0.1}, '
    '{"name": "plate", "qty": 1, "price": 12.5}], "note": "rush"}'
)
INVALID = '{"a": 3, "c": 4}'
CHUNK_NS = 4_000_000

# goal of the row, as a ratio to its floor
GOALS = {"add, sync": 8.0, "add, async": 7.0, "order, sync": 3.0, "order, async": 3.0}


class Item(BaseModel):
    name: str
    qty: int = Field(ge=1)
    price: float


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def order(items: list[Item], note: str | None = None) -> dict[str, Any]:
    """Place an order."""
    return {"total": sum(i.qty * i.price for i in items), "n": len(items), "note": note}


async def add_async(a: int, b: int) -> int:
    return a + b


async def order_async(items: list[Item], note: str | None = None) -> dict[str, Any]:
    return order(items, note)


async def add_waiting(a: int, b: int) -> int:
    await asyncio.sleep(0)
    return a + b


FUNCTIONS: tuple[Callable[..., Any], ...] = (add, order, add_async, order_async, add_waiting)
heard = [0]


def listener(_event: object) -> None:
    heard[0] += 1


def made(**options: Any) -> ToolRegistry:
    execution = ExecutionOptions(abort=Abort(), deadline=30.0, principal=Principal("ada"), agent="main")
    registry = ToolRegistry(execution=execution, listeners=[listener], **options)
    return registry.register_all([tool(mode="read")(f) for f in FUNCTIONS]).seal()


def deny(_view: CallView) -> Decision:
    return Decision("deny", ("no",))


def swallowing(call: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> None:
        try:
            call()
        except ToolError:
            return

    return run


def bare_validator(function: Any) -> Callable[[str], Any]:
    return TypeAdapter[Any](function).validator.validate_json


def cases() -> tuple[dict[str, Callable[[], Any]], dict[str, Callable[[], Awaitable[Any]]]]:
    bare = {f.__name__: bare_validator(f) for f in FUNCTIONS}
    governed, policed = made(), made(authorize=ModePolicy())
    denied = made(authorize=deny)
    sync: dict[str, Callable[[], Any]] = {
        "floor add, sync": lambda: bare["add"](ADD),
        "add, sync": lambda: governed.invoke("add", ADD),
        "add, sync, policy": lambda: policed.invoke("add", ADD),
        "floor order, sync": lambda: bare["order"](ORDER),
        "order, sync": lambda: governed.invoke("order", ORDER),
        "invalid, with hint": swallowing(lambda: governed.invoke("add", INVALID)),
        "denied": swallowing(lambda: denied.invoke("add", ADD)),
    }
    awaited: dict[str, Callable[[], Awaitable[Any]]] = {
        "floor add, async": lambda: bare["add_async"](ADD),
        "add, async": lambda: governed.invoke_async("add_async", ADD),
        "add, async, policy": lambda: policed.invoke_async("add_async", ADD),
        "floor order, async": lambda: bare["order_async"](ORDER),
        "order, async": lambda: governed.invoke_async("order_async", ORDER),
        "add in a thread": lambda: governed.invoke_async("add", ADD),
    }
    return sync, awaited


async def timed(call: Callable[[], Any], times: int, *, wait: bool) -> float:
    began = time.process_time_ns()
    if wait:
        for _ in range(times):
            await call()
    else:
        for _ in range(times):
            call()
    return (time.process_time_ns() - began) / times


async def measured(rounds: int) -> dict[str, list[float]]:
    sync, awaited = cases()
    every = {**{n: (c, False) for n, c in sync.items()}, **{n: (c, True) for n, c in awaited.items()}}
    times: dict[str, int] = {}
    for name, (call, wait) in every.items():
        times[name] = 3
        while await timed(call, times[name], wait=wait) * times[name] < CHUNK_NS:
            times[name] *= 2
    found: dict[str, list[float]] = {name: [] for name in every}
    for _ in range(rounds):
        gc.collect()
        for name, (call, wait) in every.items():
            found[name].append(await timed(call, times[name], wait=wait))
    return found


async def concurrent(call: Callable[[], Awaitable[Any]], number: int = 10_000) -> float:
    gc.collect()
    began = time.process_time()
    await asyncio.gather(*[call() for _ in range(number)])
    return time.process_time() - began


def show(found: dict[str, list[float]]) -> None:
    print(f"{'':22}{'us':>8}{'ratio':>8}{'goal':>8}")
    for name, ns in found.items():
        floor = found.get(f"floor {name.removesuffix(', policy')}")
        ratio = (
            "" if floor is None else f"{statistics.median(a / b for a, b in zip(ns, floor, strict=True)):.2f}"
        )
        goal = f"{GOALS[name]:.0f}" if name in GOALS else ""
        print(f"{name:22}{statistics.median(ns) / 1000:8.2f}{ratio:>8}{goal:>8}")


async def main(rounds: int) -> None:
    show(await measured(rounds))
    bare = bare_validator(add_waiting)
    governed = made()
    shares = [
        await concurrent(lambda: bare(ADD))
        / await concurrent(lambda: governed.invoke_async("add_waiting", ADD))
        for _ in range(5)
    ]
    print(f"10,000 concurrent calls: {statistics.median(shares):.2f} of the floor's calls per CPU second")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 25))
