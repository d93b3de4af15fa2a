"""The tools that are measured, and the JSON texts that a model sends for them."""

import asyncio
import importlib.util
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

ADD = '{"a": 3, "b": 4}'
INVALID = '{"a": "x", "b": 4}'
ORDER = (
    '{"items": [{"name": "bolt", "qty": 3, "price": 0.25}, {"name": "nut", "qty": 10, "price": 0.1}, '
    '{"name": "plate", "qty": 1, "price": 12.5}], "note": "rush"}'
)
WRONG = "this is not an int"

received: list[Any] = []  # the arguments that reached `echo` and `pick`
waiting = asyncio.Event()  # `wait` has begun
cancelled: list[str] = []  # `wait` was told to end


class Item(BaseModel):
    name: str
    qty: int = Field(ge=1)
    price: float


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: the first
        b: the second
    """
    return a + b


async def add_async(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: the first
        b: the second
    """
    return a + b


async def add_yielding(a: int, b: int) -> int:
    """Add two numbers, after all others had their turn.

    Args:
        a: the first
        b: the second
    """
    await asyncio.sleep(0)
    return a + b


def placed(items: list[Any], note: str | None) -> dict[str, Any]:
    # a framework may hand the items on as plain dicts
    rows: list[dict[str, Any]] = [item if isinstance(item, dict) else vars(item) for item in items]
    return {"total": sum(row["qty"] * row["price"] for row in rows), "n": len(rows), "note": note}


def order(items: list[Item], note: str | None = None) -> dict[str, Any]:
    """Place an order.

    Args:
        items: what is ordered
        note: a note for the shop
    """
    return placed(items, note)


async def order_async(items: list[Item], note: str | None = None) -> dict[str, Any]:
    """Place an order.

    Args:
        items: what is ordered
        note: a note for the shop
    """
    return placed(items, note)


async def echo(count: int) -> int:
    """Say the number again.

    Args:
        count: any number
    """
    received.append(count)
    return 1


async def pick(items: list[Item]) -> int:
    """Pick these from the shelf.

    Args:
        items: what is picked
    """
    received.append(items)
    return 1


async def wrong(count: int) -> int:
    """Give back something else than it says.

    Args:
        count: any number
    """
    received.append(count)
    return WRONG  # pyright: ignore[reportReturnType] - the point of it


async def wait(count: int) -> int:
    """Wait until somebody ends it.

    Args:
        count: any number
    """
    waiting.set()
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        cancelled.append("wait")
        raise
    return count


MEASURED: tuple[Callable[..., Any], ...] = (add, add_async, add_yielding, order, order_async)
PROBED: tuple[Callable[..., Any], ...] = (echo, pick, wrong, wait)

KINDS = ("int", "str", "float", "bool", "list[str]", "dict[str, int]", "int | None", "Literal['low', 'high']")
NOUNS = ("path", "count", "city", "limit", "owner", "label", "start", "query")


def source(number: int) -> str:
    """One function of three parameters; of 10,000 in a row no two have the same signature."""
    kinds = [KINDS[number % 8], KINDS[number // 8 % 8], KINDS[number // 64 % 8]]
    names = [f"{NOUNS[(number + place) % 8]}_{number // 512 + place}" for place in range(3)]
    last = " = None" if kinds[2] == "int | None" else ""
    signature = ", ".join(f"{name}: {kind}" for name, kind in zip(names, kinds, strict=True)) + last
    described = "\n".join(f"        {name}: parameter {name} of tool {number}" for name in names)
    return (
        f"def tool_{number}({signature}) -> str:\n"
        f'    """Do thing number {number}.\n\n    Args:\n{described}\n    """\n'
        f'    return "done"\n'
    )


def generated(number: int, first: int = 0) -> list[Callable[..., Any]]:
    """So many functions of a module written for them: frameworks may read the source of a tool."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"generated_{first}.py"
        numbers = range(first, first + number)
        path.write_text("from typing import Literal\n\n\n" + "\n\n".join(map(source, numbers)), "utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return [getattr(module, f"tool_{one}") for one in numbers]
