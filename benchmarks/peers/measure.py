"""Measures one framework in its own environment; `run.py` starts it, and reads the JSON that it writes.

    python measure.py calls ADAPTER --out FILE [--rounds N] [--at-once N]
    python measure.py probes ADAPTER --out FILE
    python measure.py register ADAPTER --out FILE --number N

All times are CPU times of this process and all its threads. Each call starts from the JSON text that a model
sends and ends with what the framework hands back. The floor is one bare pydantic-core validator and the call
of the function, measured in turns with the framework; a ratio is the median of the ratios of the rounds.
"""

import argparse
import asyncio
import gc
import importlib
import json
import logging
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import probes
import subjects
from contract import Calls, Peer
from pydantic import TypeAdapter

CHUNK_NS = 5_000_000
WARM_UP = 20
AT_ONCE_ROUNDS = 3
AT_ONCE_SECONDS = 5.0  # of CPU, after which there is no further round
FLOOR_TOOLS = 1_000


class Row(NamedTuple):
    """One thing that is measured, beside the floor that it is compared with."""

    call: Callable[[], Any]
    floor: str
    waits: bool


def bare(function: Any) -> Callable[[str], Any]:
    return TypeAdapter[Any](function).validator.validate_json


def refused(call: Callable[[], Any]) -> Callable[[], str]:
    """The call, and the text of its error, as somebody has to make it for the model."""

    def run() -> str:
        try:
            return str(call())
        except Exception as error:  # noqa: BLE001 - each framework has its own
            return str(error)

    return run


def refused_later(call: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[str]]:
    async def run() -> str:
        try:
            return str(await call())
        except Exception as error:  # noqa: BLE001 - each framework has its own
            return str(error)

    return run


def floors() -> dict[str, Row]:
    add, order = bare(subjects.add), bare(subjects.order)
    add_async, order_async = bare(subjects.add_async), bare(subjects.order_async)
    return {
        "floor add, sync": Row(lambda: add(subjects.ADD), "", waits=False),
        "floor add, async": Row(lambda: add_async(subjects.ADD), "", waits=True),
        "floor order, sync": Row(lambda: order(subjects.ORDER), "", waits=False),
        "floor order, async": Row(lambda: order_async(subjects.ORDER), "", waits=True),
        "floor invalid arguments": Row(refused(lambda: add(subjects.INVALID)), "", waits=False),
    }


def rows(calls: Calls) -> dict[str, Row]:
    awaited, sync = calls.awaited, calls.sync
    found = {
        "add, async": Row(lambda: awaited("add_async", subjects.ADD), "floor add, async", waits=True),
        "order, async": Row(lambda: awaited("order_async", subjects.ORDER), "floor order, async", waits=True),
        "sync tool, async call": Row(lambda: awaited("add", subjects.ADD), "floor add, sync", waits=True),
        "invalid arguments": Row(
            refused_later(lambda: awaited("add_async", subjects.INVALID)),
            "floor invalid arguments",
            waits=True,
        ),
    }
    if sync is not None:
        found["add, sync"] = Row(lambda: sync("add", subjects.ADD), "floor add, sync", waits=False)
        found["order, sync"] = Row(lambda: sync("order", subjects.ORDER), "floor order, sync", waits=False)
    if calls.finds:
        # nothing below finds tools by name, so that a good call is the only thing to compare with
        unknown = refused_later(lambda: awaited("subtract", subjects.ADD))
        found["unknown tool"] = Row(unknown, "floor add, async", waits=True)
    return found


async def awaited_chunk(call: Callable[[], Awaitable[Any]], times: int) -> float:
    began = time.process_time_ns()
    for _ in range(times):
        await call()
    return (time.process_time_ns() - began) / times


def chunk(row: Row, times: int, runner: asyncio.Runner) -> float:
    """Nanoseconds of CPU for one call, of so many in a row."""
    if row.waits:
        return runner.run(awaited_chunk(row.call, times))
    call = row.call
    began = time.process_time_ns()
    for _ in range(times):
        call()
    return (time.process_time_ns() - began) / times


def chunk_size(row: Row, runner: asyncio.Runner) -> int:
    times = 3
    while chunk(row, times, runner) * times < CHUNK_NS:
        times *= 2
    return times


def measured(calls: Calls, rounds: int, runner: asyncio.Runner) -> dict[str, Any]:
    """All rows in turns, round by round, and the reasons of those whose call fails."""
    every = {**floors(), **rows(calls)}
    sizes: dict[str, int] = {}
    failed: dict[str, str] = {}
    found: dict[str, dict[str, float]] = {}
    for name, row in every.items():
        try:
            sizes[name] = chunk_size(row, runner)
        except Exception as error:  # noqa: BLE001 - the other rows are still worth having
            failed[name] = f"{type(error).__name__}: {error}"[:200]
    times: dict[str, list[float]] = {name: [] for name in sizes}
    for _ in range(rounds):
        gc.collect()
        for name, size in sizes.items():
            times[name].append(chunk(every[name], size, runner))
    for name, taken in times.items():
        found[name] = {"us": statistics.median(taken) / 1000}
        if every[name].floor:
            floor = times[every[name].floor]
            found[name]["ratio"] = statistics.median(a / b for a, b in zip(taken, floor, strict=True))
    return {"rows": found, "failed": failed}


async def at_once(call: Callable[[], Awaitable[Any]], number: int) -> float:
    gc.collect()
    began = time.process_time()
    await asyncio.gather(*[call() for _ in range(number)])
    return time.process_time() - began


def concurrency(calls: Calls, number: int, runner: asyncio.Runner) -> dict[str, float]:
    """So many calls at the same time, each of a tool that yields once."""
    floor = bare(subjects.add_yielding)
    taken: list[float] = []
    ratios: list[float] = []
    while len(taken) < AT_ONCE_ROUNDS and sum(taken) < AT_ONCE_SECONDS:
        lowest = runner.run(at_once(lambda: floor(subjects.ADD), number))
        taken.append(runner.run(at_once(lambda: calls.awaited("add_yielding", subjects.ADD), number)))
        ratios.append(taken[-1] / lowest)
    middle = statistics.median(taken)
    return {
        "number": number,
        "us": middle / number * 1e6,
        "ratio": statistics.median(ratios),
        "per_second": number / middle,
    }


def resident() -> float:
    """Megabytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def bare_per_tool(number: int) -> float:
    """Seconds for one validator and one JSON Schema of bare pydantic, of functions like those measured."""
    functions: list[Any] = [*subjects.generated(number, first=2_000_000)]
    gc.collect()
    began = time.process_time()
    for function in functions:
        TypeAdapter[Any](function).json_schema()
    return (time.process_time() - began) / number


def registered(peer: Peer, number: int, runner: asyncio.Runner) -> dict[str, Any]:
    """Registering so many different tools, and listing them twice, after a warm-up with a few others."""
    runner.run(peer.listed(peer.register(subjects.generated(WARM_UP, first=1_000_000))))
    functions = subjects.generated(number)
    gc.collect()
    memory, began = resident(), time.process_time()
    registry = peer.register(functions)
    made = time.process_time()
    listed = runner.run(peer.listed(registry))
    first = time.process_time()
    again = runner.run(peer.listed(registry))
    ended = time.process_time()
    if not len(listed) == len(again) == number:
        raise RuntimeError(f"{number} tools were registered, {len(listed)} and {len(again)} listed")
    gc.collect()
    grown = resident() - memory
    floor = bare_per_tool(min(number, FLOOR_TOOLS)) * number
    return {
        "number": number,
        "register_s": made - began,
        "list_s": first - made,
        "again_s": ended - first,
        "both_s": first - began,  # some make the JSON Schemas at the one, some at the other
        "ratio": (first - began) / floor,
        "mb": grown,
    }


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure one framework; run.py does it for all of them.")
    parser.add_argument("what", choices=["calls", "probes", "register"])
    parser.add_argument("adapter")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--at-once", type=int, default=10_000)
    parser.add_argument("--number", type=int, default=1_000)
    return parser.parse_args()


def main() -> None:
    chosen = options()
    # a refused call is logged by some, at length: to write that is not what is measured
    logging.disable(logging.CRITICAL)
    peer: Peer = importlib.import_module(f"adapters.{chosen.adapter}").PEER
    with asyncio.Runner() as runner:
        if chosen.what == "register":
            found = registered(peer, chosen.number, runner)
        else:
            calls = runner.run(peer.calls(peer.register([*subjects.MEASURED, *subjects.PROBED])))
            if chosen.what == "probes":
                found = runner.run(probes.answers(calls))
            else:
                found = {"entry": peer.entry, "level": peer.level, **measured(calls, chosen.rounds, runner)}
                found["at_once"] = concurrency(calls, chosen.at_once, runner)
    chosen.out.write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main()
