"""Debug mode: a tool whose object changes during a call keeps one caller's state for the next."""

import logging
from dataclasses import replace
from inspect import isawaitable, isroutine
from typing import Any

from callboard.tools import RegisteredTool
from callboard.types import ToolContext

_log = logging.getLogger("callboard.registry")


def watch_mutations(entry: RegisteredTool) -> RegisteredTool:
    """The same tool; a call that left its object changed is logged as a warning."""
    owner = _owner(entry.source)
    if owner is None:
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


def _owner(source: Any) -> object | None:
    """The object whose state a call could change; plain functions have none."""
    work: Any = getattr(source, "function", source)
    owner: object = getattr(work, "__self__", work)
    return owner if hasattr(owner, "__dict__") and not isroutine(owner) else None


def _seen(owner: object) -> dict[str, str]:
    return {name: repr(value) for name, value in vars(owner).items()}
