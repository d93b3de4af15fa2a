"""Debug mode: a tool whose object changes during a call keeps one caller's state for the next."""

import logging
from dataclasses import replace
from inspect import isawaitable
from typing import Any

from callboard.tools import RegisteredTool
from callboard.types import ToolContext

_log = logging.getLogger("callboard.registry")


def watch_mutations(entry: RegisteredTool) -> RegisteredTool:
    """The same tool; a call that left its object changed is logged as a warning."""
    owner = getattr(entry.execute, "__self__", None)
    if owner is None and not isinstance(entry.execute, type(watch_mutations)):
        owner = entry.execute
    if owner is None or not hasattr(owner, "__dict__"):
        return entry

    def run(value: Any, context: ToolContext | None) -> Any:
        before = _seen(owner)
        result = entry.run(value, context)
        if isawaitable(result):
            return _awaited(result, before)
        _compare(before)
        return result

    async def _awaited(result: Any, before: dict[str, str]) -> Any:
        try:
            return await result
        finally:
            _compare(before)

    def _compare(before: dict[str, str]) -> None:
        changed = sorted(name for name, seen in _seen(owner).items() if before.get(name) != seen)
        if changed:
            _log.warning(
                "tool %s changed its own %s during a call: state of one call belongs into its context",
                entry.id,
                ", ".join(changed),
            )

    return replace(entry, run=run)


def _seen(owner: object) -> dict[str, str]:
    return {name: repr(value) for name, value in vars(owner).items()}
