"""Parameters that no model sees: `Injected[...]` comes from the host, `secret("NAME")` from its secrets."""

import inspect
import re
import types
from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any, NamedTuple, NoReturn, TypeVar, Union, get_args, get_origin

from callboard.errors import RegistrationError

T = TypeVar("T")
_UNIONS = (Union, types.UnionType)
_TEXTS = (str, Any, object)
_NO_TEXT = type(None)
_REQUIRED = inspect.Parameter.empty
_TELLING = re.compile(r"\b(?:secret\(|Injected\[)")
_NAME = re.compile(r"[^\s\x00-\x1f\x7f=]{1,256}")


class Need(NamedTuple):
    """A parameter that is filled in when the call starts.

    Attributes:
        parameter: its name, by which the host's values are found.
        secret: the secret's name; None for what is injected.
        default: stands in where there is nothing; `inspect.Parameter.empty` where it has to be there.
    """

    parameter: str
    secret: str | None
    default: Any


class Secret:
    """The mark of a parameter that gets a secret; `secret` makes it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> NoReturn:
        """Refuse: what pydantic reads, a model fills in."""
        raise _misplaced(repr(self))

    def __repr__(self) -> str:
        return f"secret({self.name!r})"


class Injection:
    """The mark that `Injected` leaves."""

    __slots__ = ()

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> NoReturn:
        """Refuse: what pydantic reads, a model fills in."""
        raise _misplaced("Injected[...]")


def secret(name: str) -> Any:
    """Mark a parameter that gets a secret, and that no model sees.

    ``token: Annotated[str, secret("GITHUB_TOKEN")]`` and ``token: str = secret("GITHUB_TOKEN")`` mean the
    same. It is fetched for each call, after that was allowed, and kept out of all that is recorded or shown.

    Args:
        name: what the secret is called where the host keeps it: in the environment, in the keyring.

    Raises:
        RegistrationError: it is no name.
    """
    given: Any = name
    if not isinstance(given, str) or not _NAME.fullmatch(given):
        raise RegistrationError(
            "secret() needs the name of a secret", hint='such as secret("GITHUB_TOKEN"), without blanks'
        )
    return Secret(given)


Injected = Annotated[T, Injection()]
"""A parameter that the host fills in by its name, and that no model sees: ``user: Injected[User]``."""

_INCOMPLETE = (secret, Injected)  # marks that were not called, or got no type


def need_of(tool_id: str, name: str, annotation: Any, default: Any) -> Need | None:
    """What has to be filled in for a parameter; None where the model does it.

    Raises:
        RegistrationError: the marks contradict each other, or can't work.
    """
    marks = _marks(annotation)
    if default is not _REQUIRED:
        marks += _default_marks(default)
    if not marks:
        return None
    where = f"tool {tool_id!r}, parameter {name!r}"
    mark, *others = marks
    if others:
        raise RegistrationError(f"{where} is marked more than once", hint="keep one secret, or Injected")
    if not isinstance(mark, Secret | Injection):
        raise RegistrationError(
            f"{where}: a mark is not complete",
            hint='write Annotated[str, secret("NAME")] or Injected[Type]',
        )
    if type(default).__name__ == "FieldInfo":
        raise RegistrationError(
            f"{where}: no model sees it, so no Field tells anything of it",
            hint="write the mark as the annotation, and a plain default, or none",
        )
    if isinstance(mark, Secret) and not _takes_text(annotation):
        raise RegistrationError(f"{where}: a secret is a text", hint="annotate it with str")
    fallback = _REQUIRED if isinstance(default, Secret) else default
    return Need(name, mark.name if isinstance(mark, Secret) else None, fallback)


def _default_marks(default: Any) -> tuple[Any, ...]:
    """The mark that is a default, or stands in a `Field` that is one."""
    held = getattr(default, "default", None) if type(default).__name__ == "FieldInfo" else default
    return (held,) if isinstance(held, Secret) else ()


def check_bound(tool_id: str, function: Any) -> None:
    """A secret among the positional arguments of a partial would reach the function as it is.

    Raises:
        RegistrationError: there is one.
    """
    while isinstance(function, partial):
        for value in function.args:
            if isinstance(value, Secret):
                raise RegistrationError(
                    f"tool {tool_id!r}: its partial holds {value!r} by position", hint="give it by name"
                )
        function = function.func


def check_unmarked(tool_id: str, function: Any) -> None:
    """Where arguments come by position, nothing can be filled in by name.

    Args:
        tool_id: for errors.
        function: the plain function.

    Raises:
        RegistrationError: a parameter is marked nonetheless, and would get something else.
    """
    defaults = (*(getattr(function, "__defaults__", None) or ()), *_values(function, "__kwdefaults__"))
    if any(isinstance(value, Secret) for value in defaults) or any(
        _TELLING.search(each) if isinstance(each, str) else _marks(each)
        for each in _values(function, "__annotations__")
    ):
        raise RegistrationError(
            f"tool {tool_id!r}: {function.__name__} marks a parameter, and gets its arguments by position",
            hint="register a function whose signature says what it takes, with @tool",
        )


def _values(function: Any, name: str) -> Iterable[Any]:
    held: dict[str, Any] = getattr(function, name, None) or {}
    return held.values()


def bound_secrets(function: Any) -> frozenset[str]:
    """The parameters that a partial has filled in with a secret by name: the call fills them in."""
    given: dict[str, Any] = {}
    while isinstance(function, partial):
        given = {**function.keywords, **given}
        function = function.func
    return frozenset(name for name, value in given.items() if isinstance(value, Secret))


def _marks(annotation: Any) -> tuple[Any, ...]:
    """The marks of a parameter: in `Annotated`, in an alias, in a part of a union. Most have none."""
    if isinstance(annotation, type):
        return ()
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *metadata = get_args(annotation)
        found = [
            each
            for each in metadata
            if isinstance(each, Secret | Injection) or any(each is one for one in _INCOMPLETE)
        ]
        return (*found, *_marks(inner))
    if origin in _UNIONS:
        return tuple(mark for part in get_args(annotation) for mark in _marks(part))
    if type(annotation).__name__ == "TypeAliasType":
        return _marks(annotation.__value__)
    return ()


def _takes_text(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _takes_text(get_args(annotation)[0])
    if get_origin(annotation) in _UNIONS:
        parts = [part for part in get_args(annotation) if part is not _NO_TEXT]
        return bool(parts) and all(map(_takes_text, parts))
    for name in ("__value__", "__supertype__"):  # an alias, a NewType
        if hasattr(annotation, name):
            return _takes_text(getattr(annotation, name))
    return annotation in _TEXTS


def _misplaced(mark: str) -> RegistrationError:
    return RegistrationError(
        f"{mark} stands inside of what a model fills in",
        hint="it marks a parameter of the tool itself, not a part of one",
    )
