"""Whether a JSON Schema that came with a tool can be used: bounded, self-contained, an object at its root."""

import re
from typing import Any, NamedTuple

from pydantic_core import from_json

from callboard.errors import RegistrationError
from callboard.tools.refs import Schema, pointed, refs_in, subschemas
from callboard.tools.roots import is_object_root
from callboard.tools.walk import (
    NotJson,
    admitted,
    is_dict,
    is_list,
    is_mapping,
    is_plain,
    json_text,
    nothing_else,
)

MAX_PARTS = 20_000
MAX_LEVELS = 64
# With every reference written out once per use: what a validator might have to visit.
MAX_EXPANDED = 100_000
DRAFT = "https://json-schema.org/draft/2020-12/schema"
# Without one of these words a schema refers to nothing.
_REFERRING = ('"$ref"', '"$dynamicRef"', '"$id"')
# Without one of these words it has no definitions, and no boolean for a schema but in the usual place.
_MOVED = re.compile(r'"(?:\$defs|definitions)"|(?<!"additionalProperties":)(?:true|false)')
# Keywords that judge the very value which their schema judges.
_IN_PLACE = ("allOf", "anyOf", "oneOf", "if", "then", "else", "not")


class Checked(NamedTuple):
    """A private copy of a schema, and whether it is known to be plain as it is: see `refs.plain`."""

    schema: Schema
    is_plain: bool


def checked_schema(tool_id: str, given: Any) -> Checked:
    """A private copy of a schema that is safe to compile.

    Raises:
        RegistrationError: names the tool and what is wrong with the schema.
    """
    given = dict(given) if is_mapping(given) else given
    try:
        text = json_text(given if is_plain(given) else admitted(given, nothing_else))
    except NotJson as error:
        raise _refused(tool_id, f"it is no JSON: {error}", "give JSON") from None
    made: Any = from_json(text)
    if not is_dict(made):
        raise _refused(tool_id, "it is no object", "give an object schema")
    schema: Schema = made
    if text.count("{") + text.count("[") > MAX_LEVELS:
        _check_size(tool_id, schema)
    _check_form(tool_id, schema)
    refers = any(word in text for word in _REFERRING)
    if refers:
        _check_refs(tool_id, schema)
    if not is_object_root(schema):
        raise _refused(
            tool_id, "its root is no object", "arguments have names: give it `type: object`", "schema.root"
        )
    if refers and _expanded(schema, schema, (), {}) > MAX_EXPANDED:
        raise _refused(
            tool_id,
            f"with its references written out it has more than {MAX_EXPANDED} parts",
            "make it smaller",
        )
    return Checked(schema, not refers and not _MOVED.search(text))


def _refused(tool_id: str, reason: str, hint: str, code: str | None = None) -> RegistrationError:
    return RegistrationError(f"tool {tool_id!r}: its schema can't be used: {reason}", hint=hint, code=code)


def _check_size(tool_id: str, schema: Schema) -> None:
    level: list[Any] = [schema]
    parts = levels = 0
    while level:
        parts, levels = parts + len(level), levels + 1
        if parts > MAX_PARTS or levels > MAX_LEVELS:
            raise _refused(
                tool_id, "it is too deep or too large", f"at most {MAX_LEVELS} levels and {MAX_PARTS} parts"
            )
        level = [
            item
            for node in level
            for item in (node.values() if is_dict(node) else node)
            if is_dict(item) or is_list(item)
        ]


def _check_form(tool_id: str, schema: Schema) -> None:
    """Whether it is a schema at all, by the draft's own schema."""
    import jsonschema_rs  # noqa: PLC0415 - 20 ms, and only tools with a schema need it

    declared = schema.get("$schema", DRAFT)
    if str(declared).rstrip("#") != DRAFT:
        raise _refused(tool_id, f"it declares {declared!r}", "write it in draft 2020-12")
    try:
        jsonschema_rs.meta.validate({**schema, "$schema": DRAFT})
    except jsonschema_rs.ValidationError as error:
        place = ".".join(map(str, error.instance_path))
        raise _refused(
            tool_id, f"{place or 'its root'}: {error.message}", "write it in draft 2020-12"
        ) from None


def _check_refs(tool_id: str, schema: Schema) -> None:
    for node in _all_schemas(schema):
        if node is not schema and "$id" in node:
            raise _refused(tool_id, "it has an `$id` inside", "references are resolved from its root only")
        if "$dynamicRef" in node:
            raise _refused(tool_id, "it uses `$dynamicRef`", "use `$ref`")
        ref = node.get("$ref", "#")
        if not isinstance(ref, str) or not ref.startswith("#"):
            raise _refused(
                tool_id,
                f"it refers to {ref!r}, outside itself",
                "put what it needs under `$defs`: nothing is ever fetched",
                "schema.external_ref",
            )
        try:
            pointed(schema, ref)
        except KeyError:
            raise _refused(
                tool_id, f"it refers to {ref!r}, which is not there", "define it under `$defs`"
            ) from None
    for ref in refs_in(schema) | {f"#/$defs/{name}" for name in schema.get("$defs", {}) if "/" not in name}:
        if _circles(schema, pointed(schema, ref), {ref}):
            raise _refused(
                tool_id, f"{ref} refers to itself without end", "put a property or a list in between"
            )


def _all_schemas(schema: Schema) -> list[Schema]:
    found: list[Schema] = []
    todo: list[Any] = [schema]
    while todo:
        node = todo.pop()
        found.append(node)
        todo.extend(subschemas(node))
        for word in ("$defs", "definitions"):
            todo.extend(each for each in node.get(word, {}).values() if is_dict(each))
    return found


def _circles(root: Schema, node: Any, above: set[str]) -> bool:
    """Whether judging a value leads back to judging the same value by the same schema."""
    if not is_dict(node):
        return False
    ref = node.get("$ref")
    if isinstance(ref, str) and (ref in above or _circles(root, pointed(root, ref), above | {ref})):
        return True
    inner: list[Any] = []
    for word in _IN_PLACE:
        value = node.get(word, [])
        inner += value if is_list(value) else [value]
    return any(_circles(root, each, above) for each in inner)


def _expanded(root: Schema, node: Schema, above: tuple[str, ...], known: dict[str, int]) -> int:
    """The parts with every reference written out; a cycle counts once."""
    size = 1
    for part in subschemas(node):
        size += _expanded(root, part, above, known)
        if size > MAX_EXPANDED:
            return size
    ref = node.get("$ref")
    if isinstance(ref, str) and ref not in above:
        if ref not in known:
            target = pointed(root, ref)
            known[ref] = _expanded(root, target, (*above, ref), known) if is_dict(target) else 0
        size += known[ref]
    return size
