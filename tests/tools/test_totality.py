"""Whatever comes in, and whatever a tool gives back: a value, or one of our errors."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard.errors import InvalidArguments, InvalidResult
from callboard.tools import RegisteredTool, registered, tool
from tests.tools.test_canonical import same, values


def with_schema() -> RegisteredTool[Any]:
    schema = {"type": "object", "properties": {"value": {}, "n": {"type": "integer"}}}
    return registered(
        {"id": "s", "kind": "read", "schema": schema, "execute": lambda v: v, "parse_output": lambda v: v}
    )


@tool
def anything(value: Any = None) -> Any:
    return value


@tool
def typed(value: int = 0, items: list[dict[str, int]] = [], note: str | None = None) -> None: ...  # noqa: B006


ENTRIES = [registered(anything), registered(typed), with_schema()]
json_like = st.lists(
    st.sampled_from([*'{}[]":,0123456789.eE+-truefalsn\\u \n\x00é\ud800', '"value"', '"n":'])
).map("".join)


def attempt(entry: RegisteredTool[Any], raw: Any) -> tuple[Any, InvalidArguments | None]:
    """What parsing gives, and our error where it gives none; any other exception fails the test."""
    try:
        return entry.parse(raw), None
    except InvalidArguments as error:
        return None, error


@pytest.mark.covers("B24", "B25")
@pytest.mark.parametrize("entry", ENTRIES, ids=["any", "typed", "schema"])
@given(raw=st.binary() | st.text() | json_like | json_like.map(lambda text: f'{{"value": {text}}}'))
def test_any_bytes_and_texts_give_arguments_or_our_error(entry: RegisteredTool[Any], raw: Any) -> None:
    parsed, error = attempt(entry, raw)
    if parsed is None:
        assert error is not None
        assert error.code.startswith("args.")
        assert str(error)
    else:
        value, frozen, _ = parsed
        assert isinstance(value, dict)
        assert frozen is not None
        assert entry.parse(frozen)[0] == value


PYTHON = st.recursive(
    values
    | st.binary()
    | st.decimals()
    | st.complex_numbers()
    | st.floats()
    | st.dates()
    | st.text(st.characters())
    | st.sets(st.integers()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=2) | st.integers() | st.none(), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("entry", ENTRIES, ids=["any", "typed", "schema"])
@given(raw=PYTHON)
def test_any_python_value_gives_arguments_or_our_error(entry: RegisteredTool[Any], raw: Any) -> None:
    parsed, error = attempt(entry, {"value": raw})
    assert parsed is not None or (error is not None and error.code.startswith("args."))


@pytest.mark.covers("B56")
@given(PYTHON)
def test_any_result_is_json_or_our_error(value: Any) -> None:
    code, text = "", "null"
    try:
        _, text, _ = registered(anything).finish(value)
    except InvalidResult as error:
        code = error.code
    assert code in {"", "result.unserialisable"}
    json.loads(text)


@pytest.mark.covers("B27")
@given(values)
def test_any_json_value_goes_through_parse_and_serialise_exactly(value: Any) -> None:
    entry = registered(anything)
    for raw in (json.dumps({"value": value}), {"value": value}):
        parsed, error = attempt(entry, raw)
        if parsed is None:
            assert "surrogate" in str(error) or "hex escape" in str(error)
            continue
        arguments, _, repaired = parsed
        assert not repaired
        assert same(arguments["value"], value)
        made, text, content = entry.finish(entry.run(arguments, None))
        assert same(json.loads(text), value)
        assert same(made, value)
        assert content == (value if isinstance(value, str) else text)


@pytest.mark.parametrize("deep", [150, 250, 100_000, 1_000_000])
@pytest.mark.parametrize("entry", ENTRIES, ids=["any", "typed", "schema"])
@pytest.mark.parametrize("shape", ["[", '{"a":', '[{"value":'])
def test_no_depth_ends_the_process(entry: RegisteredTool[Any], deep: int, shape: str) -> None:
    closing = "".join({"[": "]", "{": "}"}[char] for char in reversed(shape) if char in "[{")
    for text in ('{"value": ' + shape * deep, '{"value": ' + shape * deep + "1" + closing * deep + "}"):
        _, error = attempt(entry, text)
        codes = {"args.too_deep", "args.too_large", "args.truncated", "args.invalid"}
        assert error is None or error.code in codes


@pytest.mark.covers("B25")
@pytest.mark.parametrize("entry", ENTRIES, ids=["any", "typed", "schema"])
@given(value=values, data=st.data())
def test_every_beginning_of_a_call_is_truncated_and_nothing_else(
    entry: RegisteredTool[Any], value: Any, data: st.DataObject
) -> None:
    text = json.dumps({"value": value}, ensure_ascii=data.draw(st.booleans()))
    cut = data.draw(st.integers(1, len(text) - 1))
    for raw in (text[:cut], text.encode(errors="surrogatepass")[:cut]):
        _, error = attempt(entry, raw)
        assert error is not None
        assert error.code == "args.truncated" or "surrogate" in str(error)
