"""Sample calls: what is shown to an author passes the tool's own parser, as it is."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import json
import re
from typing import Annotated, Any, Literal

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from callboard.errors import RegistrationError
from callboard.tools import export, registered, tool
from callboard.tools.patterns import text_for
from callboard.tools.samples import sample
from tests.tools.any_schema import roots
from tests.tools.legal import HOLDERS, schema_of
from tests.tools.types_table import TYPES


def sample_of(annotation: Any) -> Any:
    def probe(x: Any) -> None: ...

    probe.__annotations__["x"] = annotation
    entry = registered(tool(probe))
    made = sample(entry)
    assert made is not None
    entry.parse(made)
    return json.loads(made)["x"]


class Tree(BaseModel):
    label: str
    kids: "list[Tree] | None"


@pytest.mark.parametrize("name", TYPES)
def test_every_type_of_the_table_has_a_sample_that_every_dialect_admits(name: str) -> None:
    def probe(x: Any) -> None: ...

    for annotation in TYPES[name]:
        probe.__annotations__["x"] = annotation
        entry = registered(tool(probe))
        made = json.loads(sample(entry) or "null")
        assert entry.parse(json.dumps(made))[2] is False
        for dialect in HOLDERS:
            (definition,) = export([entry], dialect).definitions
            assert jsonschema_rs.is_valid(schema_of(definition, dialect), made, offline=True)


@pytest.mark.parametrize(
    ("annotation", "made"),
    [
        (Annotated[str, Field(examples=["Rome"])], "Rome"),
        (Literal["low", "high"], "low"),
        (Annotated[int, Field(gt=4, multiple_of=3)], 6),
        (Annotated[float, Field(gt=0, lt=1)], 0.5),
        (Annotated[str, Field(min_length=6)], "textxx"),
        (Annotated[str, Field(max_length=2)], "te"),
        (Annotated[str, Field(pattern=r"^[A-Z]{2}-\d{3}$")], "AA-111"),
        (Annotated[list[int], Field(min_length=2)], [1, 1]),
        (Annotated[dict[str, int], Field(min_length=1)], {"key1": 1}),
        (int | None, 1),
        (tuple[int, str], [1, "text"]),
        (Tree, {"label": "text", "kids": None}),
    ],
)
def test_examples_come_first_then_the_plainest_value(annotation: Any, made: Any) -> None:
    assert sample_of(annotation) == made


def test_required_arguments_are_in_it_and_those_with_an_example() -> None:
    def find(
        text: str, limit: int = 10, where: Annotated[str, Field(examples=["here"])] = "there"
    ) -> None: ...

    assert sample(registered(tool(find))) == '{"text":"text","where":"here"}'


def test_an_example_that_the_tool_refuses_is_not_shown() -> None:
    def grow(by: Annotated[int, Field(gt=5, examples=[3, 8])]) -> None: ...

    assert sample(registered(tool(grow))) == '{"by":8}'


def test_where_none_is_found_none_is_invented() -> None:
    assert sample(registered(refusing())) is None


def refusing() -> Any:
    return {
        "id": "refusing",
        "kind": "read",
        "schema": {"type": "object", "properties": {"a": {"not": {}}}, "required": ["a"]},
        "execute": lambda value: value,
        "parse_output": lambda value: value,
    }


slow_to_draw = [HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(deadline=None, max_examples=60, suppress_health_check=slow_to_draw)
@given(roots)
def test_whatever_schema_a_tool_brings_its_sample_passes(schema: dict[str, Any]) -> None:
    try:
        entry = registered({**refusing(), "schema": schema})
    except RegistrationError:
        return
    made = sample(entry)
    if made is not None:
        _, text, repaired = entry.parse(made)
        assert (text, repaired) == (made, False)


@pytest.mark.parametrize(
    ("pattern", "made"),
    [
        (r"^[a-z]{2,5}\d+(foo|bar)?$", "aa1"),
        (r"[^a-z]", "1"),
        (r"(?P<x>ab)-(?P=x)", "ab-ab"),
        (r"^\S+@\S+$", "a@a"),
        (r"(?=a)a.?", "a"),
        (r"^(yes|no)$", "yes"),
        (r"日|ü", "日"),
    ],
)
def test_a_text_is_found_for_a_pattern(pattern: str, made: str) -> None:
    assert text_for(pattern) == made


@pytest.mark.parametrize("pattern", ["(", r"a{9999}", r"^a\bb$", "(?=b)a"])
def test_a_pattern_that_is_not_followed_says_so(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        text_for(pattern)


patterns = st.from_regex(r"(\[[a-z]-?[a-z]\]|\\d|\\w|[a-z0-9]|\(ab\|c\)|\.)([+*?]|\{1,3\})?", fullmatch=True)


@settings(deadline=None, max_examples=100)
@given(patterns, st.integers(0, 3))
def test_what_is_found_matches(pattern: str, number: int) -> None:
    try:
        text = text_for(pattern, number)
    except ValueError:
        return
    assert re.search(pattern, text)
