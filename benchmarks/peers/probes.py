"""What a path checks, found out by calls that would show it; no figure here, and no opinion."""

import asyncio
from collections.abc import Callable
from typing import Any

import subjects
from contract import Calls

REFUSED = "refused"


async def answers(calls: Calls) -> dict[str, str]:
    """Ask all questions; the answer to one that breaks down says so."""
    return {
        "text for int": await reached(calls, "echo", '{"count": "3"}', coerced),
        "extra key": await reached(calls, "echo", '{"count": 3, "c": 5}', lambda _: "ignored"),
        "key twice": await reached(calls, "echo", '{"count": 3, "count": 4}', lambda _: "last wins"),
        "bound": await reached(
            calls, "pick", '{"items": [{"name": "nut", "qty": 0, "price": 1}]}', lambda _: "let through"
        ),
        "wrong result": await result_of_another_type(calls),
        "error says": await error_names_the_argument(calls),
        "cancel": await cancel_reaches_the_tool(calls),
    }


def coerced(value: Any) -> str:
    return "made int" if isinstance(value, int) else "as text"


async def said(calls: Calls, name: str, text: str) -> tuple[bool, str]:
    """Whether the call came to a good end, and what there was to read."""
    try:
        result = await calls.awaited(name, text)
    except Exception as error:  # noqa: BLE001 - a refusal, whatever its type
        return False, str(error)
    return not calls.failed(result), repr(result)


async def reached(calls: Calls, name: str, text: str, meaning: Callable[[Any], str]) -> str:
    """What it means that the tool was reached; else it was refused."""
    subjects.received.clear()
    await said(calls, name, text)
    return meaning(subjects.received[0]) if subjects.received else REFUSED


async def result_of_another_type(calls: Calls) -> str:
    good, text = await said(calls, "wrong", '{"count": 3}')
    return "handed back" if good and subjects.WRONG in text else REFUSED


async def error_names_the_argument(calls: Calls) -> str:
    good, text = await said(calls, "pick", '{"items": [{"name": "nut", "qty": "many", "price": 1}]}')
    return "no error" if good else "yes" if "qty" in text else "no"


async def cancel_reaches_the_tool(calls: Calls) -> str:
    subjects.cancelled.clear()
    call = asyncio.ensure_future(calls.awaited("wait", '{"count": 3}'))
    await asyncio.wait_for(subjects.waiting.wait(), 10)
    call.cancel()
    await asyncio.wait([call], timeout=10)
    return "yes" if subjects.cancelled else "no"
