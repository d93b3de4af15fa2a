"""`@tool`: a function becomes a Tool, which only a registry executes."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import partial
from inspect import currentframe
from types import FrameType, FunctionType
from typing import Any, Generic, Literal, NoReturn, TypeVar, get_args, overload

from callboard.errors import RegistrationError
from callboard.tools.entry import Mode
from callboard.tools.limits import Limit
from callboard.tools.retries import Retries
from callboard.tools.signature import names_in_annotations

F = TypeVar("F", bound=Callable[..., Any])
_CO_OPTIMIZED = 1  # set in the code of functions, not in that of class bodies and modules


class UnknownOption(RegistrationError, TypeError):
    """Raised for an option that the decorator does not have; a TypeError, as it is for any function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOptions:
    """What the decorator was given; see `tool`."""

    name: str | None = None
    description: str | None = None
    mode: Mode = "write"
    serial: bool | str = False
    concurrency: int | None = None
    rate: str | None = None
    limit: Limit | None = None
    blocking: bool = True
    simulate: Callable[..., Any] | None = None
    agents: Iterable[str] | None = None
    retries: int | Retries = 0
    idempotent: bool = False
    probe: Callable[..., Any] | None = None
    mask_errors: bool = False
    strict: bool | None = None
    debug_steps: Any = None
    schema: Mapping[str, Any] | None = None
    parse_input: Callable[..., Any] | None = None
    parse_output: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Tool(Generic[F]):
    """A decorated function. It is not callable: only a registry executes it.

    Attributes:
        function: the plain function, for unit tests.
        options: what the decorator was given.
        names: what the annotations mention and was visible where the function was defined.
    """

    function: F
    options: ToolOptions
    names: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The given name, else the function's."""
        return self.options.name or function_name(self.function)

    @property
    def kind(self) -> Mode:
        """The mode: `read` or `write`."""
        return self.options.mode

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> "Tool[Any]":
        """A decorated method of an instance, or a class method, is a Tool of the bound method."""
        bind = getattr(self.function, "__get__", None)
        target: object = self.function
        is_free = instance is None and not isinstance(target, (classmethod, staticmethod))
        if is_free or bind is None or isinstance(target, type):
            return self
        return Tool(bind(instance, owner), self.options, self.names)

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: there is no way around the gate by accident.

        Raises:
            TypeError: always; it says how to call the tool.
        """
        raise TypeError(
            f"{self.id} is a tool and is not called directly: use registry.invoke({self.id!r}, {{...}}), "
            f"or {self.id}.function(...) in a unit test"
        )

    def __repr__(self) -> str:
        return f"<Tool {self.id!r}, {self.kind}>"


def function_name(function: Any) -> str:
    """The name of a function, of what a partial calls, or of a callable object's class."""
    while True:
        name = getattr(function, "__name__", None)
        if isinstance(name, str):
            return name
        inner = getattr(function, "func", None)
        if inner is None:
            return type(function).__name__
        function = inner


@overload
def tool(function: F, /) -> Tool[F]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    mode: Mode = "write",
    serial: bool | str = False,
    concurrency: int | None = None,
    rate: str | None = None,
    limit: Limit | None = None,
    blocking: bool = True,
    simulate: Callable[..., Any] | None = None,
    agents: Iterable[str] | None = None,
    retries: int | Retries = 0,
    idempotent: bool = False,
    probe: Callable[..., Any] | None = None,
    mask_errors: bool = False,
    strict: bool | None = None,
    debug_steps: Any = None,
    schema: Mapping[str, Any] | None = None,
    parse_input: Callable[..., Any] | None = None,
    parse_output: Callable[..., Any] | None = None,
) -> Callable[[F], Tool[F]]: ...
def tool(function: Any = None, /, **options: Any) -> Any:  # noqa: D417 - the options are told one by one
    """Make a tool of a function, coroutine, generator, method, partial or callable object.

    Parameters, their types and their descriptions come from the signature and the docstring (Google, NumPy
    or Sphinx style); a parameter of type `ToolContext` is filled in and not shown to the model. What can't
    work is refused when the tool is registered.

    Args:
        function: what is decorated; the rest is given by name.
        name: the tool's id; the function's name where it is not given.
        description: for the model; the docstring's text where it is not given.
        mode: `read` (no side effect) or `write`.
        serial: True: one call at a time; a text: one call at a time among all tools that name this resource.
        concurrency: calls of it that may run at the same time; the surplus waits, in order.
        rate: calls of it that may start in a time, such as ``"10/min"``; the surplus waits, in order.
        limit: what it shares with other tools: one `Limit`, given to each of them.
        blocking: False: a sync function is quick, and runs on the event loop instead of in a thread.
        simulate: runs instead of a write in a simulation; takes the parameters it names, and the context.
        agents: the agents that may see it; None means everybody.
        retries: tries after a first one that failed: a number, or a `Retries`; for reads, and for writes
            that are idempotent.
        idempotent: a second execution of the same call changes nothing.
        probe: tells whether a write took place whose outcome nobody knows: True, False, or None for "can't
            tell". Takes the parameters it names, and the context with its `call_key`.
        mask_errors: the model sees no exception of the tool but a ToolError.
        strict: whether a provider's strict mode may hold models to the schema. None: where it satisfies
            that mode's rules; True: the same, and `tools check` warns where it doesn't; False: never.
        debug_steps: kept in the entry, for diagnostics.
        schema: JSON Schema of the arguments instead of the signature; the function gets them by name.
        parse_input: reads the raw arguments instead of the kernel; the function gets what it returns.
        parse_output: checks the result instead of the declared type.

    Returns:
        The Tool; with options, a decorator that makes it.

    Raises:
        UnknownOption: there is no such option; names those that there are.
        RegistrationError: there is no such mode.
    """
    made = _checked(options)
    if function is not None:
        return Tool(function, made, _visible(function, currentframe()))

    def decorate(target: Any) -> Tool[Any]:
        return Tool(target, made, _visible(target, currentframe()))

    return decorate


def _checked(options: Mapping[str, Any]) -> ToolOptions:
    """The options, if the decorator knows them all; said here, where the traceback shows the line.

    A kind of another name is for hosts that bring a policy for it, in seed 003's form.
    """
    legal = [field.name for field in fields(ToolOptions)]
    for name in options:
        if name not in legal:
            close = get_close_matches(name, legal, n=1)
            raise UnknownOption(
                f"@tool has no option {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""),
                hint=f"the options are: {', '.join(legal)}",
            )
    if options.get("mode", "write") not in get_args(Mode):
        raise RegistrationError(
            f"@tool has no mode {options['mode']!r}",
            hint="use `read` (no side effect) or `write`",
        )
    return ToolOptions(**options)


def _visible(function: Any, frame: FrameType | None) -> Mapping[str, Any]:
    """The local names that string annotations mention, where the function is being defined."""
    wanted = names_in_annotations(function)
    found: dict[str, Any] = {}
    frame = None if frame is None else frame.f_back  # that of the decorator's caller
    while wanted and frame is not None:
        local = frame.f_locals
        found = {**{name: local[name] for name in wanted if name in local}, **found}
        if frame.f_code.co_flags & _CO_OPTIMIZED or local is frame.f_globals:
            break
        frame = frame.f_back  # a class body runs inside the scope that defines it
    return found


Nature = Literal["plain", "coroutine", "generator", "async generator"]
_NATURES: Mapping[int, Nature] = {
    0: "plain",
    inspect.CO_COROUTINE: "coroutine",
    inspect.CO_GENERATOR: "generator",
    inspect.CO_ASYNC_GENERATOR: "async generator",
    inspect.CO_GENERATOR | inspect.CO_ITERABLE_COROUTINE: "generator",
}
_RUNNING = (
    inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
)


def is_async(function: Any) -> bool:
    """Whether calling it gives a coroutine or an async generator."""
    return nature(function) in {"coroutine", "async generator"}


def nature(function: Any) -> Nature:
    """What calling it gives: its result, or something that has to be run to get it.

    A plain wrapper made with `functools.wraps` gives what the wrapped function gives.
    """
    if isinstance(function, FunctionType) and not vars(function):  # nothing marks or wraps it
        return _NATURES[function.__code__.co_flags & _RUNNING]
    while True:
        called = _called(function)
        if inspect.iscoroutinefunction(called):
            return "coroutine"
        if inspect.isgeneratorfunction(called):
            return "generator"
        if inspect.isasyncgenfunction(called):
            return "async generator"
        wrapped: Any = getattr(function, "__wrapped__", None)
        if wrapped is None:
            return "plain"
        function = wrapped


def is_coroutine_function(function: Any) -> bool:
    """Whether calling it gives a coroutine for certain, and is not only said to."""
    return inspect.iscoroutinefunction(_called(function))


def _called(function: Any) -> Any:
    while isinstance(function, partial):
        function = function.func
    return function if inspect.isroutine(function) or not callable(function) else type(function).__call__
