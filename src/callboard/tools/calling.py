"""How the gate calls what was registered: functions by name, generators to their end, simulations by fit."""

import inspect
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Sequence
from contextlib import aclosing
from typing import Any

from callboard.errors import RegistrationError
from callboard.tools.define import is_coroutine_function, nature
from callboard.tools.entry import Needs, Run
from callboard.tools.signature import Signature, read_signature
from callboard.types import ToolContext


def caller(function: Callable[..., Any], signature: Signature) -> Run:
    """What runs a function with validated arguments; a generator is run to its end."""
    call, kind = _plain_caller(function, signature), nature(function)
    if kind == "async generator":
        return _async_steps(call)
    if kind == "coroutine" and not is_coroutine_function(function):
        return _settled(call)
    return _steps(call) if kind == "generator" else call


def _settled(call: Run) -> Run:
    """A plain wrapper of a coroutine function gives its coroutine, or has waited for it."""

    async def run(arguments: Any, ctx: ToolContext | None) -> Any:
        made = call(arguments, ctx)
        return await made if inspect.isawaitable(made) else made

    return run


def _plain_caller(function: Callable[..., Any], signature: Signature) -> Run:
    call = _by_name(function, signature)
    return supplied(call) if signature.needs else call


def supplied(call: Run) -> Run:
    """The same, with what was delivered to the call among its arguments."""

    def run(arguments: Any, ctx: ToolContext | None) -> Any:
        return call(arguments if ctx is None else {**arguments, **ctx.delivered}, ctx)

    return run


def _by_name(function: Callable[..., Any], signature: Signature) -> Run:
    context = signature.context
    if signature.positional:
        return _positional_caller(function, signature.positional, context)
    if context is None:
        return lambda arguments, _: function(**arguments)
    return lambda arguments, ctx: function(**arguments, **{context: ctx})


def _positional_caller(function: Callable[..., Any], positional: Sequence[str], context: str | None) -> Run:
    def run(arguments: Any, ctx: ToolContext | None) -> Any:
        given = arguments if context is None else {**arguments, context: ctx}
        named = {name: value for name, value in given.items() if name not in positional}
        return function(*(given[name] for name in positional), **named)

    return run


def _steps(call: Run) -> Run:
    def run(arguments: Any, ctx: ToolContext | None) -> Any:
        steps: Generator[Any, Any, Any] = call(arguments, ctx)
        last: Any = None
        try:
            while True:
                last = next(steps)
                if ctx is not None:
                    ctx.report(last)
        except StopIteration as end:
            return last if end.value is None else end.value
        finally:
            steps.close()

    return run


def _async_steps(call: Run) -> Run:
    async def run(arguments: Any, ctx: ToolContext | None) -> Any:
        last: Any = None
        made: AsyncGenerator[Any, None] = call(arguments, ctx)
        async with aclosing(made) as steps:
            async for last in steps:
                if ctx is not None:
                    ctx.report(last)
        return last

    return run


def simulation(
    tool_id: str, function: Callable[..., Any], names: Collection[str], *, what: str = "simulate"
) -> tuple[Run, Needs]:
    """What calls a tool's `simulate`, or its `probe`: with the arguments it names, and the context.

    One parameter that is none of the tool's gets all arguments, as a dict. What is filled in for it are its
    own marked parameters, whatever the tool marks.

    Raises:
        RegistrationError: for a parameter that the tool can't fill.
    """
    signature = read_signature(f"{tool_id} ({what})", function, {})
    wanted = [parameter.name for parameter in signature.parameters]
    strangers = [parameter for parameter in signature.parameters if parameter.name not in names]
    if strangers and len(wanted) == 1 and strangers[0].default is inspect.Parameter.empty:
        return _whole(function, signature), signature.asks
    missing = [each.name for each in strangers if each.default is inspect.Parameter.empty]
    if missing:
        raise RegistrationError(
            f"tool {tool_id!r}: its {what} takes {missing[0]!r}, which is no parameter of the tool",
            hint=f"take some of {', '.join(names)}, or one dict with all of them",
        )
    call = _plain_caller(function, signature)

    def run(arguments: Any, ctx: ToolContext | None) -> Any:
        return call({name: arguments[name] for name in wanted if name in arguments}, ctx)

    return run, signature.asks


def _whole(function: Callable[..., Any], signature: Signature) -> Run:
    only = signature.parameters[0].name
    call = _plain_caller(function, signature)
    return lambda arguments, ctx: call({only: arguments}, ctx)
