"""Tools that come with a JSON Schema: the schema is checked first, then it validates; nothing is ever fetched."""

import copy
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from callboard.errors import RegistrationError
from callboard.tools.entry import Parsed
from callboard.tools.parse import not_an_object, refusal
from callboard.tools.reading import read_json, text_of
from callboard.tools.refs import pointed
from callboard.tools.repair import Complaint, repaired, written
from callboard.tools.roots import is_object_root
from callboard.tools.walk import NotJson, admitted, nothing_else

if TYPE_CHECKING:
    import jsonschema_rs

MAX_SCHEMA_NODES = 20_000
MAX_SCHEMA_DEPTH = 64
MAX_EXPANDED = 100_000
DRAFT = "https://json-schema.org/draft/2020-12/schema"


class SchemaParser:
    """The parser of one such tool, and what is known of its schema."""

    __slots__ = ("_validator", "schema")

    def __init__(self, tool_id: str, schema: Any) -> None:
        """Check the schema and compile it.

        Raises:
            RegistrationError: for a schema that is no JSON, no object at its root, refers to something outside
                itself, is too deep or too large, or is no valid draft 2020-12.
        """
        import jsonschema_rs  # noqa: PLC0415 - 20 ms, and only tools with a schema need it

        self.schema: dict[str, Any] = checked_schema(tool_id, schema)
        try:
            self._validator: jsonschema_rs.Draft202012Validator = jsonschema_rs.Draft202012Validator(
                self.schema, offline=True, validate_formats=True
            )
        except (ValueError, TypeError, jsonschema_rs.ReferencingError) as error:
            raise RegistrationError(f"tool {tool_id!r}: its schema is not valid: {error}") from None

    @property
    def properties(self) -> Mapping[str, Any]:
        """The properties at the root."""
        return self.schema.get("properties", {})

    @property
    def required(self) -> list[str]:
        """The required properties at the root."""
        return self.schema.get("required", [])

    @property
    def is_open(self) -> bool:
        """Whether keys pass that are none of `properties`."""
        return self.schema.get("additionalProperties", True) is not False

    def parse(self, raw: Any) -> Parsed:
        """See `callboard.tools.entry.Parse`."""
        text = text_of(raw)
        if not text.strip():
            text = "{}"
        value = read_json(text)
        if value is None:
            text, value = "{}", {}
        if self._validator.is_valid(value):
            return value, text, False
        return self._again(text, value)

    def _again(self, text: str, value: Any) -> Parsed:
        errors = [each for error in self._validator.iter_errors(value) for each in _complaints(error, value)]
        given = read_json(text, exact=True)
        made = repaired(given, (Complaint(place, kind) for place, kind, _ in errors), self._optional)
        if made is not None:
            text = written(made[0])
            value = read_json(text)
            if self._validator.is_valid(value):
                return value, text, made[1]
        elif not isinstance(given, dict):
            raise not_an_object(given)
        raise refusal(errors, self._keys)

    def _keys(self, place: tuple[str | int, ...]) -> dict[str, bool]:
        node: Any = self.schema
        for step in place:
            node = _below(self.schema, node, step)
        node = _resolved(self.schema, node)
        required = node.get("required", [])
        return {key: key in required for key in node.get("properties", {})}

    def _optional(self, place: tuple[str | int, ...]) -> bool:
        return bool(place) and self._keys(place[:-1]).get(str(place[-1]), True) is False


def _resolved(root: Any, node: Any) -> dict[str, Any]:
    for _ in range(MAX_SCHEMA_DEPTH):
        if not isinstance(node, dict):
            return {}
        ref = node.get("$ref")
        if not isinstance(ref, str):
            return node
        node = pointed(root, ref)
    return {}


def _below(root: Any, node: Any, step: str | int) -> Any:
    node = _resolved(root, node)
    if isinstance(step, int):
        return node.get("items", {})
    return node.get("properties", {}).get(step, {})


def _complaints(error: Any, value: Any) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    place: tuple[str | int, ...] = tuple(error.instance_path)
    kind = error.kind
    name = type(kind).__name__
    if name.endswith("AdditionalProperties") or name.endswith("UnevaluatedProperties"):
        for key in kind.unexpected:
            yield (*place, key), "extra_forbidden", error.message
    elif name.endswith("Required"):
        yield (*place, kind.property), "missing", error.message
    elif name.endswith("Type"):
        yield place, _WANTED.get(tuple(sorted(set(kind.types) - {"null"})), "other"), error.message
    else:
        yield place, "other", error.message


_WANTED = {
    ("array",): "list_type",
    ("boolean",): "bool_type",
    ("integer",): "int_type",
    ("number",): "float_type",
    ("object",): "dict_type",
}


def checked_schema(tool_id: str, schema: Any) -> dict[str, Any]:
    """A private copy of a schema that can be compiled safely.

    Raises:
        RegistrationError: names the tool and what is wrong.
    """
    try:
        made = admitted(schema if not isinstance(schema, Mapping) else dict(schema), nothing_else)
    except NotJson as error:
        raise RegistrationError(f"tool {tool_id!r}: its schema is no JSON: {error}") from None
    if not isinstance(made, dict):
        raise RegistrationError(f"tool {tool_id!r}: its schema is no object")
    checker = _Checker(tool_id, made)
    checker.check()
    return copy.copy(made)


class _Checker:
    def __init__(self, tool_id: str, schema: dict[str, Any]) -> None:
        self._tool_id = tool_id
        self._schema = schema
        self._nodes = 0

    def check(self) -> None:
        self._visit(self._schema, 0)
        root = self._schema
        if not is_object_root(root):
            raise self._refused(
                "its root is no object",
                "give it `type: object` at the root: arguments have names",
                "schema.root",
            )
        declared = root.get("$schema", DRAFT)
        if str(declared).rstrip("#") != DRAFT:
            raise self._refused(f"it declares {declared!r}", "write it in draft 2020-12")
        size = self._expanded(root, (), {})
        if size > MAX_EXPANDED:
            raise self._refused(
                f"with its references written out it has more than {MAX_EXPANDED} parts", "make it smaller"
            )

    def _visit(self, node: Any, depth: int) -> None:
        self._nodes += 1
        if depth > MAX_SCHEMA_DEPTH or self._nodes > MAX_SCHEMA_NODES:
            raise self._refused("it is too deep or too large", f"at most {MAX_SCHEMA_DEPTH} levels")
        if isinstance(node, dict):
            for word in ("$ref", "$dynamicRef"):
                ref = node.get(word)
                if isinstance(ref, str):
                    self._check_ref(ref)
            for item in node.values():
                self._visit(item, depth + 1)
        elif isinstance(node, list):
            for item in node:
                self._visit(item, depth + 1)

    def _check_ref(self, ref: str) -> None:
        if not ref.startswith("#"):
            raise self._refused(
                f"it refers to {ref!r}, outside itself",
                "put what it needs under `$defs`",
                "schema.external_ref",
            )
        try:
            pointed(self._schema, ref)
        except KeyError:
            raise self._refused(
                f"it refers to {ref!r}, which is not there", "define it under `$defs`"
            ) from None

    def _expanded(self, node: Any, above: tuple[str, ...], known: dict[str, int]) -> int:
        """How many parts it has with every reference written out once per use; a cycle counts once."""
        if isinstance(node, list):
            return min(MAX_EXPANDED + 1, sum(self._expanded(item, above, known) for item in node))
        if not isinstance(node, dict):
            return 0
        size = 1 + sum(self._expanded(item, above, known) for key, item in node.items() if key != "$defs")
        ref = node.get("$ref")
        if isinstance(ref, str) and ref not in above:
            if ref not in known:
                known[ref] = self._expanded(pointed(self._schema, ref), (*above, ref), known)
            size += known[ref]
        return min(MAX_EXPANDED + 1, size)

    def _refused(self, reason: str, hint: str, code: str | None = None) -> RegistrationError:
        return RegistrationError(
            f"tool {self._tool_id!r}: its schema can't be used: {reason}", hint=hint, code=code
        )
