"""A tool that is tried again: inside its one call, within the call's deadline and abort."""

import asyncio
import random
from dataclasses import replace
from time import monotonic
from typing import Any

from callboard.calls.failures import text_of
from callboard.calls.ports import frame_here
from callboard.tools import RegisteredTool, Retries
from callboard.tools.entry import Run
from callboard.tools.retries import code_of
from callboard.types import ToolContext
from callboard.workers import Timer, paused, paused_in_thread


def with_retries(entry: RegisteredTool, timer: Timer) -> RegisteredTool:
    """The same tool; a try that failed is followed by another where it asks for that.

    Each further try is told as progress of the call, with what the one before it ended with.
    """
    run: Any = entry.run
    if entry.retries is None or isinstance(run, _Tried):
        return entry
    made = _TriedAsync if entry.is_async else _Tried
    needs = () if entry.needs is None else entry.needs  # of a context: to tell of tries, to hear of the end
    return replace(entry, run=made(entry, entry.retries, timer), needs=needs)


class _Tried:
    """Runs a sync tool, in whatever thread it is called in."""

    __slots__ = ("_masked", "_retries", "_run", "_timer")

    def __init__(self, entry: RegisteredTool, retries: Retries, timer: Timer) -> None:
        self._run: Run = entry.run
        self._masked = entry.mask_errors
        self._retries = retries
        self._timer = timer

    def __call__(self, arguments: Any, context: ToolContext) -> Any:
        attempt = 1
        while True:
            try:
                return self._run(arguments, context)
            except Exception as error:
                if asyncio._get_running_loop() is not None:  # noqa: SLF001 - the public form raises
                    raise  # a pause would hold up the loop of this thread
                pause = self._pause(attempt, error)
                if pause is None:
                    raise
                self._tell(attempt, error, pause, context)
            paused_in_thread(self._timer, pause, context.abort)
            attempt += 1

    def _pause(self, attempt: int, error: Exception) -> float | None:
        """Seconds until the next try; None where this was the last, by number, its end, or the clock."""
        if attempt > self._retries.times or not self._retries.wanted(error):
            return None
        pause = self._retries.pause(attempt + 1, random.random())  # noqa: S311 - spreads tries, guards nothing
        _, options, _, began_ns = frame_here()
        if options.abort is not None and options.abort.aborted:
            return None
        if options.deadline is not None and began_ns / 1e9 + options.deadline - monotonic() <= pause:
            return None
        return pause

    def _tell(self, attempt: int, error: Exception, pause: float, context: ToolContext) -> None:
        context.report(
            {
                "try": attempt + 1,
                "of": self._retries.times + 1,
                "after": code_of(error),
                "error": type(error).__name__ if self._masked else text_of(error, context.redaction),
                "pause_seconds": round(pause, 3),
            }
        )


class _TriedAsync(_Tried):
    """Runs a coroutine tool."""

    __slots__ = ()

    async def __call__(self, arguments: Any, context: ToolContext) -> Any:
        attempt = 1
        while True:
            try:
                return await self._run(arguments, context)
            except Exception as error:
                pause = self._pause(attempt, error)
                if pause is None:
                    raise
                self._tell(attempt, error, pause, context)
            await paused(self._timer, pause)
            attempt += 1
