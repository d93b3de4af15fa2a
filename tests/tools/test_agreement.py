"""Schema and tool accept the same values: for every type of docs/types.md, with formats asserted."""
# pyright: reportUnknownVariableType=false

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from callboard.errors import InvalidArguments
from callboard.tools import RegisteredTool, registered, tool
from tests.tools.types_table import TYPES

ROWS = [
    (name, number, annotation) for name, listed in TYPES.items() for number, annotation in enumerate(listed)
]

# Texts around the borders of the types that travel as text.
SPELLINGS = [
    "", "a", "ab", "k", "red", "RED", "cat", "word", "1", "01", "-1", "-0", "1.0", "1e3", " 5", "12",
    "true", "null", "2024-05-31", "2024-02-30", "2023-02-29", "0000-01-01", "2024-05-31T10:00:00Z",
    "2024-05-31T10:00:00", "2024-05-31T10:00:00.123456789Z", "2024-05-31t10:00:00z",
    "2024-05-31 10:00:00Z", "2024-05-31T10:00:60Z", "2024-02-30T10:00:00Z", "2024-05-31T24:00:00Z",
    "2024-05-31T10:00:00+02:00", "2024-05-31T10:00Z", "1717149600", "2024-05-31T10:00:00-23:59",
    "2024-05-31T10:00:00+24:00", "9999-12-31T23:59:59Z", "0999-12-31T23:59:59Z", "10:00", "10:00:00",
    "10:00:00.5", "24:00", "10:00Z", "10:00:00+02:00", "10:00:60", "36000", "P1D", "PT1H", "P1DT1H30M",
    "PT1.5S", "P1M", "P1Y", "P1W", "-P1D", "+P1D", "P", "PT", "1 day, 00:00:10", "P1.5D", "PT1H5S",
    "P999999D", "P9999999D", "PT999999H", "123e4567-e89b-12d3-a456-426614174000",
    "123E4567-E89B-12D3-A456-426614174000", "{123e4567-e89b-12d3-a456-426614174000}",
    "123e4567e89b12d3a456426614174000", "urn:uuid:123e4567-e89b-12d3-a456-426614174000", "12.50", "1_000",
    "NaN", "Infinity", "1e400", "1E-5", ".5", "5.", "-.5", "00.1", "é", "\u0663", "a\n", "10:00\n", "1\n",
]  # fmt: skip

doubles = st.floats(allow_nan=False, allow_infinity=False)
atoms = (
    st.none()
    | st.booleans()
    | st.sampled_from(
        [0, 1, 2, 3, 7, -1, 2**53, 2**53 + 1, 2**70, 0.0, -0.0, 1.0, 2.0, 0.5, 3.5, 1e22, 1e300, 1e-7]
    )
    | st.integers()
    | doubles
    | st.text()
    | st.sampled_from(SPELLINGS)
)
KEYS = [
    "x", "y", "title", "year", "tags", "name", "qty", "items", "by_name", "label", "children", "from",
    "from_", "kind", "lives", "red", "k", "l", "1", "01", "-5", "left", "right",
]  # fmt: skip
values: SearchStrategy[Any] = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@cache
def tool_for(row: int) -> tuple[RegisteredTool, Any]:
    annotation = ROWS[row][2]

    def probe(value: Any) -> None: ...

    probe.__annotations__["value"] = annotation
    entry = registered(tool(probe))
    schema = json.loads(json.dumps(entry.input_schema))
    return entry, jsonschema_rs.Draft202012Validator(schema, offline=True, validate_formats=True)


def accepts(entry: RegisteredTool, text: str) -> bool:
    """Whether the strict pass accepts: a repair is no acceptance."""
    try:
        return not entry.parse(text)[2]
    except InvalidArguments:
        return False


def agree(row: int, value: Any) -> None:
    entry, schema = tool_for(row)
    text = json.dumps({"value": value})
    assert accepts(entry, text) == schema.is_valid({"value": value}), text


def from_schema(row: int) -> SearchStrategy[Any]:
    """Values that are likely to be legal: made from the published schema."""
    entry, _ = tool_for(row)
    schema: Any = entry.input_schema
    return made_from(schema["properties"]["value"], schema.get("$defs", {}), 3)


def made_from(node: Any, defs: Any, room: int) -> SearchStrategy[Any]:  # noqa: PLR0911 - forms of schema
    if "$ref" in node:
        return made_from(defs[node["$ref"].split("/")[-1]], defs, room - 1) if room else values
    if "enum" in node or "const" in node:
        return st.sampled_from(node.get("enum", [node.get("const")])) | atoms
    for word in ("anyOf", "oneOf"):
        if word in node:
            return st.one_of([made_from(each, defs, room) for each in node[word]])
    kind = node.get("type")
    if kind == "object":
        properties = {
            key: made_from(part, defs, room - 1) for key, part in node.get("properties", {}).items()
        }
        required = {key: part for key, part in properties.items() if key in node.get("required", [])}
        optional = {key: part for key, part in properties.items() if key not in required}
        fixed = st.fixed_dictionaries(required, optional=optional)
        more = node.get("additionalProperties")
        if isinstance(more, dict):
            return st.dictionaries(st.sampled_from(KEYS), made_from(more, defs, room - 1), max_size=3)
        return fixed
    if kind == "array":
        if "prefixItems" in node:
            return st.tuples(*(made_from(each, defs, room) for each in node["prefixItems"])).map(list)
        return st.lists(made_from(node.get("items", {}), defs, room - 1), max_size=4)
    if kind == "string" and "pattern" in node:
        return st.from_regex(re.compile(node["pattern"])) | st.sampled_from(SPELLINGS)
    simple = {"integer": st.integers(-3, 12) | st.integers(), "number": doubles, "boolean": st.booleans()}
    return simple.get(kind, atoms)


@pytest.mark.covers("B11", "B27")
@pytest.mark.parametrize("row", range(len(ROWS)), ids=[f"{name}-{number}" for name, number, _ in ROWS])
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(data=st.data())
def test_schema_and_tool_accept_the_same_values(row: int, data: st.DataObject) -> None:
    agree(row, data.draw(values | from_schema(row)))


@pytest.mark.covers("B11")
@pytest.mark.parametrize("row", range(len(ROWS)), ids=[f"{name}-{number}" for name, number, _ in ROWS])
def test_schema_and_tool_agree_on_the_borders(row: int) -> None:
    borders: list[Any] = [
        *SPELLINGS,
        None,
        True,
        False,
        0,
        1,
        2,
        3,
        -1,
        1.0,
        2.0,
        3.0,
        0.5,
        1e3,
        2**63,
        [],
        {},
        [1, 1],
        [1, "a"],
        [1, None, [2]],
        [1, {"name": "a"}, [2]],
        {"left": 1, "right": "a"},
        {"aa": 1},
        {"2024-05-31": 1},
        {"123e4567-e89b-12d3-a456-426614174000": 1},
        {"from": 1},
        {"from_": 1},
        ["a", "a"],
    ]
    for value in [*borders, *([each] for each in borders), *({"x": each} for each in borders)]:
        agree(row, value)


def test_the_table_of_the_documentation_lists_exactly_these_types() -> None:
    page = Path(__file__).parents[2] / "docs" / "types.md"
    rows = re.findall(r"^\| `([^`]+)` \|", page.read_text(), re.MULTILINE)
    assert rows == list(TYPES)


def with_doubled_key(value: Any, at: int) -> tuple[str, int]:
    """The JSON text of a value in which the pair number `at` stands twice, and how many pairs were passed."""
    if isinstance(value, dict):
        parts: list[str] = []
        pairs: dict[str, Any] = value
        for key, item in pairs.items():
            mine = at
            text, at = with_doubled_key(item, at - 1)
            pair = f"{json.dumps(key)}: {text}"
            parts += [pair, pair] if mine == 0 else [pair]
        return "{" + ", ".join(parts) + "}", at
    if isinstance(value, list):
        parts = []
        items: list[Any] = value
        for item in items:
            text, at = with_doubled_key(item, at)
            parts.append(text)
        return "[" + ", ".join(parts) + "]", at
    return json.dumps(value), at


@pytest.mark.parametrize("row", range(len(ROWS)), ids=[f"{name}-{number}" for name, number, _ in ROWS])
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(data=st.data())
def test_a_doubled_key_never_passes(row: int, data: st.DataObject) -> None:
    value = {"value": data.draw(from_schema(row))}
    _, left = with_doubled_key(value, 1_000_000)
    text, _ = with_doubled_key(value, data.draw(st.integers(0, 1_000_000 - left - 1)))
    with pytest.raises(InvalidArguments):
        tool_for(row)[0].parse(text)
