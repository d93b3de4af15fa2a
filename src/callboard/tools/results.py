"""From what a tool returned to its value, its JSON text and what the model sees; chosen per declared type."""

import enum
import inspect
from collections.abc import Callable
from functools import lru_cache
from math import isfinite
from typing import Any, get_args

from pydantic import BaseModel, PydanticSchemaGenerationError, PydanticUserError, TypeAdapter
from pydantic_core import PydanticSerializationError, ValidationError

from callboard.conversation import Audio, ContentPart, Image, Resource, Text, part_to_json
from callboard.errors import InvalidResult, RegistrationError
from callboard.tools.entry import Finish, Finished
from callboard.tools.reasons import reason_of
from callboard.tools.signature import is_lasting
from callboard.tools.walk import (
    NotJson,
    Path,
    admitted,
    is_dataclass_instance,
    is_dict,
    is_list,
    is_plain,
    is_tuple,
    json_text,
    shown,
)

_PARTS = (Text, Image, Audio, Resource)
_SHOWN = (str, *_PARTS)
_ANYTHING: TypeAdapter[Any] = TypeAdapter(Any)  # writes models and dataclasses by their own fields


def finish_for(tool_id: str, annotation: Any) -> Finish:
    """What checks a tool's result.

    Args:
        tool_id: for errors.
        annotation: the declared type; `inspect.Signature.empty` where nothing is declared.

    Raises:
        RegistrationError: for a declared type that pydantic can't serialise.
    """
    if annotation in _EXACT:
        return _EXACT[annotation](tool_id)
    if annotation in _OPEN or mentions_parts(annotation):
        return walked(tool_id)
    return _declared(tool_id, annotation)


def adapter_of(annotation: Any) -> TypeAdapter[Any]:
    """Pydantic's adapter of a declared result; one for all tools where the type is Python's own."""
    return (
        _cached_adapter(annotation, repr(annotation)) if is_lasting(annotation) else TypeAdapter(annotation)
    )


@lru_cache(maxsize=512)
def _cached_adapter(annotation: Any, _spelling: str) -> TypeAdapter[Any]:
    """`int | str` equals `str | int`: the spelling tells them apart."""
    return TypeAdapter(annotation)


_OPEN: tuple[Any, ...] = (
    inspect.Signature.empty,
    Any,
    object,
    dict,
    list,
    dict[str, Any],
    dict[Any, Any],
    list[Any],
)


def _is_part(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, _PARTS)


def mentions_parts(annotation: Any) -> bool:
    """Whether a declared result holds typed content parts, under whatever name."""
    seen: list[Any] = []
    todo: list[Any] = [annotation]
    while todo:
        each = todo.pop()
        if _is_part(each):
            return True
        if any(each is other for other in seen):
            continue
        seen.append(each)
        named = getattr(each, "__value__", None), getattr(each, "__supertype__", None)  # an alias, a NewType
        todo += [*get_args(each), *(inner for inner in named if inner is not None)]
    return False


def _number(tool_id: str) -> Finish:
    slow = _declared(tool_id, int)

    def finish(value: Any) -> Finished:
        if type(value) is int:
            try:
                text = repr(value)
            except ValueError:  # more digits than Python writes
                return slow(value)
            return value, text, text
        return slow(value)

    return finish


def _text(tool_id: str) -> Finish:
    slow = _declared(tool_id, str)

    def finish(value: Any) -> Finished:
        if type(value) is str:
            return value, _json(tool_id, value), value
        return slow(value)

    return finish


def _boolean(tool_id: str) -> Finish:
    slow = _declared(tool_id, bool)

    def finish(value: Any) -> Finished:
        if value is True:
            return value, "true", "true"
        return (value, "false", "false") if value is False else slow(value)

    return finish


def _nothing(tool_id: str) -> Finish:
    slow = _declared(tool_id, None)

    def finish(value: Any) -> Finished:
        return (value, "null", "null") if value is None else slow(value)

    return finish


_EXACT: dict[Any, Callable[[str], Finish]] = {
    int: _number,
    str: _text,
    bool: _boolean,
    None: _nothing,
    type(None): _nothing,
}


def walked(tool_id: str) -> Finish:
    """The check of an undeclared result: JSON only, or typed content parts."""

    def finish(value: Any) -> Finished:
        if type(value) is str:
            return value, _json(tool_id, value), value
        try:
            if is_plain(value):
                text = json_text(value)
                return value, text, text
            parts = _content(value)
            text = json_text(admitted(value, _part if parts else _own_form))
        except NotJson as error:
            raise unserialisable(tool_id, error) from None
        except Exception as failure:
            raise _failed(tool_id, failure) from failure
        return value, text, parts or text

    return finish


def _content(value: Any) -> tuple[ContentPart, ...] | None:
    """The typed parts of a result, in order; None where it has none."""
    if isinstance(value, _PARTS):
        return (value,)
    if not isinstance(value, (list, tuple)):
        return None
    items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
    if not any(isinstance(item, _PARTS) for item in items) or not all(
        isinstance(item, _SHOWN) for item in items
    ):
        return None
    return tuple(Text(item) if isinstance(item, str) else item for item in items)


def _part(value: Any, path: Path) -> Any:
    if not isinstance(value, _PARTS):
        raise NotJson(path, f"{type(value).__name__} is no content part")
    return admitted(part_to_json(value), _own_form)


def _own_form(value: Any, path: Path) -> Any:
    """The JSON of an object that knows its own fields; everything else is refused."""
    if isinstance(value, _PARTS):
        raise NotJson(path, f"{type(value).__name__} stands alone or in a list of parts and texts")
    if isinstance(value, enum.Enum):
        return _below(path, value.value)
    if isinstance(value, BaseModel) or is_dataclass_instance(value):
        return _below(path, _written_form(_ANYTHING, value, path))
    raise NotJson(path, f"{_called(value)} is no JSON")


def _called(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _below(path: Path, value: Any) -> Any:
    try:
        return admitted(value, _own_form)
    except NotJson as error:
        raise NotJson((*path, *error.path), error.reason) from None


def _written_form(adapter: TypeAdapter[Any], value: Any, path: Path) -> Any:
    """The JSON of a value by its type. Pydantic writes NaN as null and doubles keys silently: we refuse."""
    try:
        made = adapter.dump_python(value, mode="json", by_alias=True, warnings="error")
        kept = adapter.dump_python(value, mode="python", by_alias=True, warnings="error")
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise NotJson(path, f"{type(value).__name__} can't be written as JSON: {error}") from None
    _check_nothing_lost(kept, made, path)
    return made


def _check_nothing_lost(kept: Any, made: Any, path: Path) -> None:
    if isinstance(kept, float) and not isfinite(kept):
        raise NotJson(path, f"{kept} is no JSON number")
    if is_dict(kept) and is_dict(made):
        if len(kept) != len(made):
            raise NotJson(path, "two keys are the same text in JSON")
        for (name, after), before in zip(made.items(), kept.values(), strict=True):
            _check_nothing_lost(before, after, (*path, name))
    elif (is_list(kept) or is_tuple(kept)) and is_list(made):
        for index, (before, after) in enumerate(zip(kept, made, strict=False)):
            _check_nothing_lost(before, after, (*path, index))


def _declared(tool_id: str, annotation: Any) -> Finish:
    try:
        adapter = adapter_of(annotation)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise RegistrationError(
            f"tool {tool_id!r}, its result: {error.message.strip().splitlines()[0]}",
            hint="declare a type that JSON can carry",
        ) from None
    except Exception as failure:  # a type's own code makes its schema
        raise RegistrationError(
            f"tool {tool_id!r}, its result: {reason_of(failure)}", hint="declare a type that JSON can carry"
        ) from failure
    validate = adapter.validator.validate_python

    def finish(value: Any) -> Finished:
        try:
            try:
                value = validate(value, strict=True)
            except ValidationError as error:
                value = _read_as(tool_id, adapter, value, error)
            made = _written_form(adapter, value, ())
            text = json_text(made if is_plain(made) else admitted(made, _own_form))
        except NotJson as error:
            raise unserialisable(tool_id, error) from None
        except InvalidResult:
            raise
        except Exception as failure:
            raise _failed(tool_id, failure) from failure
        return value, text, value if type(value) is str else text

    return finish


def _read_as(tool_id: str, adapter: TypeAdapter[Any], value: Any, error: ValidationError) -> Any:
    """What is no instance of the declared type may be one as JSON: a tuple for a list, a dict for a model."""
    try:
        text = json_text(admitted(value, _own_form))
        return adapter.validator.validate_json(text, strict=True)
    except (NotJson, ValidationError):
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise InvalidResult(
            f"tool {tool_id!r} returned {_called(value)}, which is not what it declares: "
            f"{shown(first['loc'])}: {first['msg']}",
            hint="this is the tool's fault, not that of the arguments",
        ) from None


def _json(tool_id: str, value: Any) -> str:
    try:
        return json_text(value)
    except NotJson as error:
        raise unserialisable(tool_id, error) from None


def _failed(tool_id: str, failure: Exception) -> InvalidResult:
    """The error for a result whose own code fails: its class, its fields, its serialisers or validators."""
    return InvalidResult(
        f"tool {tool_id!r} returned what can't be read: {reason_of(failure)}",
        code="result.unserialisable",
        hint="this is the tool's fault, not that of the arguments",
    )


def unserialisable(tool_id: str, error: NotJson) -> InvalidResult:
    """The error for a result that is no JSON."""
    return InvalidResult(
        f"tool {tool_id!r} returned what JSON can't carry, at {error}",
        code="result.unserialisable",
        hint="this is the tool's fault, not that of the arguments",
    )
