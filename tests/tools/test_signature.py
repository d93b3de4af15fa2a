"""Annotations are resolved where they were written, or refused at registration."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from typing import Any, TypedDict, Union

import pytest

from callboard.errors import RegistrationError
from callboard.tools import registered, tool
from callboard.types import ExecutionOptions, ToolContext
from tests.tools import future_style


@pytest.mark.covers("B13")
def test_string_annotations_of_a_module_are_resolved() -> None:
    entry = registered(future_style.measure)
    assert list(entry.input_schema["properties"]) == ["size", "unit"]
    ctx = ToolContext(ExecutionOptions(), "1", "1", print)
    assert entry.run(entry.parse('{"size": {"width": 3}}')[0], ctx) == "3"
    assert registered(future_style.labelled).parse('{"label": "a"}')[0] == {"label": "a", "times": None}
    assert registered(future_style.labelled).parameters["label"]["description"] == "what to print"


@pytest.mark.covers("B13")
def test_types_defined_in_a_function_or_class_body_are_found() -> None:
    plot, draw = future_style.made_locally()
    assert registered(plot).run(registered(plot).parse('{"point": {"x": 2}}')[0], None) == 2
    assert registered(draw).run(registered(draw).parse('{"point": {"x": 2}}')[0], None) == 4


@pytest.mark.covers("B13")
def test_types_that_a_closure_holds_are_found() -> None:
    entry = registered(tool(future_style.captures(int)))
    assert entry.parse('{"value": 3}')[0] == {"value": 3}


@pytest.mark.covers("B13")
def test_a_type_that_cannot_be_resolved_is_refused_at_registration() -> None:
    with pytest.raises(RegistrationError, match=r"tool 'unresolved', parameter 'value'.*Nowhere") as caught:
        registered(tool(future_style.unresolved))
    assert caught.value.hint is not None
    with pytest.raises(RegistrationError, match=r"tool 'unresolved_result', its result.*Nowhere"):
        registered(tool(future_style.unresolved_result))


@pytest.mark.covers("B13")
def test_a_type_that_is_defined_after_the_tool_is_found_at_registration() -> None:
    space: dict[str, Any] = {"tool": tool, "__name__": "later"}
    exec(
        "from __future__ import annotations\n"
        "@tool\n"
        "def use(value: Later) -> int:\n    return value\n"
        "Later = int\n",
        space,
    )
    assert registered(space["use"]).parse('{"value": 3}')[0] == {"value": 3}


def test_a_parameter_without_annotation_takes_anything() -> None:
    @tool
    def loose(value, other=1):  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]
        return value

    entry = registered(loose)
    assert entry.parse('{"value": [1, {"a": null}]}')[0] == {"value": [1, {"a": None}], "other": 1}
    assert entry.input_schema["properties"]["value"] == {}


class Address(TypedDict):
    street: str


class Person(TypedDict, total=False):
    name: str
    homes: list[Address]


class Looped(TypedDict):
    inner: "Looped | None"


def test_typed_dicts_of_the_standard_library_are_closed_through_all_levels() -> None:
    @tool
    def greet(person: Union[Person, None], others: dict[str, list[Person]] = {}) -> str:  # noqa: B006, UP007
        return "" if person is None else person.get("name", "")

    entry = registered(greet)
    assert entry.parse('{"person": {"homes": [{"street": "x"}]}}')[0]["person"] == {
        "homes": [{"street": "x"}]
    }
    with pytest.raises(Exception, match=r"person\.homes\.0\.stret"):
        entry.parse('{"person": {"homes": [{"street": "x", "stret": "y"}]}}')
    assert entry.input_schema["$defs"]["Address"]["additionalProperties"] is False


def test_a_recursive_typed_dict_of_the_standard_library_says_what_to_use_instead() -> None:
    def probe(value: Looped) -> None: ...

    with pytest.raises(RegistrationError) as caught:
        registered(tool(probe))
    assert caught.value.hint is not None
    assert "typing_extensions" in caught.value.hint
