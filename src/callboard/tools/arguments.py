"""From the parameters of a signature to the core schemas of its arguments."""

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, get_origin

from pydantic import BaseModel, Discriminator, PydanticSchemaGenerationError, PydanticUserError, TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, SchemaError

from callboard.errors import RegistrationError
from callboard.tools.entry import Parse
from callboard.tools.pairs import Pairs, pairs_of, total_of
from callboard.tools.parse import arguments_parser
from callboard.tools.reasons import reason_of
from callboard.tools.refusals import failed_part
from callboard.tools.rewriting import Node, closed, exact
from callboard.tools.signature import Parameter, is_lasting
from callboard.tools.walk import is_dataclass_instance


@dataclass(frozen=True, slots=True)
class TypeForm:
    """One annotation, as core schemas.

    Attributes:
        shown: closed, for publishing.
        validated: closed and exact, for validating.
        shown_definitions, definitions: what the two refer to.
        pairs: see `callboard.tools.pairs`.
    """

    shown: Node
    validated: Node
    shown_definitions: Mapping[str, Node]
    definitions: Mapping[str, Node]
    pairs: Pairs


@dataclass(frozen=True, slots=True)
class Arguments:
    """The compiled arguments of a tool: how they are parsed, and what is published of them."""

    parse: Parse
    shown: Node
    shown_definitions: Mapping[str, Node]


@dataclass(slots=True)
class _Field:
    name: str
    wire: str
    form: TypeForm
    required: bool
    default: Any = None
    factory: Callable[[], Any] | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


def compile_arguments(tool_id: str, parameters: Sequence[Parameter]) -> Arguments:
    """Compile them.

    Raises:
        RegistrationError: names the parameter whose type can't be used.
    """
    fields = [_field(tool_id, parameter) for parameter in parameters]
    _check_names(tool_id, fields)
    definitions: dict[str, Node] = {}
    shown_definitions: dict[str, Node] = {}
    for each in fields:
        definitions.update(each.form.definitions)
        shown_definitions.update(each.form.shown_definitions)
    node: Node = {
        "type": "typed-dict",
        "extra_behavior": "forbid",
        "fields": {
            each.name: _core_field(each, each.form.validated, required=each.required) for each in fields
        },
    }
    shown: Node = {
        "type": "typed-dict",
        "extra_behavior": "forbid",
        "fields": {
            each.name: _core_field(each, _with_default(each), required=each.required) for each in fields
        },
    }
    pairs = total_of({each.name: each.form.pairs for each in fields})
    try:
        parse = arguments_parser(node, definitions, pairs or _untold, _filling(fields))
    except SchemaError as error:
        raise RegistrationError(f"tool {tool_id!r}: its parameters can't be validated: {error}") from None
    return Arguments(parse, shown, shown_definitions)


def _untold(_: dict[str, Any]) -> int:
    return -1


def _field(tool_id: str, parameter: Parameter) -> _Field:
    where = f"tool {tool_id!r}, parameter {parameter.name!r}"
    info = _field_info(parameter)
    try:
        form = type_form(parameter.annotation if info is None else _bare_annotation(info))
        if info is not None:
            return _described_field(parameter.name, form, info)
        made = _Field(parameter.name, parameter.name, form, required=_is_missing(parameter.default))
        if not made.required:
            made.default, made.factory = _default(parameter.default)
    except RegistrationError as error:
        raise RegistrationError(f"{where}: {error}", hint=error.hint) from None
    return made


def _is_missing(default: Any) -> bool:
    return default is inspect.Parameter.empty


def _described_field(name: str, form: TypeForm, info: FieldInfo) -> _Field:
    made = _Field(name, _wire_name(info) or name, form, required=info.is_required())
    if info.default_factory is not None:
        if info.default_factory_takes_validated_data:
            raise RegistrationError(
                "its default_factory takes the other values",
                hint="use a default_factory without parameters",
            )
        made.factory = info.default_factory  # type: ignore[assignment]
    elif info.default is not PydanticUndefined:
        made.default, made.factory = _default(info.default)
    made.metadata = _metadata(info)
    return made


def _bare_annotation(info: FieldInfo) -> Any:
    """The type with its bounds, without what `Field` says of the parameter: that is for us to read."""
    parts: list[Any] = list(info.metadata)
    if isinstance(info.discriminator, str):
        parts.append(Discriminator(info.discriminator))
    elif info.discriminator is not None:
        parts.append(info.discriminator)
    return Annotated[(info.annotation, *parts)] if parts else info.annotation


def _field_info(parameter: Parameter) -> FieldInfo | None:
    """What `Annotated` or a `Field` as default says of a parameter; None where neither is there."""
    annotation, default = parameter.annotation, parameter.default
    if isinstance(default, FieldInfo):
        return FieldInfo.from_annotated_attribute(annotation, default)
    if get_origin(annotation) is not Annotated:
        return None
    if default is inspect.Parameter.empty:
        return FieldInfo.from_annotation(annotation)
    return FieldInfo.from_annotated_attribute(annotation, default)


def _metadata(info: FieldInfo) -> dict[str, Any]:
    """What pydantic adds to the published schema."""
    described = info.description or next(filter(None, map(_as_description, info.metadata)), None)
    updates = {
        "description": described,
        "title": info.title,
        "examples": info.examples,
        "deprecated": True if info.deprecated else None,
    }
    said = {key: value for key, value in updates.items() if value is not None}
    metadata = {"pydantic_js_updates": said, "pydantic_js_extra": info.json_schema_extra}
    return {key: value for key, value in metadata.items() if value}


def _as_description(part: Any) -> str | None:
    """`Annotated[int, "how many"]` and `Annotated[int, Doc("how many")]` describe, too."""
    text = part if isinstance(part, str) else getattr(part, "documentation", None)
    return text if isinstance(text, str) else None


def _wire_name(info: FieldInfo) -> str | None:
    alias = info.validation_alias or info.alias
    if alias is None or isinstance(alias, str):
        return alias
    for choice in getattr(alias, "choices", ()):
        if isinstance(choice, str):
            return choice
    raise RegistrationError("an AliasPath can't be published", hint="use a plain alias")


def _default(value: Any) -> tuple[Any, Callable[[], Any] | None]:
    """The default, or what makes a fresh copy where a call could change it.

    Raises:
        RegistrationError: for a default that no two calls could have each for itself.
    """
    if _is_constant(value):
        return value, None
    try:
        copy.deepcopy(value)
    except Exception as failure:
        raise RegistrationError(
            f"its default can't be copied: {reason_of(failure)}", hint="use None, or a default_factory"
        ) from failure
    return value, lambda: copy.deepcopy(value)


def _is_constant(value: Any) -> bool:
    """Whether calls may share it; what has no hash, or is an object with fields, can be changed."""
    try:
        hash(value)
    except Exception:  # noqa: BLE001 - a default's own code
        return False
    return not isinstance(value, BaseModel) and not is_dataclass_instance(value)


def _check_names(tool_id: str, fields: Sequence[_Field]) -> None:
    seen: dict[str, str] = {}
    for each in fields:
        other = seen.setdefault(each.wire, each.name)
        if other != each.name:
            raise RegistrationError(
                f"tool {tool_id!r}: parameters {other!r} and {each.name!r} are both shown as {each.wire!r}",
                hint="give them different aliases",
            )


def _core_field(each: _Field, schema: Node, *, required: bool) -> Node:
    made: Node = {"type": "typed-dict-field", "schema": schema, "required": required}
    if each.wire != each.name:
        made["validation_alias"] = each.wire
    if each.metadata:
        made["metadata"] = each.metadata
    return made


def _with_default(each: _Field) -> Node:
    if each.required or (each.factory is not None and each.default is None):
        return each.form.shown
    return {"type": "default", "schema": each.form.shown, "default": each.default}


def _filling(fields: Sequence[_Field]) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    """What adds the defaults, in the order of the signature."""
    optional = [each for each in fields if not each.required]
    if not optional:
        return None
    plain = {each.name: each.default for each in fields}
    made = [(each.name, each.factory) for each in optional if each.factory is not None]
    if not made:
        return lambda given: {**plain, **given}

    def fill(given: dict[str, Any]) -> dict[str, Any]:
        try:
            fresh = {name: factory() for name, factory in made if name not in given}
        except Exception as failure:
            raise failed_part("default_factory", failure) from failure
        return {**plain, **fresh, **given}

    return fill


def type_form(annotation: Any) -> TypeForm:
    """The core schemas of one annotation.

    Raises:
        RegistrationError: for a type that pydantic or JSON has no form for.
    """
    return _cached_form(annotation, repr(annotation)) if is_lasting(annotation) else _form(annotation)


@lru_cache(maxsize=512)
def _cached_form(annotation: Any, _spelling: str) -> TypeForm:
    """`int | str` equals `str | int`: the spelling tells them apart."""
    return _form(annotation)


def _form(annotation: Any) -> TypeForm:
    try:
        core: Any = TypeAdapter(annotation).core_schema
    except PydanticUndefinedAnnotation as error:
        raise RegistrationError(
            f"a type it uses can't be resolved: {error}", hint="define it at module level"
        ) from None
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise RegistrationError(_first_line(error.message), hint="use a type that JSON can carry") from None
    except Exception as failure:  # a type's own code makes its schema
        raise RegistrationError(reason_of(failure), hint="use a type that JSON can carry") from failure
    definitions: dict[str, Any] = {}
    while core["type"] == "definitions":
        definitions.update((each["ref"], each) for each in core["definitions"])
        core = core["schema"]
    shown = closed(core)
    shown_definitions = {ref: closed(each) for ref, each in definitions.items()}
    validated = exact(shown)
    validated_definitions = {ref: exact(each) for ref, each in shown_definitions.items()}
    return TypeForm(
        shown, validated, shown_definitions, validated_definitions, pairs_of(validated, validated_definitions)
    )


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "its type can't be used"
