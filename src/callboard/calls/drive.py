"""Ways into the gate beside awaiting it: from sync code, and as a batch."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

from callboard.errors import NeedsAsync
from callboard.types import CallOutcome, ToolResult

Passage = Coroutine[Any, Any, ToolResult[Any]]


def drive(passage: Passage) -> ToolResult[Any]:
    """Take the gate to its end without an event loop: nothing on the way may wait.

    Raises:
        NeedsAsync: something did.
    """
    try:
        passage.send(None)
        passage.throw(NeedsAsync("a sync call can't wait", hint="use invoke_async"))
    except StopIteration as done:
        return done.value
    passage.close()
    raise NeedsAsync("a sync call can't wait", hint="use invoke_async")


async def batch(passages: Iterable[Passage]) -> list[CallOutcome]:
    """All at once; one outcome for each, in call order, whatever some of them do."""
    return list(await asyncio.gather(*[_settled(passage) for passage in passages]))


async def _settled(passage: Passage) -> CallOutcome:
    try:
        result = await passage
    except Exception as error:  # noqa: BLE001 - the outcome carries it
        return CallOutcome(getattr(error, "invocation", None), None, error)
    return CallOutcome(result.invocation, result, None)
