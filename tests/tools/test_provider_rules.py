"""Whatever schema a tool brings: what is exported is legal, and never narrower than the tool."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callboard.errors import RegistrationError
from callboard.tools import RegisteredTool, export, registered
from tests.tools.any_schema import names, roots, values
from tests.tools.legal import HOLDERS, check, schema_of

# Why a tool may be left out: each is a limit of the provider, told before a request fails.
KNOWN = {"schema.root_union", "schema.argument_name", "schema.recursive_unsupported", "schema.too_large"}
patient = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
slowly = settings(
    deadline=None, max_examples=500, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def entry_of(schema: Any, tool_id: str = "given") -> RegisteredTool[Any] | None:
    try:
        return registered(
            {
                "id": tool_id,
                "kind": "read",
                "schema": schema,
                "execute": lambda value: value,
                "parse_output": lambda value: value,
            }
        )
    except RegistrationError:
        return None  # a schema that nobody could use: references in circles, no object


def judge(schema: Any, data: st.DataObject) -> None:
    entry, other = entry_of(schema), entry_of({"type": "object"}, "other")
    if entry is None:
        return
    assert other is not None
    for dialect in HOLDERS:
        made = export([entry, other], dialect)
        ids = [str(made.names.tool_id((each.get("function") or each)["name"])) for each in made.definitions]
        assert "other" in ids
        assert sorted([*ids, *(each.tool_id for each in made.left_out)]) == ["given", "other"]
        assert {each.code for each in made.left_out} <= KNOWN
        assert json.dumps(made.definitions) == json.dumps(export([other, entry], dialect).definitions)
        for definition in made.definitions:
            check(definition, dialect)
        if "given" in ids:
            check_never_narrower(schema, schema_of(made.definitions[0], dialect), data)


def check_never_narrower(schema: Any, shown: Any, data: st.DataObject) -> None:
    known = sorted({*schema["properties"], *schema.get("required", [])})
    tool_takes = jsonschema_rs.Draft202012Validator(schema, offline=True)
    model_may_send = jsonschema_rs.Draft202012Validator(shown, offline=True)
    for _ in range(3):
        value = data.draw(st.dictionaries(st.sampled_from(known) if known else names, values, max_size=4))
        assert model_may_send.is_valid(value) or not tool_takes.is_valid(value)


@pytest.mark.covers("B08", "B09", "B38")
@patient
@given(roots, st.data())
def test_any_schema_is_exported_legally_or_left_out_with_a_known_reason(
    schema: dict[str, Any], data: st.DataObject
) -> None:
    judge(schema, data)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.covers("B08", "B09", "B38")
@slowly
@given(roots, st.data())
def test_many_more_schemas_are_exported_legally(schema: dict[str, Any], data: st.DataObject) -> None:
    judge(schema, data)


@pytest.mark.covers("B04", "B34")
@patient
@given(st.lists(roots, max_size=4), st.randoms())
def test_no_tool_changes_what_is_exported_of_the_others(schemas: list[Any], shuffle: Any) -> None:
    entries = [each for number, schema in enumerate(schemas) if (each := entry_of(schema, f"t{number}"))]
    for dialect in HOLDERS:
        alone = [each for entry in entries for each in export([entry], dialect).definitions]
        shuffle.shuffle(entries)
        together = export(entries, dialect)
        assert together.definitions == sorted(alone, key=lambda made: (made.get("function") or made)["name"])
        assert len(together.definitions) + len(together.left_out) == len(entries)


def test_a_schema_that_grows_without_end_is_left_out() -> None:
    part: dict[str, Any] = {"type": "string"}
    for _ in range(14):
        part = {"anyOf": [{"minLength": 1}, {"minLength": 2}, {"minLength": 3}], "properties": {"a": part}}
    entry = entry_of({"type": "object", "properties": {"x": part}})
    assert entry is not None
    assert [each.code for each in export([entry], "gemini").left_out] == ["schema.too_large"]


def test_a_schema_that_is_too_deep_is_left_out() -> None:
    part: dict[str, Any] = {"type": "string"}
    for _ in range(40):
        part = {"type": "array", "items": part}
    entry = entry_of({"type": "object", "properties": {"x": part}})
    assert entry is not None
    made = export([entry], "gemini")
    assert [(each.code, each.reason) for each in made.left_out] == [
        ("schema.too_deep", "it has more than 32 levels")
    ]
