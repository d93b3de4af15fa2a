"""What an adapter is: the shortest honest way into one framework."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal, NamedTuple

Function = Callable[..., Any]


def never_failed(_result: Any) -> bool:
    """Of a framework that raises what went wrong, instead of handing it back."""
    return False


class Calls(NamedTuple):
    """The calls of registered tools, by the tool's name and the JSON text that a model sends."""

    awaited: Callable[[str, str], Coroutine[Any, Any, Any]]
    sync: Callable[[str, str], Any] | None = None
    failed: Callable[[Any], bool] = never_failed  # whether what was handed back is an error
    finds: bool = True  # the tool by its name: without it there is no unknown tool


class Peer(NamedTuple):
    """One framework, at the entry point that is measured."""

    entry: str
    level: Literal["loop", "tool"]  # what its loop or server calls for a tool call, or the tool alone
    register: Callable[[Sequence[Function]], Any]
    calls: Callable[[Any], Coroutine[Any, Any, Calls]]
    listed: Callable[[Any], Coroutine[Any, Any, Sequence[Any]]]  # what a model would be told of the tools
