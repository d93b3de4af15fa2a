"""One spelling for equal JSON."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard.tools import canonical

doubles = st.floats(allow_nan=False, allow_infinity=False)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | doubles | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def same(left: Any, right: Any) -> bool:
    """Equal, and of equal type at every place; zeros of different sign differ."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


@given(values)
def test_values_stay_exact_and_the_form_is_stable(value: Any) -> None:
    text = canonical(json.dumps(value))
    assert same(json.loads(text), value)
    assert canonical(text) == text
    assert canonical(json.dumps(value, indent=2)) == text


def test_keys_are_sorted_and_blanks_are_gone() -> None:
    assert canonical('{ "b": [1, 2.0],\n "a": "é" }') == '{"a":"é","b":[1,2.0]}'


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "1e400", "{", "", "nonsense"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        canonical(text)
