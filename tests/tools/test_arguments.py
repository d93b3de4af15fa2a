"""From what a model sent to what a tool receives."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import dataclasses
import datetime as dt
import inspect
import json
import time
import uuid
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field
from typing_extensions import TypedDict

from callboard.errors import InvalidArguments, RegistrationError
from callboard.tools import RegisteredTool, registered, tool


def entry_of(**annotations: Any) -> RegisteredTool[Any]:
    """A tool that takes these parameters and gives them back."""

    def probe(**given: Any) -> Any:
        return given

    kind = inspect.Parameter.KEYWORD_ONLY
    defaults: dict[str, Any] = {
        name: each[1] for name, each in annotations.items() if isinstance(each, tuple)
    }
    hints: dict[str, Any] = {
        name: each[0] if isinstance(each, tuple) else each for name, each in annotations.items()
    }
    vars(probe)["__signature__"] = inspect.Signature(
        [inspect.Parameter(name, kind, default=defaults.get(name, inspect.Parameter.empty)) for name in hints]
    )
    probe.__annotations__ = hints
    return registered(tool(probe))


def refused(entry: RegisteredTool[Any], raw: Any) -> InvalidArguments:
    with pytest.raises(InvalidArguments) as caught:
        entry.parse(raw)
    return caught.value


class Item(BaseModel):
    name: str
    qty: int = 1


class Order(BaseModel):
    item: Item
    note: str | None = None


@dataclasses.dataclass
class Point:
    x: int
    y: int


class Movie(TypedDict):
    title: str
    year: int


NUMBER = entry_of(n=int)
ORDER = entry_of(order=Order)
NOTHING = entry_of()


def test_what_is_frozen_is_the_text_that_passed() -> None:
    text = '{ "n":  3 }'
    value, frozen, repaired = NUMBER.parse(text)
    assert (value, repaired) == ({"n": 3}, False)
    assert frozen is text


@pytest.mark.parametrize("raw", [b'{"n": 3}', bytearray(b'{"n": 3}'), memoryview(b'{"n": 3}'), {"n": 3}])
def test_bytes_and_containers_are_read_as_their_json(raw: Any) -> None:
    value, frozen, repaired = NUMBER.parse(raw)
    assert (value, repaired) == ({"n": 3}, False)
    assert frozen is not None
    assert NUMBER.parse(frozen)[0] == value


@pytest.mark.covers("B24")
@pytest.mark.parametrize("raw", ["", "  ", "\n", None, b"", "{}", "null", '""', '" "', " null ", {}])
def test_nothing_means_no_arguments(raw: Any) -> None:
    assert NOTHING.parse(raw) == ({}, "{}", False)
    assert refused(NUMBER, raw).code == "args.missing"


@pytest.mark.covers("B15")
@pytest.mark.parametrize(
    ("entry", "raw", "place", "hint"),
    [
        (entry_of(topic=(str, "")), '{"topik": "x"}', "topik", "did you mean 'topic'?"),
        (entry_of(topic=(str, "")), '{"path": "x"}', "path", "legal here: topic"),
        (entry_of(filePath=str), '{"file_path": "x"}', "file_path", "did you mean 'filePath'?"),
        (NOTHING, '{"x": 1}', "x", "leave out 'x': nothing can be given here"),
        (
            ORDER,
            '{"order": {"item": {"name": "a", "qtty": 1}}}',
            "order.item.qtty",
            "did you mean 'qty' in order.item?",
        ),
        (
            entry_of(a=list[Item]),
            '{"a": [{"name": "x", "nam": 1}]}',
            "a.0.nam",
            "did you mean 'name' in a.0?",
        ),
        (
            entry_of(a=dict[str, Item]),
            '{"a": {"k": {"name": "x", "nam": 1}}}',
            "a.k.nam",
            "did you mean 'name' in a.k?",
        ),
        (entry_of(p=Point), '{"p": {"x": 1, "y": 2, "z": 3}}', "p.z", "legal here in p: x, y"),
        (
            entry_of(m=Movie),
            '{"m": {"title": "x", "year": 2, "yaer": 3}}',
            "m.yaer",
            "did you mean 'year' in m?",
        ),
        (
            entry_of(m=(Movie | None, None)),
            '{"m": {"title": "x", "year": 2, "yaer": 3}}',
            "m.yaer",
            "did you mean 'year' in m?",
        ),
        (
            entry_of(t=tuple[int, Item]),
            '{"t": [1, {"name": "x", "nam": 1}]}',
            "t.1.nam",
            "did you mean 'name' in t.1?",
        ),
    ],
)
def test_an_unknown_key_is_refused_with_the_closest_legal_one(
    entry: RegisteredTool[Any], raw: str, place: str, hint: str
) -> None:
    error = refused(entry, raw)
    assert error.code == "args.unknown"
    assert f"{place}: there is no such" in str(error)
    assert error.hint == hint


@pytest.mark.covers("B15")
def test_a_model_that_says_extra_itself_keeps_its_word() -> None:
    class Loose(BaseModel):
        model_config = ConfigDict(extra="allow")
        x: int
        inner: Item | None = None

    entry = entry_of(m=Loose)
    assert entry.parse('{"m": {"x": 1, "y": 2}}')[0]["m"].model_extra == {"y": 2}
    assert refused(entry, '{"m": {"x": 1, "inner": {"name": "a", "zzz": 1}}}').code == "args.unknown"
    assert entry.input_schema["$defs"]["Loose"]["additionalProperties"] is True
    assert entry.input_schema["$defs"]["Item"]["additionalProperties"] is False


@pytest.mark.covers("B14")
@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[int, Field(alias="externalX")],
        Annotated[int, Field(validation_alias="externalX")],
        Annotated[int, Field(validation_alias=AliasChoices("externalX", "other"))],
    ],
)
def test_the_wire_name_is_mapped_to_the_python_name(annotation: Any) -> None:
    @tool
    def f(x: int) -> int:
        return x

    f.function.__annotations__["x"] = annotation
    entry = registered(f)
    assert list(entry.input_schema["properties"]) == ["externalX"]
    assert entry.run(entry.parse('{"externalX": 1}')[0], None) == 1
    assert refused(entry, '{"x": 1}').code == "args.unknown"


@pytest.mark.covers("B14")
def test_reserved_words_travel_as_aliases_of_parameters_and_fields() -> None:
    class Span(BaseModel):
        from_: int = Field(alias="from")

    @tool
    def f(class_: Annotated[str, Field(alias="class")], span: Span, in_: str = Field("x", alias="in")) -> str:
        return f"{class_}{span.from_}{in_}"

    entry = registered(f)
    assert list(entry.input_schema["properties"]) == ["class", "span", "in"]
    assert entry.run(entry.parse('{"class": "a", "span": {"from": 1}}')[0], None) == "a1x"
    assert entry.run(entry.parse('{"class": "a", "span": {"from": 1}, "in": "y"}')[0], None) == "a1y"


def test_two_parameters_under_one_wire_name_are_refused() -> None:
    def f(x: Annotated[int, Field(alias="y")], y: int) -> None: ...

    with pytest.raises(RegistrationError, match=r"'x' and 'y' are both shown as 'y'"):
        registered(tool(f))


@pytest.mark.covers("B21")
@pytest.mark.parametrize(
    ("entry", "raw", "value"),
    [
        (entry_of(cmd=Item), '{"cmd": "{\\"name\\": \\"view\\"}"}', {"cmd": Item(name="view")}),
        (entry_of(cmd=Point), '{"cmd": "{\\"x\\": 1, \\"y\\": 2}"}', {"cmd": Point(1, 2)}),
        (
            entry_of(cmd=Movie),
            '{"cmd": "{\\"title\\": \\"a\\", \\"year\\": 2}"}',
            {"cmd": {"title": "a", "year": 2}},
        ),
        (entry_of(cmd=dict[str, int]), '{"cmd": "{\\"a\\": 1}"}', {"cmd": {"a": 1}}),
        (entry_of(cmd=list[int]), '{"cmd": "[1, 2]"}', {"cmd": [1, 2]}),
        (entry_of(cmd=set[int]), '{"cmd": "[1, 2]"}', {"cmd": {1, 2}}),
        (entry_of(cmd=tuple[int, str]), '{"cmd": "[1, \\"a\\"]"}', {"cmd": (1, "a")}),
        (entry_of(cmd=Item | None), '{"cmd": "{\\"name\\": \\"view\\"}"}', {"cmd": Item(name="view")}),
        (
            entry_of(order=Order),
            '{"order": {"item": "{\\"name\\": \\"a\\"}"}}',
            {"order": Order(item=Item(name="a"))},
        ),
        (entry_of(cmd=list[Item]), '{"cmd": ["{\\"name\\": \\"a\\"}"]}', {"cmd": [Item(name="a")]}),
        (NUMBER, '"{\\"n\\": 3}"', {"n": 3}),
    ],
)
def test_an_object_or_list_as_json_text_is_decoded_where_only_such_fits(
    entry: RegisteredTool[Any], raw: str, value: Any
) -> None:
    made, frozen, repaired = entry.parse(raw)
    assert made == value
    assert repaired
    assert frozen is not None
    assert entry.parse(frozen) == (value, frozen, False)


@pytest.mark.covers("B22")
@pytest.mark.parametrize("annotation", [str, str | Item, str | dict[str, int], str | list[int], Any])
@pytest.mark.parametrize("text", ['{"a":1}', "[1, 2]", "12", "true", "null", "007"])
def test_a_place_that_takes_a_text_is_never_decoded(annotation: Any, text: str) -> None:
    entry = entry_of(content=annotation)
    assert entry.parse(json.dumps({"content": text})) == (
        {"content": text},
        json.dumps({"content": text}),
        False,
    )


@pytest.mark.covers("B30")
@pytest.mark.parametrize(
    ("annotation", "given", "value"),
    [
        (int, '"12"', 12),
        (int, '"-5"', -5),
        (int, '"0"', 0),
        (int, '"9007199254740993"', 9007199254740993),
        (float, '"1.5"', 1.5),
        (float, '"12"', 12.0),
        (float, '"1e3"', 1000.0),
        (bool, '"true"', True),
        (bool, '"false"', False),
        (bool, '"True"', True),
        (list[int], '"[1, 2]"', [1, 2]),
        (Literal[1, 2], '"2"', 2),
        (int | None, '"12"', 12),
        (int | bool, '"12"', 12),
        (Decimal, "1.10", Decimal("1.10")),
        (Decimal, "12345678901234567890.123456789", Decimal("12345678901234567890.123456789")),
        (Decimal, "3", Decimal(3)),
    ],
)
def test_exact_numbers_and_booleans_as_texts_are_repaired(annotation: Any, given: str, value: Any) -> None:
    entry = entry_of(x=annotation)
    made, frozen, repaired = entry.parse(f'{{"x": {given}}}')
    assert made == {"x": value}
    assert type(made["x"]) is type(value)
    assert repaired
    assert frozen is not None
    assert not entry.parse(frozen)[2]


@pytest.mark.covers("B30")
@pytest.mark.parametrize(
    "text", ["012", "1e3", " 5 ", "5 ", "+5", "-0", "1_000", "1.0", "0x10", "five", "", "٣", "12\n"]
)
def test_what_is_no_plain_integer_is_refused(text: str) -> None:
    assert refused(NUMBER, json.dumps({"n": text})).code == "args.invalid"


@pytest.mark.covers("B30")
@pytest.mark.parametrize(
    ("annotation", "given"),
    [
        (bool, '"yes"'), (bool, '"1"'), (bool, "1"), (bool, "0"), (float, '"NaN"'), (float, '"1e999"'),
        (int, "true"), (float, "true"), (float, '" 1"'), (str, "12"), (str, "true"), (list[int], "5"),
        (int, "3.5"), (int, "[3]"), (Decimal, "true"), (list[int], '"1, 2"'), (dict[str, int], '"a=1"'),
        (Literal[1, 2], "true"),
    ],
)  # fmt: skip
def test_what_could_mean_two_things_is_refused(annotation: Any, given: str) -> None:
    assert refused(entry_of(x=annotation), f'{{"x": {given}}}').code == "args.invalid"


def test_one_complaint_without_a_repair_stops_all_of_them() -> None:
    error = refused(entry_of(a=int, b=int), '{"a": "12", "b": "x"}')
    assert error.code == "args.invalid"
    assert "a: " in str(error)
    assert "b: " in str(error)


def test_an_integral_float_is_the_same_integer_and_no_repair() -> None:
    assert NUMBER.parse('{"n": 3.0}') == ({"n": 3}, '{"n": 3}', False)
    assert NUMBER.parse('{"n": 1e3}') == ({"n": 1000}, '{"n": 1000}', False)
    assert NUMBER.parse('{"n": 12345678901234567890e3}')[0] == {"n": 12345678901234567890000}
    assert entry_of(x=int | str).parse('{"x": 3.0}') == ({"x": 3}, '{"x": 3}', False)


def test_null_for_what_may_be_left_out_is_left_out() -> None:
    entry = entry_of(a=int, b=(int, 7))
    assert entry.parse('{"a": 1, "b": null}') == ({"a": 1, "b": 7}, '{"a": 1}', True)
    assert refused(entry, '{"a": null}').code == "args.invalid"
    assert ORDER.parse('{"order": {"item": {"name": "a", "qty": null}}}')[0]["order"].item.qty == 1
    assert refused(entry_of(d=dict[str, int]), '{"d": {"a": null}}').code == "args.invalid"
    assert entry_of(a=(int | None, 3)).parse('{"a": null}') == ({"a": None}, '{"a": null}', False)


@pytest.mark.covers("B11")
def test_an_optional_choice_takes_null_as_its_schema_says() -> None:
    entry = entry_of(e=(Literal["red", "blue"] | None, None))
    assert entry.parse('{"e": null}') == ({"e": None}, '{"e": null}', False)
    assert entry.input_schema["properties"]["e"]["anyOf"] == [
        {"enum": ["red", "blue"], "type": "string"},
        {"type": "null"},
    ]


@pytest.mark.covers("B25")
@pytest.mark.parametrize(
    "raw",
    [
        '{"commands":["npm install","npm te',
        '{"commands":["npm install"',
        '{"commands":["npm install"]',
        '{"commands":',
        '{"commands"',
        "{",
        '"{\\"commands\\": [\\"a\\"]',
    ],
)
def test_a_truncated_call_is_never_repaired(raw: str) -> None:
    entry = entry_of(commands=list[str])
    error = refused(entry, raw)
    assert error.code == "args.truncated"
    assert error.hint is not None
    assert "nothing was run" in error.hint


@pytest.mark.covers("B25")
def test_a_truncated_text_inside_a_text_is_not_completed() -> None:
    assert refused(entry_of(c=list[str]), '{"c": "[\\"npm install\\", \\"npm te"}').code == "args.invalid"


@pytest.mark.covers("B27")
@pytest.mark.parametrize("number", [9007199254740993, 1915883588174806058, -(2**63) - 1, 10**400])
@pytest.mark.parametrize("annotation", [int, Any, int | str, list[int], dict[str, Any]])
def test_large_integers_arrive_exactly(number: int, annotation: Any) -> None:
    wrap = {list[int]: [number], dict[str, Any]: {"k": number}}.get(annotation, number)
    text = json.dumps({"x": wrap})
    assert entry_of(x=annotation).parse(text) == ({"x": wrap}, text, False)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ('{"n": 1, "n": 2}', "args.duplicate_key"),
        ('{"n": 1, "\\u006e": 2}', "args.duplicate_key"),
        ('{"n" : 1, "n" : 1}', "args.duplicate_key"),
        ("[1]", "args.not_object"),
        ("3", "args.not_object"),
        ('"x"', "args.not_object"),
        ("true", "args.not_object"),
        ("{'n': 1}", "args.not_json"),
        ('{"n": 1,}', "args.not_json"),
        ('{"n": 1} {"n": 2}', "args.not_json"),
        ('{"n": NaN}', "args.not_json"),
        ('{"n": -Infinity}', "args.not_json"),
        ('{"n": 1e400}', "args.not_json"),
        ('\ufeff{"n": 1}', "args.not_json"),
        ('{"n": "\ud800"}', "args.not_json"),
        ('{"n": "\\ud800"}', "args.not_json"),
        (b'{"n": "\xff"}', "args.not_json"),
        ('{"n": ' + "1" * 5000 + "}", "args.not_json"),
        ("[" * 1_000_000, "args.too_deep"),
        ('{"n":' * 300 + "1" + "}" * 300, "args.too_deep"),
        ('{"n": "' + "x" * 4_000_000 + '"}', "args.too_large"),
        (b" " * 4_000_001, "args.too_large"),
        ('{"n": "' + "é" * 2_500_000 + '"}', "args.too_large"),
        ({"n": {1, 2}}, "args.not_json"),
        ({"n": float("nan")}, "args.not_json"),
        ({1: 2}, "args.not_json"),
        (object(), "args.not_json"),
    ],
)
def test_what_is_no_json_object_has_a_code_of_its_own(raw: Any, code: str) -> None:
    assert refused(NUMBER, raw).code == code


def test_a_container_that_holds_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["n"] = loop
    assert refused(NUMBER, loop).code == "args.not_json"


@pytest.mark.parametrize(
    ("entry", "raw"),
    [
        (ORDER, '{"order": {"item": {"name": "a:b", "name": "c"}}}'),
        (ORDER, '{"order": {"item": {"name": "a", "qty": 1, "qty": 2}}}'),
        (entry_of(d=dict[str, int]), '{"d": {"a": 1, "a": 2}}'),
        (entry_of(d=dict[str, Any]), '{"d": {"a": {"b": 1, "b": 2}}}'),
        (entry_of(d=list[dict[str, list[Item]]]), '{"d": [{"k": [{"name": "a", "name": "b"}]}]}'),
        (entry_of(p=Point), '{"p": {"x": 1, "y": 2, "x": 3}}'),
        (entry_of(m=Movie), '{"m": {"title": "a", "year": 2, "year": 3}}'),
        (entry_of(a=Any), '{"a": [{"b": 1, "b": 2}]}'),
        (entry_of(a=(str, ""), b=(str, "")), '{"a": ":", "a": ""}'),
        (entry_of(u=Item | Movie), '{"u": {"title": "a", "year": 2, "year": 3}}'),
    ],
)
def test_a_doubled_key_is_found_at_any_depth(entry: RegisteredTool[Any], raw: str) -> None:
    assert refused(entry, raw).code == "args.duplicate_key"


@pytest.mark.parametrize("annotation", [Any, dict[str, Any], list[Any], float, list[float], str | float])
def test_a_number_outside_a_double_is_refused_at_any_place(annotation: Any) -> None:
    wrap = {dict[str, Any]: '{"k": [1e400]}', list[Any]: "[[-1e400]]", list[float]: "[1e400]"}.get(
        annotation, "1e400"
    )
    assert refused(entry_of(x=annotation), f'{{"x": {wrap}}}').code in {"args.not_json", "args.invalid"}


def test_long_texts_that_look_like_numbers_pass() -> None:
    text = "9" * 400 + "e999"
    assert entry_of(x=str).parse(f'{{"x": "{text}: "}}')[0] == {"x": f"{text}: "}


def test_validators_of_the_author_run_and_are_not_bypassed() -> None:
    def upper(value: Any) -> Any:
        return value.upper() if isinstance(value, str) else value

    entry = entry_of(x=Annotated[str, BeforeValidator(upper)])
    assert entry.parse('{"x": "a"}')[0] == {"x": "A"}


def test_strict_reaches_nested_models() -> None:
    assert ORDER.parse('{"order": {"item": {"name": "a", "qty": "3"}}}')[2] is True
    assert refused(ORDER, '{"order": {"item": {"name": 5}}}').code == "args.invalid"


def test_an_error_names_every_place_and_stops_at_five() -> None:
    error = refused(entry_of(**{f"p{number}": int for number in range(8)}), "{}")
    assert str(error).count("is missing") == 5
    assert "and 3 more" in str(error)
    assert error.code == "args.missing"


def test_defaults_are_filled_in() -> None:
    entry = entry_of(a=int, b=(int, 5), c=(str | None, None))
    assert entry.parse('{"a": 1}')[0] == {"a": 1, "b": 5, "c": None}
    assert entry.parse('{"a": 1, "c": "x"}')[0] == {"a": 1, "b": 5, "c": "x"}


def test_two_spellings_of_one_key_are_refused() -> None:
    small, large = "123e4567-e89b-12d3-a456-426614174000", "123E4567-e89b-12d3-a456-426614174000"
    error = refused(entry_of(d=dict[uuid.UUID, int]), json.dumps({"d": {small: 1, large: 2}}))
    assert "is there twice" in str(error)


def test_a_validator_of_the_author_that_fails_is_an_error_of_ours() -> None:
    def broken(value: Any) -> Any:
        return value["nothing"]

    error = refused(entry_of(x=Annotated[str, BeforeValidator(broken)]), '{"x": "a"}')
    assert error.code == "args.invalid"
    assert "a validator of the tool failed: TypeError" in str(error)
    assert isinstance(error.__cause__, TypeError)


def test_branches_of_a_union_are_told_as_one_sentence_at_the_real_place() -> None:
    error = refused(entry_of(x=list[int | Literal["auto"]]), '{"x": ["x"]}')
    assert str(error) == "x.0: Input should be a valid integer or 'auto'"


def objects(number: int) -> dict[str, int]:
    return {f"k{each}": 1 for each in range(number)}


@pytest.mark.parametrize(
    ("entry", "given", "text"),
    [
        (entry_of(x=list[int]), ["a"] * 300_000, "x.0: Input should be a valid integer"),
        (entry_of(x=list[int]), ["12"] * 300_000, "x.0: Input should be a valid integer"),
        (entry_of(x=list[int]), json.dumps([1] * 300_000), "x: Input should be a valid array"),
        (entry_of(x=tuple[int, ...]), [*range(200_000), "a"], "x.200000: Input should be a valid integer"),
        (entry_of(x=set[int]), ["a"] * 300_000, "x.0: Input should be a valid integer"),
        (
            entry_of(x=list[Item]),
            [{"nam": 1}] * 100_000,
            "x.0.name: is missing; x.0.nam: there is no such field",
        ),
        (entry_of(x=list[Literal[1, 2]]), ["a"] * 300_000, "x.0: Input should be one of 1, 2"),
        (entry_of(x=dict[str, bool]), objects(100_000), "x.k0: Input should be a valid boolean"),
        (entry_of(x=Item), objects(100_000), "the arguments are wrong in 100001 places"),
        (entry_of(x=list[int]), ["a"] * 10_000, "x.0: Input should be a valid integer"),
    ],
)
def test_a_flood_of_mistakes_is_refused_by_the_first_of_them(
    entry: RegisteredTool[Any], given: Any, text: str
) -> None:
    error = refused(entry, json.dumps({"x": given}))
    assert str(error) == text
    assert error.code.startswith("args.")


def test_a_flood_of_unknown_arguments_is_not_listed() -> None:
    assert str(refused(NUMBER, objects(100_000))) == "the arguments are wrong in 100000 places"
    long = refused(entry_of(n=int, m=Item), json.dumps({"k" * 3_000_000: 1, "n": 1, "m": {"name": "a"}}))
    assert (long.code, long.hint) == ("args.unknown", "legal here: n, m")
    assert len(str(long)) < 200


def test_a_flood_of_mistakes_does_not_hold_up_the_event_loop() -> None:
    start = time.process_time()
    refused(entry_of(x=list[int]), json.dumps({"x": ["a"] * 600_000}))
    assert time.process_time() - start < 2  # 0.1 s on an idle machine, and 10 s if each one is told


def test_of_five_thousand_values_every_mistake_is_looked_at() -> None:
    entry = entry_of(x=list[int])
    made, _, repaired = entry.parse(json.dumps({"x": ["12"] * 4_999}))
    assert (made["x"], repaired) == ([12] * 4_999, True)
    assert entry.parse(json.dumps({"x": [3.0] * 4_999}))[2] is False
    assert refused(entry, json.dumps({"x": ["12"] * 5_000})).code == "args.invalid"
    assert entry.parse(json.dumps({"x": [12] * 5_000}))[2] is False


def test_a_clear_spelling_is_read_only_where_it_is_the_only_meaning() -> None:
    naive = entry_of(at=dt.datetime).parse('{"at": "2024-05-31 10:00"}')
    assert naive == ({"at": dt.datetime(2024, 5, 31, 10, 0)}, '{"at": "2024-05-31 10:00"}', True)  # noqa: DTZ001
    assert entry_of(x=dt.date | int).parse('{"x": "5"}') == ({"x": 5}, '{"x": 5}', True)
    assert refused(entry_of(at=dt.datetime), '{"at": "tomorrow"}').code == "args.invalid"
    assert refused(entry_of(at=dt.datetime), '{"at": "1717149600"}').code == "args.invalid"
    spelled = entry_of(x=uuid.UUID, y=dt.timedelta).parse(
        '{"x": "123e4567e89b12d3a456426614174000", "y": "1 day, 01:30:00"}'
    )
    assert spelled[0] == {
        "x": uuid.UUID("123e4567-e89b-12d3-a456-426614174000"),
        "y": dt.timedelta(days=1, hours=1, minutes=30),
    }
    assert spelled[2]


@dataclasses.dataclass
class Sized:
    name: str
    given: dataclasses.InitVar[list[Item]]
    count: int = dataclasses.field(init=False, default=0)

    def __post_init__(self, given: list[Item]) -> None:
        self.count = len(given)


@dataclasses.dataclass
class Forgetful:
    name: str
    given: dataclasses.InitVar[list[Item]]


def test_values_that_exist_only_while_an_object_is_made_are_counted_as_well() -> None:
    entry = entry_of(x=Sized)
    assert entry.parse('{"x": {"name": "a", "given": [{"name": "b"}]}}')[0]["x"].count == 1
    for each in (entry, entry_of(x=Forgetful)):
        doubled = refused(each, '{"x": {"name": "a", "given": [{"name": "b", "name": "c"}]}}')
        assert doubled.code == "args.duplicate_key"
    assert refused(entry, '{"x": {"name": "a", "given": [], "count": 1}}').code == "args.unknown"
