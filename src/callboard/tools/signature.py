"""What a function's signature says: parameters, their types and defaults, the context, the result."""

import inspect
import re
import types
import typing
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typing_extensions

from callboard.errors import RegistrationError
from callboard.tools.needs import Need, bound_secrets, check_bound, need_of
from callboard.types import ToolContext

_NAME = re.compile(r"[A-Za-z_]\w*")
_UNIONS = (Union, types.UnionType)
_NO_RESULT = type(None)
_PLAIN_VALUES = frozenset({bool, int, str, _NO_RESULT})  # what `Literal` may list
_LASTING = frozenset({"builtins", "datetime", "decimal", "pathlib", "types", "typing", "uuid"})


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter that the model fills in."""

    name: str
    annotation: Any
    default: Any  # inspect.Parameter.empty where there is none


@dataclass(frozen=True, slots=True)
class Signature:
    """What is known of a function that will be called.

    Attributes:
        parameters: those that the model fills in, in order.
        context: the name of the context parameter; None where there is none.
        needs: those that are filled in when a call starts.
        positional: the names of those that take no name in a call, the context's among them.
        result: the declared result; `inspect.Signature.empty` where nothing is declared.
    """

    parameters: tuple[Parameter, ...]
    context: str | None
    needs: tuple[Need, ...]
    positional: tuple[str, ...]
    result: Any

    @property
    def asks(self) -> tuple[Need, ...] | None:
        """What a call has to bring along beside the arguments; None: not even a context."""
        return self.needs if self.needs or self.context is not None else None


def names_in_annotations(function: Any) -> frozenset[str]:
    """The names that string annotations mention: what has to be found where the function is defined."""
    annotations: Mapping[str, Any] = getattr(plain_function(function), "__annotations__", None) or {}
    return frozenset(
        name for text in annotations.values() if isinstance(text, str) for name in _NAME.findall(text)
    )


def plain_function(source: Any) -> Any:
    """The Python function below partials, bound methods and callable objects."""
    while True:
        if isinstance(source, partial):
            source = source.func
        elif inspect.ismethod(source):
            source = source.__func__
        elif hasattr(source, "__wrapped__"):
            source = source.__wrapped__
        elif inspect.isroutine(source) or isinstance(source, type) or not callable(source):
            return source
        else:
            source = type(source).__call__


def read_signature(tool_id: str, function: Callable[..., Any], names: Mapping[str, Any]) -> Signature:
    """Read it, with every annotation resolved.

    Args:
        tool_id: for errors.
        function: what will be called.
        names: what was visible where the function was defined, for annotations that are text.

    Raises:
        RegistrationError: for variadic parameters, a type that can't be resolved, two contexts.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise RegistrationError(f"tool {tool_id!r}: its signature can't be read: {error}") from None
    hints, bound = _hints(tool_id, function, names), _bound_names(function)
    check_bound(tool_id, function)
    parameters: list[Parameter] = []
    needs: list[Need] = []
    context: str | None = None
    for name, parameter in signature.parameters.items():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise RegistrationError(
                f"tool {tool_id!r}, parameter {stars}{name}: no model can name its arguments",
                hint="list the parameters, or take one `dict` or `list`",
            )
        if name in bound:
            continue
        annotation = hints.get(name, Any)
        if name in {"self", "cls"} and name not in hints and not parameters:
            raise RegistrationError(
                f"tool {tool_id!r}: it is a method without its object",
                hint="register the method of an instance",
            )
        if _is_context(annotation):
            if context is not None:
                raise RegistrationError(
                    f"tool {tool_id!r}: both {context} and {name} ask for the context", hint="keep one"
                )
            context = name
            continue
        need = need_of(tool_id, name, annotation, parameter.default)
        if need is not None:
            needs.append(need)
            continue
        annotation = _read_dicts(f"tool {tool_id!r}, parameter {name!r}", annotation)
        parameters.append(Parameter(name, annotation, parameter.default))
    result = _read_dicts(f"tool {tool_id!r}, its result", hints.get("return", inspect.Signature.empty))
    positional = [name for name, each in signature.parameters.items() if each.kind is each.POSITIONAL_ONLY]
    given = [name for name in signature.parameters if name not in bound]
    _check_wrapper(tool_id, function, positional, given)
    return Signature(tuple(parameters), context, tuple(needs), tuple(positional), result)


def _check_wrapper(tool_id: str, function: Any, positional: Sequence[str], names: Sequence[str]) -> None:
    """What `functools.wraps` made says the wrapped function's signature: its own has to take as much."""
    if not hasattr(function, "__wrapped__"):
        return
    try:
        own = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):  # a builtin wrapper, such as that of `lru_cache`
        return
    try:
        own.bind(*positional, **{name: None for name in names if name not in positional})
    except TypeError as error:
        raise RegistrationError(
            f"tool {tool_id!r}: the wrapper of its function has another signature: {error}",
            hint="let the wrapper take *args and **kwargs, or remove its `functools.wraps`",
        ) from None


def _read_dicts(where: str, annotation: Any) -> Any:
    try:
        return with_extended_dicts(annotation)
    except RegistrationError as error:
        raise RegistrationError(f"{where}: {error}", hint=error.hint) from None


def _bound_names(function: Any) -> frozenset[str]:
    """What a partial has filled in by name: it stays so, and no model sees it."""
    bound: set[str] = set()
    marked = bound_secrets(function)
    while isinstance(function, partial):
        bound.update(function.keywords)
        function = function.func
    return frozenset(bound - marked)


def _hints(tool_id: str, function: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    plain = plain_function(function)
    annotations: Mapping[str, Any] = getattr(plain, "__annotations__", None) or {}
    if not annotations:
        return {}
    scope: dict[str, Any] = {"ToolContext": ToolContext, **_enclosing(plain), **names}
    space: dict[str, Any] = getattr(plain, "__globals__", {})
    scope = {name: value for name, value in scope.items() if name not in space or name in names}
    try:
        return get_type_hints(plain, space, scope, include_extras=True)
    except Exception as error:  # noqa: BLE001 - any expression may stand in an annotation
        problem: Exception = error
    for name, annotation in annotations.items():
        single = types.SimpleNamespace(__annotations__={name: annotation})
        try:
            get_type_hints(single, space, scope, include_extras=True)
        except Exception as error:  # noqa: BLE001 - as above
            where = "its result" if name == "return" else f"parameter {name!r}"
            raise RegistrationError(
                f"tool {tool_id!r}, {where}: the type {annotation!r} can't be resolved: {error}",
                hint="define or import it where the function is defined, not under TYPE_CHECKING only",
            ) from None
    raise RegistrationError(f"tool {tool_id!r}: its annotations can't be resolved: {problem}")


def _enclosing(plain: Any) -> Mapping[str, Any]:
    cells: tuple[Any, ...] = getattr(plain, "__closure__", None) or ()
    found: dict[str, Any] = {}
    for name, cell in zip(getattr(getattr(plain, "__code__", None), "co_freevars", ()), cells, strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
    return found


def _is_context(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _is_context(get_args(annotation)[0])
    if get_origin(annotation) in _UNIONS:
        return any(_is_context(part) for part in get_args(annotation))
    return isinstance(annotation, type) and issubclass(annotation, ToolContext)


def yielded_result(annotation: Any) -> Any:
    """The declared result of a generator: what it returns, else what it yields last."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Generator and len(parts) == 3:  # noqa: PLR2004 - Generator[yields, takes, returns]
        yields, _, returns = parts
        if returns in {None, _NO_RESULT}:
            return yields
        return Union[returns, yields] if _NO_RESULT in get_args(returns) else returns  # noqa: UP007 - made at run time
    if origin in {Generator, AsyncGenerator, Iterator, Iterable, AsyncIterator, AsyncIterable} and parts:
        return parts[0]
    return inspect.Signature.empty


def awaited_result(annotation: Any) -> Any | None:
    """The declared result of a plain function that says it gives an awaitable; None for any other."""
    origin = get_origin(annotation)
    if not isinstance(origin, type) or not issubclass(origin, Awaitable):
        return None
    return get_args(annotation)[-1]


def is_lasting(annotation: Any) -> bool:
    """Whether it is built of Python's own types only: what a plugin brought must go with the plugin."""
    module = annotation.__module__ if isinstance(annotation, type) else type(annotation).__module__
    if module not in _LASTING or get_origin(annotation) is Annotated:
        return False
    return all(type(part) in _PLAIN_VALUES or is_lasting(part) for part in get_args(annotation))


def with_extended_dicts(annotation: Any) -> Any:
    """The annotation with each `typing.TypedDict` as one of `typing_extensions`, which pydantic reads."""
    return _extended(annotation, ())


def _extended(annotation: Any, above: tuple[Any, ...]) -> Any:
    if isinstance(annotation, type) and typing.is_typeddict(annotation):
        return _extended_dict(annotation, above)
    parts = get_args(annotation)
    if not parts or get_origin(annotation) is typing.Literal:
        return annotation
    if get_origin(annotation) is Annotated:
        inner = _extended(parts[0], above)
        return annotation if inner is parts[0] else Annotated[(inner, *annotation.__metadata__)]  # type: ignore[misc]
    made = tuple(_extended(part, above) for part in parts)
    if all(new is old for new, old in zip(made, parts, strict=True)):
        return annotation
    if get_origin(annotation) in _UNIONS:
        return Union[made]  # noqa: UP007 - made at run time
    origin: Any = get_origin(annotation)
    remade: Any = getattr(annotation, "copy_with", None)
    return origin[made] if remade is None else remade(made)


def _extended_dict(made: Any, above: tuple[Any, ...]) -> Any:
    if type(made).__module__ == "typing_extensions":
        return made
    if made in above:
        raise RegistrationError(
            f"{made.__name__} contains itself",
            hint="take TypedDict from typing_extensions, which can be recursive",
        )
    required: frozenset[str] = made.__required_keys__
    fields = {
        name: (typing.Required if name in required else typing.NotRequired)[
            _extended(_bare(hint), (*above, made))
        ]
        for name, hint in get_type_hints(made, include_extras=True).items()
    }
    extended: Any = typing_extensions.TypedDict(made.__name__, fields)  # type: ignore[misc]
    extended.__doc__, extended.__module__ = made.__doc__, made.__module__
    if hasattr(made, "__pydantic_config__"):
        extended.__pydantic_config__ = made.__pydantic_config__
    return extended


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) in {typing.Required, typing.NotRequired} else hint
