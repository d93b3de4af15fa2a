"""A long life: one million calls of every outcome in one process, and whether its memory stays flat.

Sync and async, read and write, right and wrong arguments, allowed and denied, failing, simulated, nested, in
threads, aborted, past a deadline, unknown names, large results. `python benchmarks/soak.py [calls]`
"""

import asyncio
import gc
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from registration import memory

from callboard import Abort, Decision, Principal, ToolContext, ToolError, ToolRegistry, tool
from callboard.policy import CallView
from callboard.types import ExecutionOptions

CALLS = 1_000_000
# Megabytes that the second half of the calls may add: noise of the allocator, not growth.
ALLOWED = 8.0
_BATCH = 500
_REPORTS = 10


@tool(mode="read")
def add(a: int, b: int) -> int:
    return a + b


@tool(mode="read")
async def wait(n: int) -> int:
    await asyncio.sleep(0)
    return n


def would_save(text: str) -> str:
    return f"would save {text}"


@tool(simulate=would_save)
def save(text: str) -> str:
    return f"saved {text}"


@tool(mode="read", blocking=False)
def fail(reason: str) -> str:
    raise ValueError(reason)


@tool(mode="read", blocking=False)
def large(size: int) -> str:
    return "x" * size


@tool(mode="read")
async def hang() -> None:
    await asyncio.Event().wait()


@tool(mode="read", serial=True)
async def alone(n: int, ctx: ToolContext) -> int:
    ctx.report({"n": n})
    await asyncio.sleep(0)
    return n


def made() -> ToolRegistry:
    def policy(view: CallView) -> Decision:
        denied = view.kind == "write" and not view.simulate and view.arguments.get("text") == "secret"
        return Decision("deny", ("no secrets",)) if denied else Decision("allow", ("fine",))

    @tool(mode="read")
    async def nested(n: int) -> int:
        inner = await registry.invoke_async("add", {"a": n, "b": 1})
        return inner.value

    registry = ToolRegistry(
        authorize=policy,
        listeners=[lambda _: None],
        execution=ExecutionOptions(principal=Principal("ada"), agent="main", deadline=30.0),
    )
    return registry.register_all([add, wait, save, fail, large, hang, alone, nested]).seal()


Call = Callable[[int], Awaitable[Any]]


def calls(registry: ToolRegistry) -> list[Call]:
    """One maker for each kind of call; each gets a number that makes its text unlike the others."""

    def call(name: str, arguments: Callable[[int], Any], execution: ExecutionOptions | None = None) -> Call:
        return lambda n: registry.invoke_async(name, arguments(n), execution=execution)

    async def sync(n: int) -> Any:
        return registry.invoke("add", f'{{"a": {n}, "b": 2}}')

    async def aborted(_: int) -> Any:
        abort = Abort()
        asyncio.get_running_loop().call_soon(abort.set)
        return await registry.invoke_async("hang", {}, abort=abort)

    simulated, hasty = ExecutionOptions(simulate=True), ExecutionOptions(deadline=0.0)
    weights: list[tuple[int, Call]] = [
        (30, sync),
        (20, call("wait", lambda n: {"n": n})),
        (8, call("nested", lambda n: {"n": n})),
        (4, call("alone", lambda n: {"n": n})),
        (6, call("add", lambda n: {"a": n})),
        (1, call("add", lambda n: f'{{"a": {n}, "b": "2"}}')),  # in a thread, and repaired
        (4, call("save", lambda n: {"text": f"note {n}"}, simulated)),
        (6, call("save", lambda _: {"text": "secret"})),
        (8, call("fail", lambda n: {"reason": f"no. {n}"})),
        (4, call("ad", lambda n: {"n": n})),
        (4, call("wait", lambda n: {"n": n}, hasty)),
        (4, call("large", lambda n: {"size": n % 9_000})),
        (1, aborted),
    ]
    return [made for weight, made in weights for _ in range(weight)]


async def one(call: Awaitable[Any], seen: Counter[str]) -> None:
    try:
        await call
    except ToolError as error:
        seen[error.code] += 1
    else:
        seen["ok"] += 1


async def soak(number: int) -> tuple[Counter[str], list[float]]:
    """The outcomes by code, and the memory after each tenth, in megabytes."""
    registry, seen, megabytes = made(), Counter[str](), list[float]()
    makers, began, done = calls(registry), time.perf_counter(), 0
    while done < number:
        count = min(_BATCH, number - done)
        await asyncio.gather(*[one(makers[n % len(makers)](n), seen) for n in range(done, done + count)])
        done += count
        if done * _REPORTS // number > len(megabytes):
            gc.collect()
            megabytes.append(memory())
            print(
                f"{done:>10,} calls  {time.perf_counter() - began:7.1f} s  {megabytes[-1]:7.1f} MB",
                flush=True,
            )
    return seen, megabytes


def main(number: int) -> int:
    seen, megabytes = asyncio.run(soak(number))
    for code, count in seen.most_common():
        print(f"{count:>10,}  {code}")
    grown = megabytes[-1] - megabytes[len(megabytes) // 2 - 1]
    print(f"the second half added {grown:.1f} MB; allowed: {ALLOWED:.0f}")
    return 0 if sum(seen.values()) == number and grown <= ALLOWED else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else CALLS))
