"""What is shown of a tool: description, JSON Schemas, fingerprint. Made at the first look, then kept."""

import inspect
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError

from callboard.errors import RegistrationError
from callboard.tools.arguments import Arguments
from callboard.tools.docstrings import Described, read_docstring
from callboard.tools.reasons import reason_of
from callboard.tools.results import mentions_parts
from callboard.tools.textforms import form_of, published_key
from callboard.tools.walk import NotJson, admitted, is_plain, json_text, nothing_else

Schema = dict[str, Any]


class _Look:
    """One thing made once, at the first look."""

    __slots__ = ("_lock", "_made")

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}
        self._lock = Lock()

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` gives, made once for each name."""
        if name not in self._made:
            with self._lock:
                if name not in self._made:
                    self._made[name] = make()
        return self._made[name]


class PublishedSchema:
    """Of a tool that came with its schema, or with none."""

    __slots__ = ("_description", "_doc", "_identity", "_look", "input_schema", "kept", "output_schema")

    def __init__(
        self, identity: tuple[str, str], description: str | None, doc: str | None, schema: Schema | None
    ) -> None:
        self._identity = identity
        self._description = description
        self._doc = doc
        self._look = _Look()
        self.input_schema: Schema = {"type": "object"} if schema is None else schema
        self.output_schema: Schema | None = None
        self.kept: dict[Any, Any] = {}

    @property
    def description(self) -> str | None:
        """What was given, else the docstring's text before its sections."""
        if self._description is not None:
            return self._description
        made: Described = self._look.once("doc", lambda: read_docstring(self._doc))
        return made.text

    @property
    def fingerprint(self) -> str:
        """Stable digest of id, kind, description and schemas."""
        return _digest(*self._identity, self.description, self.input_schema, self.output_schema)


class PublishedSignature:
    """Of a tool made from a function: the docstring is read and the schemas are made when somebody looks."""

    __slots__ = ("_arguments", "_description", "_doc", "_identity", "_look", "_result", "kept")

    def __init__(
        self,
        identity: tuple[str, str],
        description: str | None,
        doc: str | None,
        arguments: Arguments,
        result: Any,
    ) -> None:
        self._identity = identity
        self._description = description
        self._doc = doc
        self._arguments = arguments
        self._result = result
        self._look = _Look()
        self.kept: dict[Any, Any] = {}

    @property
    def _described(self) -> Described:
        made: Described = self._look.once("doc", lambda: read_docstring(self._doc))
        return made

    @property
    def description(self) -> str | None:
        """What was given, else the docstring's text before its sections."""
        return self._description if self._description is not None else self._described.text

    @property
    def input_schema(self) -> Schema:
        """JSON Schema of the arguments."""
        described = self._described
        made: Schema = self._look.once("input", lambda: self._made_input(described))
        return made

    def _made_input(self, described: Described) -> Schema:
        schema = _generated(self._identity[0], self._arguments.shown, self._arguments.shown_definitions)
        properties: Schema = schema["properties"]
        names = {
            field.get("validation_alias", name): name
            for name, field in self._arguments.shown["fields"].items()
        }
        for wire, name in names.items():
            text = described.parameters.get(name) or described.parameters.get(wire)
            if text and "description" not in properties[wire]:
                properties[wire] = {**properties[wire], "description": text}
        return _checked(self._identity[0], schema)

    @property
    def output_schema(self) -> Schema | None:
        """JSON Schema of the result; None where nothing is declared."""
        made: Schema | None = self._look.once("output", lambda: output_schema(self._result))
        return made

    @property
    def fingerprint(self) -> str:
        """Stable digest of id, kind, description and schemas."""
        look = self.description, self.input_schema, self.output_schema
        made: str = self._look.once("fingerprint", lambda: _digest(*self._identity, *look))
        return made


def _digest(*parts: Any) -> str:
    from hashlib import sha256  # noqa: PLC0415 - not on the way of a call

    from callboard.tools.canonical import canonical_json  # noqa: PLC0415 - same

    return sha256(canonical_json(parts).encode()).hexdigest()


def output_schema(annotation: Any) -> Schema | None:
    """The JSON Schema of a declared result; None where nothing is declared or JSON Schema can't say it.

    Content parts are no JSON for the model.
    """
    if annotation is inspect.Signature.empty or annotation is Any or mentions_parts(annotation):
        return None
    try:
        made = TypeAdapter(annotation).json_schema(mode="serialization", schema_generator=_Generator)
        json_text(admitted(made, nothing_else))
    except Exception:  # noqa: BLE001 - a type's own code may make its schema
        return None
    return made


def _checked(tool_id: str, schema: Schema) -> Schema:
    """The schema, if it is JSON: an author may add anything to it."""
    try:
        json_text(admitted(schema, nothing_else))
    except NotJson as error:
        raise _unpublishable(tool_id, str(error)) from None
    return schema


def _unpublishable(tool_id: str, reason: str) -> RegistrationError:
    return RegistrationError(
        f"tool {tool_id!r} can't be published: {reason}",
        code="schema.unpublishable",
        hint="a model shows no such tool; the others are not touched",
    )


def _generated(tool_id: str, shown: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    core: Any = (
        {"type": "definitions", "schema": shown, "definitions": list(definitions.values())}
        if definitions
        else shown
    )
    try:
        schema = _Generator().generate(core)
    except Exception as error:  # a type's own code may make its schema
        raise _unpublishable(tool_id, reason_of(error)) from error
    schema.setdefault("properties", {})
    return schema


class _Generator(GenerateJsonSchema):
    """Pydantic's generator, brought into line with our validators (docs/types.md)."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - as pydantic declares it

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's hook
        """No titles that only repeat the name."""
        return False

    def encode_default(self, dft: Any) -> Any:
        """JSON as it is: pydantic would build an adapter for each default; what is no JSON is not shown."""
        made = dft if is_plain(dft) else super().encode_default(dft)
        try:
            json_text(admitted(made, nothing_else))
        except NotJson as error:
            raise PydanticSerializationError(str(error)) from None
        return made

    def field_is_present(self, field: Any) -> bool:
        """No argument for a field that a dataclass sets itself."""
        given = self.mode == "serialization" or field.get("init", True)
        return given and super().field_is_present(field)

    def enum_schema(self, schema: Any) -> Schema:
        return _each_once(super().enum_schema(schema))

    def literal_schema(self, schema: Any) -> Schema:
        return _each_once(super().literal_schema(schema))

    def model_schema(self, schema: Any) -> Schema:
        return _closed(super().model_schema(schema), schema)

    def dataclass_schema(self, schema: Any) -> Schema:
        return _closed(super().dataclass_schema(schema), schema)

    def tagged_union_schema(self, schema: Any) -> Schema:
        """Tags exclude each other, so `anyOf` says the same as `oneOf`, and more providers read it."""
        made = super().tagged_union_schema(schema)
        made.pop("discriminator", None)
        return {"anyOf" if key == "oneOf" else key: value for key, value in made.items()}

    def decimal_schema(self, schema: Any) -> Schema:
        return form_of(schema).published()

    def datetime_schema(self, schema: Any) -> Schema:
        return form_of(schema).published()

    def date_schema(self, schema: Any) -> Schema:
        return form_of(schema).published()

    def time_schema(self, schema: Any) -> Schema:
        return form_of(schema).published()

    def timedelta_schema(self, schema: Any) -> Schema:
        return form_of(schema).published()

    def uuid_schema(self, schema: Any) -> Schema:
        return form_of(schema).published()

    def dict_schema(self, schema: Any) -> Schema:
        made: Schema = {"type": "object"}
        values = self.generate_inner(schema["values_schema"]) if "values_schema" in schema else {}
        made["additionalProperties"] = values or True
        if "keys_schema" in schema:
            keys = published_key(schema["keys_schema"]) or self.generate_inner(schema["keys_schema"])
            if keys.keys() - {"type"}:
                made["propertyNames"] = keys
        for limit, word in (("min_length", "minProperties"), ("max_length", "maxProperties")):
            if limit in schema:
                made[word] = schema[limit]
        return made


def _each_once(made: Schema) -> Schema:
    """The choices without second names of the same one: some providers refuse a doubled value."""
    if "enum" not in made:
        return made
    kept: list[Any] = []
    for value in made["enum"]:
        if not any(value == other and isinstance(value, bool) is isinstance(other, bool) for other in kept):
            kept.append(value)
    return {**made, "enum": kept}


def _closed(made: Schema, node: Mapping[str, Any]) -> Schema:
    config: Mapping[str, Any] = node.get("config") or {}
    if (
        config.get("extra_fields_behavior") == "forbid"
        and made.get("type") == "object"
        and "additionalProperties" not in made
    ):
        return {**made, "additionalProperties": False}
    return made
