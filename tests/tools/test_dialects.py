"""Definitions per dialect: legal for the provider, true to the tool, and one bad tool spoils nothing."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import json
import random
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from callboard.errors import InvalidArguments, RegistrationError
from callboard.tools import Dialect, Export, RegisteredTool, export, registered, tool
from callboard.tools.refs import refs_in
from tests.tools.types_table import TYPES

DIALECTS: list[Dialect] = ["openai", "anthropic", "gemini", "mcp"]
HOLDERS = {"anthropic": "input_schema", "gemini": "parametersJsonSchema", "mcp": "inputSchema"}


class Node(BaseModel):
    label: str
    kids: list["Node"] = []


class Item(BaseModel):
    name: str
    parent: "Item | None" = None


class Size(BaseModel):
    width: int = Field(description="in mm")


class Broken(BaseModel):
    x: int

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        raise ZeroDivisionError("the author's own code fails")


@tool(mode="read")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def tree(node: Node) -> Node:
    return node


@tool
def paint(size: Size, back: Size, colour: Literal["red", "blue"] | None = None) -> str:
    return f"{size}{back}{colour}"


@tool
def broken(x: Broken) -> None: ...


def parameters_of(made: Export, dialect: Dialect) -> Iterator[dict[str, Any]]:
    for each in made.definitions:
        yield each["function"]["parameters"] if dialect == "openai" else each[HOLDERS[dialect]]


def union_tool(schema: dict[str, Any], tool_id: str = "union") -> RegisteredTool[Any]:
    return registered(
        {
            "id": tool_id,
            "kind": "read",
            "schema": schema,
            "execute": lambda value: value,
            "parse_output": lambda value: value,
        }
    )


def test_every_dialect_has_its_form() -> None:
    entry = registered(add)
    schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    }
    told = {"name": "add", "description": "Add two numbers."}
    assert export([entry], "openai").definitions == [
        {"type": "function", "function": {**told, "parameters": schema, "strict": True}}
    ]
    assert export([entry], "anthropic").definitions == [{**told, "input_schema": schema}]
    assert export([entry], "mcp").definitions == [
        {**told, "inputSchema": schema, "annotations": {"readOnlyHint": True}}
    ]
    assert export([entry], "gemini").definitions == [{**told, "parametersJsonSchema": schema}]


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(ValueError, match="no such dialect"):
        export([], "latin")  # pyright: ignore[reportArgumentType]


@pytest.mark.covers("B01", "B02", "B06")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("refs", ["keep", "inline"])
def test_every_published_schema_is_valid_and_every_reference_resolves(
    dialect: Dialect, refs: Literal["keep", "inline"]
) -> None:
    def probe(value: Any) -> None: ...

    entries: list[RegisteredTool[Any]] = []
    for name, listed in TYPES.items():
        for number, annotation in enumerate(listed):
            probe.__annotations__["value"] = annotation
            entries.append(registered(tool(name=f"{name}.{number}")(probe)))
    made = export([*entries, registered(tree), registered(paint)], dialect, refs=refs)
    assert made.left_out == []
    assert len(made.definitions) == len(entries) + 2
    for schema in parameters_of(made, dialect):
        jsonschema_rs.Draft202012Validator(schema, offline=True)
        assert jsonschema_rs.meta.is_valid(
            {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
        )
        assert schema["type"] == "object"
        for ref in refs_in(schema) | {
            ref for each in schema.get("$defs", {}).values() for ref in refs_in(each)
        }:
            assert ref.removeprefix("#/$defs/") in schema["$defs"]


@pytest.mark.covers("B01")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_tool_whose_schema_cannot_be_made_is_left_out_and_the_others_are_not(dialect: Dialect) -> None:
    made = export([registered(broken), registered(tree), registered(add)], dialect)
    assert [made.names.tool_id(name) for name in names_of(made, dialect)] == ["add", "tree"]
    assert [(each.tool_id, each.code) for each in made.left_out] == [("broken", "schema.unpublishable")]
    assert "author's own code fails" in made.left_out[0].reason
    with pytest.raises(RegistrationError, match="tool 'broken' can't be published"):
        _ = registered(broken).input_schema


def names_of(made: Export, dialect: Dialect) -> list[str]:
    return [each["function"]["name"] if dialect == "openai" else each["name"] for each in made.definitions]


@pytest.mark.covers("B34")
def test_one_bad_name_of_two_hundred_changes_no_other() -> None:
    good = [registered(tool(name=f"tool_{number}")(add.function)) for number in range(199)]
    bad = registered(tool(name="x" * 200)(add.function))
    made = export([*good, bad], "openai")
    assert {f"tool_{number}" for number in range(199)} < set(names_of(made, "openai"))
    assert all(len(name) <= 64 for name in names_of(made, "openai"))
    assert made.names.tool_id(made.names["x" * 200]) == "x" * 200


@pytest.mark.covers("B02", "B06", "B19")
def test_inlining_writes_out_what_is_on_no_cycle_and_keeps_the_rest() -> None:
    (flat,) = parameters_of(export([registered(paint)], "openai", refs="inline"), "openai")
    assert "$defs" not in flat
    assert flat["properties"]["size"]["properties"]["width"] == {"description": "in mm", "type": "integer"}
    (looped,) = parameters_of(export([registered(tree)], "openai", refs="inline"), "openai")
    assert looped["properties"]["node"] == {"$ref": "#/$defs/Node"}
    assert set(looped["$defs"]) == {"Node"}


def test_inlining_keeps_what_stands_beside_a_reference() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/S", "description": "of a"},
            "b": {"$ref": "#/$defs/S", "maxLength": 3},
            "$ref": {"type": "integer"},
            "c": {"const": {"$ref": "#/nowhere"}},
        },
        "$defs": {"S": {"type": "string", "description": "of S"}},
    }
    (made,) = parameters_of(export([union_tool(schema)], "mcp", refs="inline"), "mcp")
    assert made["properties"] == {
        "a": {"type": "string", "description": "of a"},
        "b": {"maxLength": 3, "allOf": [{"type": "string", "description": "of S"}]},
        "$ref": {"type": "integer"},
        "c": {"const": {"$ref": "#/nowhere"}},
    }


@pytest.mark.covers("B02")
def test_a_schema_that_would_explode_is_left_out_of_inlining_only() -> None:
    defs: dict[str, Any] = {"d0": {"type": "string"}}
    for level in range(1, 13):
        ref = {"$ref": f"#/$defs/d{level - 1}"}
        defs[f"d{level}"] = {"type": "object", "properties": {"a": ref, "b": ref, "c": ref}}
    entry = union_tool({"type": "object", "properties": {"x": {"$ref": "#/$defs/d9"}}, "$defs": defs}, "wide")
    made = export([entry, registered(add)], "openai", refs="inline")
    assert [(each.tool_id, each.code) for each in made.left_out] == [("wide", "schema.too_large")]
    assert names_of(made, "openai") == ["add"]
    assert export([entry], "openai").left_out == []


@pytest.mark.covers("B06")
def test_the_view_of_each_parameter_carries_what_it_refers_to() -> None:
    views = registered(tree).parameters
    assert views["node"]["$ref"] == "#/$defs/Node"
    assert set(views["node"]["$defs"]) == {"Node"}
    for view in registered(paint).parameters.values():
        jsonschema_rs.Draft202012Validator(view, offline=True)
    assert "$defs" not in registered(paint).parameters["colour"]


UNION: dict[str, Any] = {
    "anyOf": [{"$ref": "#/$defs/Move"}, {"$ref": "#/$defs/Stop"}],
    "$defs": {
        "Move": {
            "type": "object",
            "properties": {"kind": {"const": "move"}, "by": {"type": "integer"}},
            "required": ["kind", "by"],
            "additionalProperties": False,
        },
        "Stop": {
            "type": "object",
            "properties": {"kind": {"const": "stop"}},
            "required": ["kind"],
            "additionalProperties": False,
        },
    },
}


@pytest.mark.covers("B08")
@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_a_union_at_the_root_is_flattened_and_still_judged_exactly(
    word: str, typed: bool, dialect: Dialect
) -> None:
    schema = {word: UNION["anyOf"], "$defs": UNION["$defs"], **({"type": "object"} if typed else {})}
    entry = union_tool(schema)
    (made,) = parameters_of(export([entry], dialect), dialect)
    assert not made.keys() & {"anyOf", "oneOf", "allOf", "enum", "not", "$ref"}
    assert made["type"] == "object"
    assert made["additionalProperties"] is False
    assert made["properties"] == {
        "kind": {"anyOf": [{"const": "move"}, {"const": "stop"}]},
        "by": {"type": "integer"},
    }
    assert made["required"] == ["kind"]
    assert entry.parse('{"kind": "move", "by": 3}')[0] == {"kind": "move", "by": 3}
    with pytest.raises(InvalidArguments):
        entry.parse('{"kind": "stop", "by": 3}')
    with pytest.raises(InvalidArguments):
        entry.parse('{"kind": "move"}')


@pytest.mark.covers("B08")
def test_a_union_at_the_root_is_kept_for_mcp_beside_the_type() -> None:
    (made,) = parameters_of(export([union_tool(UNION)], "mcp"), "mcp")
    assert made["type"] == "object"
    assert made["anyOf"] == UNION["anyOf"]
    assert set(made["$defs"]) == {"Move", "Stop"}


@pytest.mark.covers("B08", "B34")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "not": {"required": ["a"]}},
        {"type": "object", "enum": [{"a": 1}]},
        {"type": "object", "anyOf": [{"minProperties": 1}, {"type": "object"}]},
        {"anyOf": [{"type": "object", "patternProperties": {"^a": {}}}, {"type": "object"}]},
        {"type": "object", "if": {"required": ["a"]}, "then": {"required": ["b"]}},
    ],
)
def test_a_root_that_no_plain_object_can_say_is_left_out(schema: dict[str, Any]) -> None:
    made = export([union_tool(schema), registered(add)], "openai")
    assert [(each.tool_id, each.code) for each in made.left_out] == [("union", "schema.root_union")]
    assert names_of(made, "openai") == ["add"]
    assert export([union_tool(schema)], "mcp").left_out == []


def test_parts_that_must_hold_together_are_merged_at_the_root() -> None:
    schema = {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"type": "object", "properties": {"b": {"type": "string"}}},
        ]
    }
    (made,) = parameters_of(export([union_tool(schema)], "anthropic"), "anthropic")
    assert made == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
        "required": ["a"],
    }


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


def test_a_tagged_union_is_published_so_that_every_dialect_reads_it() -> None:
    def adopt(pet: Annotated[Cat | Dog, Field(discriminator="kind")]) -> None: ...

    entry = registered(tool(adopt))
    assert entry.parameters["pet"]["anyOf"] == [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]
    assert "discriminator" not in json.dumps(export([entry], "mcp").definitions)
    assert export([entry], "openai").definitions[0]["function"]["strict"] is True


def with_default(a: int, b: int = 2) -> None: ...
def nested_default(x: Item) -> None: ...
def free_form(fields: dict[str, Any]) -> None: ...
def anything(x: Any) -> None: ...
def unique(x: set[int]) -> None: ...
def short(x: Annotated[str, Field(max_length=3)]) -> None: ...
def pair(x: tuple[int, str]) -> None: ...
def described(x: Size, y: Annotated[Size, Field(description="beside a reference")]) -> None: ...
def no_arguments() -> None: ...
def nested(x: list[Size], y: Literal["a", "b"], z: int | None) -> None: ...
def required_node(x: "list[Size] | None") -> None: ...


@pytest.mark.covers("B17")
@pytest.mark.parametrize(
    "function", [with_default, nested_default, free_form, anything, unique, short, pair, described]
)
def test_strict_is_not_claimed_where_the_schema_breaks_a_rule(function: Any) -> None:
    entry = registered(tool(function))
    (made,) = export([entry], "openai").definitions
    assert made["function"]["strict"] is False
    refused = export([entry], "openai", strict=True)
    assert [(each.code, each.tool_id) for each in refused.left_out] == [
        ("schema.not_strict", function.__name__)
    ]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (with_default, "a call may come without 'b'; give it no default"),
        (nested_default, "'Item' may come without 'parent'; give it no default"),
        (free_form, "'fields' admits any key; declare the keys, as a dataclass, model or TypedDict does"),
        (anything, "'x' admits anything; give it a type"),
        (unique, "'x' uses 'uniqueItems'; a plainer type would not"),
        (described, "'y' has keywords beside a reference; describe the referenced type instead"),
    ],
)
def test_what_is_beyond_strict_mode_is_said_with_its_place_and_what_would_help(
    function: Any, reason: str
) -> None:
    (left_out,) = export([registered(tool(function))], "openai", strict=True).left_out
    assert left_out.reason == f"its schema is beyond strict mode: {reason}"


@pytest.mark.covers("B17")
@pytest.mark.parametrize("function", [no_arguments, nested, required_node, add.function])
def test_strict_is_claimed_where_the_schema_satisfies_every_rule(function: Any) -> None:
    entry = registered(tool(function))
    (made,) = export([entry], "openai").definitions
    assert made["function"]["strict"] is True
    assert made["function"]["parameters"]["required"] == list(made["function"]["parameters"]["properties"])
    (plain,) = export([entry], "openai", strict=False).definitions
    assert plain["function"]["strict"] is False


@pytest.mark.covers("B18")
@pytest.mark.parametrize("strict", [None, True])
def test_a_free_form_argument_gives_up_strict_mode_for_its_tool_alone_and_says_so(
    strict: bool | None,
) -> None:
    entries = [registered(tool(strict=strict)(free_form)), registered(tool(strict=strict)(add.function))]
    made = export(entries, "openai")
    assert [each["function"]["strict"] for each in made.definitions] == [True, False]
    assert [(note.tool_id, note.code) for note in made.notes] == [("free_form", "schema.not_strict")]
    assert "'fields' admits any key" in made.notes[0].reason
    assert entries[0].parse('{"fields": {"any": [1, null]}}')[0] == {"fields": {"any": [1, None]}}


@pytest.mark.covers("B18")
def test_a_tool_that_wants_no_strict_mode_has_none() -> None:
    made = export([registered(tool(strict=False)(add.function)), registered(tree)], "openai")
    assert [each["function"]["strict"] for each in made.definitions] == [False, False]
    assert [note.tool_id for note in made.notes] == ["tree"]


def test_a_strict_that_is_neither_true_nor_false_is_refused() -> None:
    with pytest.raises(RegistrationError, match="strict is str"):
        registered(tool(strict="yes")(add.function))  # type: ignore[call-overload, arg-type]


def test_openai_is_told_of_the_items_of_every_list_and_of_the_properties_of_every_tool() -> None:
    schema = {
        "type": "object",
        "properties": {
            "pair": {"type": "array", "prefixItems": [{"type": "array"}, {"type": "string"}]},
            "open": {"type": ["array", "null"]},
            "data": {"const": {"type": "array"}},
            "named": {"$ref": "#/$defs/L"},
        },
        "$defs": {"L": {"type": "array"}},
    }
    bare = union_tool({"type": "object"}, "bare")
    first, second = parameters_of(export([union_tool(schema), bare], "openai"), "openai")
    assert first["properties"] == {}
    assert second["properties"] == {
        "pair": {
            "type": "array",
            "prefixItems": [{"type": "array", "items": {}}, {"type": "string"}],
            "items": {},
        },
        "open": {"type": ["array", "null"], "items": {}},
        "data": {"const": {"type": "array"}},
        "named": {"$ref": "#/$defs/L"},
    }
    assert second["$defs"] == {"L": {"type": "array", "items": {}}}


def test_an_argument_that_anthropic_would_refuse_costs_its_own_tool_only() -> None:
    schema = {"type": "object", "properties": {"filter[id]": {"type": "string"}}}
    made = export([union_tool(schema), registered(add)], "anthropic")
    assert names_of(made, "anthropic") == ["add"]
    assert [(each.tool_id, each.code) for each in made.left_out] == [("union", "schema.argument_name")]
    assert export([union_tool(schema)], "openai").left_out == []


@pytest.mark.covers("B11")
def test_a_nullable_enum_lists_null_where_the_validator_takes_it() -> None:
    entry = registered(paint)
    (made,) = parameters_of(export([entry], "anthropic"), "anthropic")
    assert jsonschema_rs.is_valid({**made["properties"]["colour"]}, None)
    assert entry.parse('{"size": {"width": 1}, "back": {"width": 1}, "colour": null}')[2] is False


@pytest.mark.covers("B38")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_tools_give_the_same_bytes_in_any_order(dialect: Dialect) -> None:
    entries = [registered(each) for each in (add, tree, paint)] + [union_tool(UNION)]
    first = json.dumps(export(entries, dialect).definitions)
    for _ in range(3):
        random.shuffle(entries)
        assert json.dumps(export(entries, dialect).definitions) == first
    again = [registered(each) for each in (paint, tree, add)] + [union_tool(UNION)]
    assert json.dumps(export(again, dialect).definitions) == first
    assert [entry.fingerprint for entry in sorted(again, key=lambda each: each.id)] == [
        entry.fingerprint for entry in sorted(entries, key=lambda each: each.id)
    ]


def test_a_description_is_cut_where_openai_would_refuse_it() -> None:
    entry = registered(tool(description="word " * 400)(add.function))
    (made,) = export([entry], "openai").definitions
    assert len(made["function"]["description"]) <= 1024
    assert made["function"]["description"].endswith("…")
    (whole,) = export([entry], "anthropic").definitions
    assert whole["description"] == "word " * 400


def test_mcp_hints_follow_mode_and_idempotence_and_an_object_result_is_announced() -> None:
    entry = registered(tool(idempotent=True)(tree.function))
    (made,) = export([entry], "mcp").definitions
    assert made["annotations"] == {"readOnlyHint": False, "idempotentHint": True}
    assert made["outputSchema"]["$defs"]["Node"]["properties"]["label"] == {"type": "string"}
    assert "outputSchema" not in export([registered(add)], "mcp").definitions[0]
