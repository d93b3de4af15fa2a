"""How the end of a step is written as JSON text and read again, so that every life of a run sees the same."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from callboard import errors
from callboard.errors import Aborted, BudgetExhausted, CallboardError, ReplayDiverged, WorkflowError
from callboard.workflow.stops import WorkClock

Json = Any


def to_text(value: Json) -> str:
    """A value as JSON text.

    Raises:
        WorkflowError: it is no JSON.
    """
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise WorkflowError(f"the value of a step is no JSON: {error}", code="step.not_json") from error


async def valued(work: Callable[[], Awaitable[Json]], clock: WorkClock) -> str:
    """Run `work`; its value as text, with the seconds worked until then. What it raises is no end."""
    value = to_text(await work())
    return f'{{"used":{clock.used():.6f},"value":{value}}}'


async def settled(work: Callable[[], Awaitable[Json]], clock: WorkClock, cause: list[BaseException]) -> str:
    """Run `work`; how it ended as text, with the seconds worked until then.

    A failure, a stop and an exhausted budget are ends like a value. A cancelled task is none: the process
    goes, and nobody decided anything. `cause` receives what was raised.
    """
    try:
        return await valued(work, clock)
    except ReplayDiverged:
        raise
    except Aborted as error:
        ended: dict[str, Json] = {"aborted": error.reason}
        cause.append(error)
    except BudgetExhausted as error:
        ended = {"exhausted": {"reason": error.reason, "limit": error.limit}}
        cause.append(error)
    except Exception as error:  # noqa: BLE001 - a failure is an end: the node may catch it, at replay too
        ended = {"failed": _failure(error)}
        cause.append(error)
    return to_text({"used": round(clock.used(), 6), **ended})


def recalled(text: str, clock: WorkClock, cause: list[BaseException]) -> Json:
    """The value of a recorded step, or the exception that it ended with.

    Raises:
        Aborted: the step was stopped.
        CallboardError: it failed, or a budget ended it.
    """
    ended = json.loads(text)
    clock.restore(ended["used"])
    if "value" in ended:
        return ended["value"]
    raise _raised(ended) from (cause[0] if cause else None)


def _failure(error: Exception) -> dict[str, Json]:
    if isinstance(error, CallboardError):
        kind = next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in errors.__all__)
        return {"type": kind, "message": str(error), "code": error.code, "hint": error.hint}
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return {"type": "WorkflowError", "message": message, "code": "step.failed", "hint": None}


def _raised(ended: dict[str, Json]) -> BaseException:
    if "aborted" in ended:
        return Aborted(ended["aborted"])
    if "exhausted" in ended:
        return BudgetExhausted(**ended["exhausted"])
    failure = ended["failed"]
    kind = getattr(errors, failure["type"], WorkflowError)
    return kind(failure["message"], code=failure["code"], hint=failure["hint"])
