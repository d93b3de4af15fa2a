"""What it costs to get going: `python start.py ADAPTER FILE`, always in a fresh process.

Two figures of CPU time and of modules: after the imports that the adapter needs, and after one tool was
registered and called once. What Python itself needs to start is left out. Nothing heavy is imported here.
"""

import asyncio
import importlib
import json
import sys
import time


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def main(adapter: str, file: str) -> None:
    began, loaded = time.process_time(), len(sys.modules)
    peer = importlib.import_module(f"adapters.{adapter}").PEER
    imported, modules = time.process_time() - began, len(sys.modules) - loaded

    async def first_call() -> None:
        calls = await peer.calls(peer.register([add]))
        await calls.awaited("add", '{"a": 1, "b": 2}')

    asyncio.run(first_call())
    found = {
        "import_s": imported,
        "import_modules": modules,
        "first_call_s": time.process_time() - began,
        "first_call_modules": len(sys.modules) - loaded,
    }
    with open(file, "w", encoding="utf-8") as out:  # noqa: PTH123 - pathlib is a module, and would be counted
        json.dump(found, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
