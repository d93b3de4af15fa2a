"""The dialect of Gemini: what its API documents for function declarations, and nothing else."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

import jsonschema_rs
import pytest
from google.genai.types import FunctionDeclaration
from pydantic import BaseModel, Field
from pydantic_ai.profiles.google import GoogleJsonSchemaTransformer

from callboard.tools import RegisteredTool, export, registered, tool


class Tree(BaseModel):
    label: str
    kids: list["Tree"] = []


class Chain(BaseModel):
    next: "Chain | None"


class Expression(BaseModel):
    parts: list["Expression"]


class Size(BaseModel):
    width: int = Field(description="in mm", gt=0)


def shown(function: Any) -> dict[str, Any]:
    (made,) = export([registered(tool(function))], "gemini").definitions
    schema: dict[str, Any] = made["parametersJsonSchema"]
    return schema


def argument(annotation: Any) -> dict[str, Any]:
    def probe(x: Any) -> None: ...

    probe.__annotations__["x"] = annotation
    schema: dict[str, Any] = shown(probe)["properties"]["x"]
    return schema


def of_schema(part: Any, **beside: Any) -> RegisteredTool[Any]:
    return registered(
        {
            "id": "given",
            "kind": "read",
            "schema": {"type": "object", "properties": {"x": part}, **beside},
            "execute": lambda value: value,
            "parse_output": lambda value: value,
        }
    )


def from_schema(part: Any, **beside: Any) -> Any:
    (made,) = export([of_schema(part, **beside)], "gemini").definitions
    return made["parametersJsonSchema"]["properties"].get("x")


@tool(mode="read")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def test_a_declaration_is_what_the_client_library_sends() -> None:
    (made,) = export([registered(add)], "gemini").definitions
    assert made == {
        "name": "add",
        "description": "Add two numbers.",
        "parametersJsonSchema": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
    }
    theirs = FunctionDeclaration.model_validate(made)
    assert theirs.parameters_json_schema == made["parametersJsonSchema"]
    assert theirs.model_dump(by_alias=True, exclude_none=True) == made


def test_the_providers_own_rewriting_finds_nothing_to_lose() -> None:
    def paint(size: Size, colour: Literal["red", "blue"] | None = None, count: int = 1) -> None: ...

    schema = shown(paint)
    assert GoogleJsonSchemaTransformer(schema).walk() == schema


@pytest.mark.covers("B09")
@pytest.mark.parametrize(
    ("given", "made"),
    [
        (
            {"type": ["string", "array"], "items": {"type": "string"}, "minLength": 1},
            [
                {"description": "(at least 1 characters)", "type": "string"},
                {"type": "array", "items": {"type": "string"}},
            ],
        ),
        ({"type": ["integer", "null"], "minimum": 1}, [{"type": "integer", "minimum": 1}, {"type": "null"}]),
        (
            {"type": ["string", "null"], "enum": ["a", None]},
            [{"type": "string", "enum": ["a"]}, {"type": "null"}],
        ),
        (
            {
                "anyOf": [
                    {"type": ["string", "null"]},
                    {"type": "array", "items": {"type": ["string", "integer"]}},
                ]
            },
            [
                {"type": "string"},
                {"type": "null"},
                {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
            ],
        ),
    ],
)
def test_several_types_at_once_become_a_union_at_every_depth(given: Any, made: list[Any]) -> None:
    assert from_schema(given) == {"anyOf": made}
    assert from_schema({"type": "array", "items": given}) == {"type": "array", "items": {"anyOf": made}}
    assert from_schema({"$ref": "#/$defs/D"}, **{"$defs": {"D": given}}) == {"$ref": "#/$defs/D"}


@pytest.mark.covers("B09")
def test_a_text_or_a_list_of_texts_is_a_union_for_every_model() -> None:
    assert argument(str | list[str]) == {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
    }
    assert argument(list[str] | None)["anyOf"][-1] == {"type": "null"}


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"const": True}, {"description": "(one of: true)", "type": "boolean"}),
        ({"const": None}, {"type": "null"}),
        ({"enum": [1, 2]}, {"type": "integer", "enum": [1, 2]}),
        ({"enum": [1, 2.5]}, {"type": "number", "enum": [1, 2.5]}),
        ({"enum": ["", "a"]}, {"description": '(one of: "", "a")', "type": "string"}),
        ({"enum": ["a", 1]},
         {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "integer", "enum": [1]}]}),
        ({"type": "integer", "enum": ["a", 1]}, {"type": "integer", "enum": [1]}),
        ({"enum": [[1]]}, {"description": "(one of: [1])", "type": "array", "items": {}}),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]},
         {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ({"anyOf": [{"type": "string"}, {"not": {}}]}, {"type": "string"}),
        ({"allOf": [{"type": "integer"}, {"minimum": 2}]}, {"type": "integer", "minimum": 2}),
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}),
        ({"type": "integer", "exclusiveMaximum": 2.5, "maximum": 9}, {"type": "integer", "maximum": 2}),
        ({"type": "number", "exclusiveMinimum": 0}, {"description": "(more than 0)", "type": "number"}),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
        ({"type": "string", "format": "uuid"}, {"description": "(format: uuid)", "type": "string"}),
        ({"type": "string", "maxLength": 3, "description": "a code"},
         {"description": "a code (at most 3 characters)", "type": "string"}),
        ({"type": "string", "default": "x"}, {"description": '(default: "x")', "type": "string"}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "array", "prefixItems": [{"type": "string"}], "items": False},
         {"type": "array", "prefixItems": [{"type": "string"}], "maxItems": 1}),
        ({"type": "object", "required": ["a"]},
         {"type": "object", "properties": {"a": {}}, "required": ["a"]}),
        ({"type": "object", "additionalProperties": {"type": "integer"}},
         {"type": "object", "additionalProperties": {"type": "integer"}}),
        (True, {}),
        (False, None),
    ],
)  # fmt: skip
def test_what_the_api_lacks_is_said_another_way(given: Any, made: Any) -> None:
    assert from_schema(given) == made


@pytest.mark.parametrize(
    ("given", "lost"),
    [
        ({"not": {"type": "string"}}, "not"),
        ({"type": "object", "patternProperties": {"^a": {"type": "string"}}}, "patternProperties"),
        ({"if": {"type": "string"}, "then": {"minLength": 2}}, "then"),
        ({"type": "array", "contains": {"type": "string"}}, "contains"),
    ],
)
def test_a_condition_that_cannot_be_said_is_noted_and_still_judged(given: Any, lost: str) -> None:
    made = export([of_schema(given)], "gemini")
    assert [(note.tool_id, note.code) for note in made.notes] == [("given", "schema.loosened")]
    assert repr(lost) in made.notes[0].reason
    assert made.left_out == []


def test_nothing_stands_beside_a_reference() -> None:
    def paint(size: Size, back: Annotated[Size, Field(description="behind")]) -> None: ...

    schema = shown(paint)
    assert schema["properties"] == {
        "size": {"$ref": "#/$defs/Size"},
        "back": {"description": "behind", "anyOf": [{"$ref": "#/$defs/Size"}]},
    }
    assert schema["$defs"]["Size"]["properties"] == {
        "width": {"description": "in mm", "type": "integer", "minimum": 1}
    }
    narrow = {"$ref": "#/$defs/D", "maxLength": 2}
    assert from_schema(narrow, **{"$defs": {"D": {"type": "string"}}}) == {
        "description": "(at most 2 characters)",
        "type": "string",
    }


def test_a_decimal_and_a_pair_are_told() -> None:
    assert argument(Decimal)["type"] == "string"
    assert argument(Decimal)["description"] == "(such as 12.50)"
    assert argument(date) == {"description": "(such as 2024-05-31)", "type": "string", "format": "date"}
    assert argument(Annotated[str, Field(pattern="^a+$")])["description"] == "(pattern: ^a+$)"
    assert argument(tuple[int, str]) == {
        "type": "array",
        "prefixItems": [{"type": "integer"}, {"type": "string"}],
        "minItems": 2,
        "maxItems": 2,
    }


@pytest.mark.covers("B04")
def test_what_contains_itself_behind_an_optional_part_is_a_reference() -> None:
    def plant(tree: Tree) -> None: ...

    schema = shown(plant)
    assert schema["properties"]["tree"] == {"$ref": "#/$defs/Tree"}
    assert schema["$defs"]["Tree"]["properties"]["kids"]["items"] == {"$ref": "#/$defs/Tree"}


@pytest.mark.covers("B04")
@pytest.mark.parametrize("model", [Chain, Expression])
def test_what_contains_itself_in_a_required_part_is_left_out_alone(model: Any) -> None:
    def broken(x: Any) -> None: ...

    broken.__annotations__["x"] = model
    made = export([registered(tool(broken)), registered(add)], "gemini")
    assert [each["name"] for each in made.definitions] == ["add"]
    assert [(each.tool_id, each.code) for each in made.left_out] == [
        ("broken", "schema.recursive_unsupported")
    ]
    assert repr(model.__name__) in made.left_out[0].reason
    assert export([registered(tool(broken))], "openai").left_out == []


@pytest.mark.covers("B08")
def test_a_union_at_the_root_is_flattened() -> None:
    union: dict[str, Any] = {
        "anyOf": [
            {"type": "object", "properties": {"kind": {"const": "move"}, "by": {"type": "integer"}}},
            {"type": "object", "properties": {"kind": {"const": "stop"}}},
        ]
    }
    entry = registered(
        {
            "id": "union",
            "kind": "read",
            "schema": union,
            "execute": lambda value: value,
            "parse_output": lambda value: value,
        }
    )
    (made,) = export([entry], "gemini").definitions
    assert made["parametersJsonSchema"] == {
        "type": "object",
        "properties": {
            "kind": {"anyOf": [{"type": "string", "enum": ["move"]}, {"type": "string", "enum": ["stop"]}]},
            "by": {"type": "integer"},
        },
    }
    root_not = registered({**entry.source, "schema": {"type": "object", "not": {"required": ["a"]}}})
    left_out = export([root_not, registered(add)], "gemini").left_out
    assert [each.code for each in left_out] == ["schema.root_union"]


@pytest.mark.covers("B19")
def test_references_are_written_out_on_request_but_for_those_on_a_cycle() -> None:
    def plant(tree: Tree, size: Size) -> None: ...

    (made,) = export([registered(tool(plant))], "gemini", refs="inline").definitions
    schema = made["parametersJsonSchema"]
    assert set(schema["$defs"]) == {"Tree"}
    assert schema["properties"]["size"]["properties"]["width"]["minimum"] == 1


def test_what_is_shown_is_json_schema() -> None:
    def paint(size: Size, tree: Tree, pair: tuple[int, str], price: Decimal | None = None) -> None: ...

    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    assert jsonschema_rs.meta.is_valid({**draft, **shown(paint)})
