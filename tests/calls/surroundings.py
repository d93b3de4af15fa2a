"""What the tests of calls share: a registry in one line, its records, the code of a failing call."""

import asyncio
from typing import Any

import pytest

from callboard import ToolError, ToolRegistry, tool
from callboard.events import ToolCallRecord

BOUND = 10.0


def registry(*tools: Any, **options: Any) -> ToolRegistry:
    return ToolRegistry(**options).register_all(tools)


def records(tools: ToolRegistry) -> list[ToolCallRecord]:
    return [event for event in tools.events if isinstance(event, ToolCallRecord)]


async def code_of(call: Any) -> str:
    with pytest.raises(ToolError) as caught:
        await asyncio.wait_for(call, BOUND)
    return caught.value.code


@tool
def one() -> int:
    return 1


def boom(*_: object) -> Any:
    raise RuntimeError("broken")
