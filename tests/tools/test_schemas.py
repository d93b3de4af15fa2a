"""Tools that come with a JSON Schema."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from typing import Any

import pytest

from callboard.errors import InvalidArguments, RegistrationError
from callboard.tools import RegisteredTool, export, registered, tool
from callboard.types import ToolContext


def with_schema(schema: Any) -> RegisteredTool[Any]:
    return registered(
        {
            "id": "probe",
            "kind": "read",
            "schema": schema,
            "execute": lambda value: value,
            "parse_output": lambda value: value,
        }
    )


def object_of(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def refused(entry: RegisteredTool[Any], raw: Any) -> InvalidArguments:
    with pytest.raises(InvalidArguments) as caught:
        entry.parse(raw)
    return caught.value


SEARCH = with_schema(object_of(query={"type": "string"}, limit={"type": "integer", "minimum": 1}))


def test_the_schema_validates_and_is_published_as_it_stands() -> None:
    assert SEARCH.parse('{"query": "a", "limit": 3}') == (
        {"query": "a", "limit": 3},
        '{"query": "a", "limit": 3}',
        False,
    )
    assert SEARCH.input_schema == object_of(query={"type": "string"}, limit={"type": "integer", "minimum": 1})
    assert not SEARCH.own_parser


def test_later_changes_of_the_given_schema_change_nothing() -> None:
    schema = object_of(a={"type": "integer"})
    entry = with_schema(schema)
    schema["properties"]["a"]["type"] = "string"
    assert entry.parse('{"a": 1}')[0] == {"a": 1}
    assert entry.input_schema["properties"]["a"] == {"type": "integer"}


@pytest.mark.parametrize(
    ("raw", "code", "hint"),
    [
        ('{"query": "a", "limit": "x"}', "args.invalid", None),
        ('{"query": "a", "limit": 0}', "args.invalid", None),
        ('{"query": "a"}', "args.missing", None),
        ('{"query": "a", "limit": 1, "limmit": 2}', "args.unknown", "did you mean 'limit'?"),
        ("[]", "args.not_object", "send one JSON object"),
        ('{"query": "a", "limit": 1, "limit": 2}', "args.duplicate_key", "send every key once"),
        ('{"query": "a", "limit": 1e400}', "args.not_json", None),
        ('{"query": "\\ud800", "limit": 1}', "args.not_json", "send one complete JSON object"),
        ("[" * 100_000, "args.too_deep", None),
        ('{"query": "a', "args.truncated", "nothing was run; send one complete JSON object"),
        (None, "args.missing", None),
    ],
)
def test_refusals_have_the_same_codes_as_everywhere(raw: Any, code: str, hint: str | None) -> None:
    error = refused(SEARCH, raw)
    assert (error.code, error.hint) == (code, hint)


@pytest.mark.covers("B21", "B30")
def test_the_same_repairs_hold() -> None:
    assert SEARCH.parse('{"query": "12", "limit": "12"}') == (
        {"query": "12", "limit": 12},
        '{"query": "12", "limit": 12}',
        True,
    )
    nested = with_schema(
        object_of(cmd=object_of(op={"type": "string"}), flags={"type": "array"}, on={"type": "boolean"})
    )
    value, _, repaired = nested.parse('{"cmd": "{\\"op\\": \\"x\\"}", "flags": "[1]", "on": "true"}')
    assert (value, repaired) == ({"cmd": {"op": "x"}, "flags": [1], "on": True}, True)
    assert refused(SEARCH, '{"query": "a", "limit": "012"}').code == "args.invalid"


@pytest.mark.covers("B22")
def test_a_text_is_not_decoded_where_one_of_several_types_takes_it() -> None:
    entry = with_schema(object_of(content={"type": ["string", "object"]}))
    assert entry.parse('{"content": "{}"}') == ({"content": "{}"}, '{"content": "{}"}', False)


def test_in_a_union_the_one_branch_that_fits_is_repaired() -> None:
    entry = with_schema(
        object_of(
            x={"anyOf": [{"type": "integer"}, {"type": "null"}]},
            y={"oneOf": [object_of(a={"type": "integer"}), {"type": "boolean"}]},
        )
    )
    value, _, repaired = entry.parse('{"x": "12", "y": {"a": "3"}}')
    assert (value, repaired) == ({"x": 12, "y": {"a": 3}}, True)
    assert refused(entry, '{"x": 1, "y": {"b": 3}}').code == "args.unknown"


def test_an_unknown_key_deep_inside_is_named_with_the_closest_one() -> None:
    schema = {
        **object_of(items={"type": "array", "items": {"$ref": "#/$defs/Item"}}),
        "$defs": {"Item": object_of(name={"type": "string"})},
    }
    error = refused(with_schema(schema), '{"items": [{"name": "a", "nmae": "b"}]}')
    assert (error.code, error.hint) == ("args.unknown", "did you mean 'name' in items.0?")


def test_null_for_an_optional_property_is_left_out() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
    assert with_schema(schema).parse('{"a": null}') == ({}, "{}", True)


@pytest.mark.covers("B02")
def test_a_recursive_schema_is_kept_and_validates() -> None:
    value = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/V"}}]}
    entry = with_schema({**object_of(v={"$ref": "#/$defs/V"}), "$defs": {"V": value}})
    assert entry.parse('{"v": ["a", ["b", []]]}')[0] == {"v": ["a", ["b", []]]}
    assert refused(entry, '{"v": ["a", [3]]}').code == "args.invalid"
    for dialect in ("openai", "anthropic", "mcp"):
        made = export([entry], dialect, refs="inline")
        assert made.left_out == []
        assert "#/$defs/V" in str(made.definitions)


@pytest.mark.covers("B06")
def test_references_of_any_local_form_are_published_as_definitions() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"$ref": "#/properties/a"},
            "c": {"$ref": "#/definitions/C"},
            "d": {"$ref": "#/$defs/x~1y"},
            "e": {"$ref": "#"},
        },
        "definitions": {"C": {"type": "string"}},
        "$defs": {"x/y": {"type": "boolean"}},
        "additionalProperties": False,
    }
    entry = with_schema(schema)
    text = '{"a": 1, "b": 2, "c": "x", "d": true, "e": {"e": {"a": 3}}}'
    assert entry.parse(text)[1:] == (text, False)
    for name in "bcd":
        view = entry.parameters[name]
        assert view["$ref"].removeprefix("#/$defs/") in view["$defs"]
    error = refused(entry, '{"e": {"e": {"z": 3}}}')
    assert error.code == "args.unknown"


def test_true_and_false_are_schemas_too() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": True,
            "b": False,
            "c": {"$ref": "#/$defs/T"},
            "d": {"type": "array", "items": True},
        },
        "additionalProperties": False,
        "$defs": {"T": True},
    }
    entry = with_schema(schema)
    text = '{"a": 1, "c": [2], "d": [null]}'
    assert entry.parse(text)[1:] == (text, False)
    assert refused(entry, '{"b": 1}').code == "args.invalid"
    assert entry.parameters["a"] == {}
    assert entry.parameters["b"] == {"not": {}}
    for refs in ("keep", "inline"):
        (made,) = export([entry], "openai", refs=refs).definitions
        assert made["function"]["strict"] is False


CIRCLE = {"A": {"anyOf": [{"$ref": "#/$defs/B"}]}, "B": {"allOf": [{"$ref": "#/$defs/A"}]}}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ([], "no object"),
        ("x", "no object"),
        ({"type": "string"}, "root is no object"),
        ({}, "root is no object"),
        ({"type": ["object", "null"]}, "root is no object"),
        ({"anyOf": [{"type": "object"}, {"type": "array"}]}, "root is no object"),
        ({"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}}, "outside itself"),
        ({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}, "outside itself"),
        ({"type": "object", "properties": {"a": {"$ref": "other.json#/a"}}}, "outside itself"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/Nowhere"}}}, "which is not there"),
        ({"type": "object", "properties": {"a": {"$id": "http://x/", "$ref": "#"}}}, r"\$id"),
        ({"type": "object", "properties": {"a": {"$dynamicRef": "#a"}}}, "dynamicRef"),
        ({"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"}, "draft-07"),
        ({"type": "object", "properties": {"a": {"type": "nonsense"}}}, "can't be used"),
        ({"type": "object", "properties": {"a": {"pattern": "("}}}, "can't be used"),
        ({"type": "object", "properties": {"a": {"not": [{"$ref": "#/nowhere"}]}}}, "can't be used"),
        ({"type": "object", "properties": []}, "can't be used"),
        ({"type": "object", "required": "a"}, "can't be used"),
        ({"type": "object", "properties": {"a": {"default": float("nan")}}}, "no JSON"),
        ({"type": "object", "properties": {"a": {1: 2}}}, "no JSON"),
        ({"type": "object", "properties": {"a": object()}}, "no JSON"),
        ({"type": "object", "properties": {"a\ud800": {}}}, "no JSON"),
        ({**object_of(a={"$ref": "#/$defs/A"}), "$defs": {"A": {"$ref": "#/$defs/A"}}}, "without end"),
        ({**object_of(a={"$ref": "#/$defs/A"}), "$defs": CIRCLE}, "without end"),
    ],
)  # fmt: skip
def test_a_schema_that_cannot_work_is_refused_at_registration(schema: Any, reason: str) -> None:
    with pytest.raises(RegistrationError, match=rf"tool 'probe': .*{reason}") as caught:
        with_schema(schema)
    assert caught.value.hint is not None


def nested(levels: int) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        made = {"type": "object", "properties": {"a": made}}
    return made


def doubling(levels: int) -> dict[str, Any]:
    defs: dict[str, Any] = {"d0": {"type": "string"}}
    for level in range(1, levels):
        ref = {"$ref": f"#/$defs/d{level - 1}"}
        defs[f"d{level}"] = {"anyOf": [ref, {"type": "array", "items": ref}]}
    return {**object_of(a={"$ref": f"#/$defs/d{levels - 1}"}), "$defs": defs}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (nested(40), "too deep"),
        (nested(5000), "more than 200 levels"),
        (doubling(40), "with its references written out"),
        ({"type": "object", "properties": {f"p{number}": {} for number in range(30_000)}}, "too large"),
    ],
)
def test_a_schema_that_would_be_costly_is_refused_before_it_is_compiled(schema: Any, reason: str) -> None:
    with pytest.raises(RegistrationError, match=reason):
        with_schema(schema)


def test_a_function_may_come_with_a_schema_and_is_called_by_name() -> None:
    @tool(schema=object_of(a={"type": "integer"}, b={"type": "integer"}))
    def add(a: Any, b: Any, ctx: ToolContext) -> int:
        """Add two numbers.

        Args:
            a: one
        """
        return a + b

    entry = registered(add)
    assert entry.run(entry.parse('{"a": 1, "b": 2}')[0], None) == 3
    assert entry.description == "Add two numbers."


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (object_of(a={}, b={}, c={}), "has 'c', which the function does not take"),
        (
            {"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": False},
            "the function needs 'a'",
        ),
        (
            {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]},
            "admits any other key",
        ),
    ],
)
def test_a_schema_that_does_not_fit_its_function_is_refused(schema: Any, reason: str) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    with pytest.raises(RegistrationError, match=reason):
        registered(tool(schema=schema)(add))
