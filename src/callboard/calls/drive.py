"""Ways into the gate beside awaiting it: from sync code, and as a batch."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from callboard.types import CallOutcome, ToolResult
from callboard.workers import cannot_wait

Passage = Coroutine[Any, Any, ToolResult[Any]]


def drive(passage: Passage) -> ToolResult[Any]:
    """Take the gate to its end without an event loop: nothing on the way may wait.

    Raises:
        Denied: something did, `approval.needs_async`.
    """
    try:
        passage.send(None)
        passage.throw(cannot_wait())
    except StopIteration as done:
        return done.value
    passage.close()
    raise cannot_wait()


async def batch(passages: Iterable[Callable[[], Passage]]) -> list[CallOutcome]:
    """All at once; one outcome for each, in call order, whatever some of them do.

    What is no call's own failure, such as a KeyboardInterrupt, rises when all have ended.
    """
    ended = await asyncio.gather(*[_settled(passage) for passage in passages], return_exceptions=True)
    outcomes: list[CallOutcome] = []
    for outcome in ended:
        if isinstance(outcome, BaseException):
            raise outcome
        outcomes.append(outcome)
    return outcomes


async def _settled(passage: Callable[[], Passage]) -> CallOutcome:
    try:
        result = await passage()
    except Exception as error:  # noqa: BLE001 - the outcome carries it
        return CallOutcome(getattr(error, "invocation", None), None, error)
    return CallOutcome(result.invocation, result, None)
