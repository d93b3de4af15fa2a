"""From what a tool returned to its value, its JSON text and what the model sees."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import asyncio
import dataclasses
import datetime as dt
import enum
import json
import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NewType

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypeAliasType, TypedDict

from callboard.conversation import Audio, Image, Resource, Text, part_from_json
from callboard.errors import InvalidResult
from callboard.tools import RegisteredTool, registered, tool


class Unset: ...


def returning(annotation: Any = Unset) -> RegisteredTool[Any]:
    def probe(value: Any): ...

    if annotation is not Unset:
        probe.__annotations__["return"] = annotation
    return registered(tool(probe))


UNDECLARED = returning()
Picture = TypeAliasType("Picture", Image)
Photo = NewType("Photo", Image)


class Screenshot(Image): ...


def refused(entry: RegisteredTool[Any], value: Any) -> InvalidResult:
    with pytest.raises(InvalidResult) as caught:
        entry.finish(value)
    return caught.value


class Node(BaseModel):
    kids: list["Node"] = []


class Price(BaseModel):
    amount: Decimal
    when: dt.date
    ratio: float = 0.5


class Renamed(BaseModel):
    from_: int = Field(serialization_alias="from")


@dataclasses.dataclass
class Point:
    x: int
    y: float


class Row(TypedDict):
    a: int


class Colour(enum.Enum):
    RED = "red"


PNG = Image(b"\x89PNG", "image/png")


@pytest.mark.parametrize(
    ("annotation", "value", "text"),
    [
        (int, 3, "3"),
        (int, 10**40, "1" + "0" * 40),
        (bool, True, "true"),
        (None, None, "null"),
        (float, 1.0, "1.0"),
        (float, 3, "3.0"),
        (float, -0.0, "-0.0"),
        (list[int], [1, 2], "[1,2]"),
        (list[int], (1, 2), "[1,2]"),
        (Decimal, Decimal("1.10"), '"1.10"'),
        (dt.datetime, dt.datetime(2024, 5, 31, tzinfo=dt.UTC), '"2024-05-31T00:00:00Z"'),
        (uuid.UUID, uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (Colour, Colour.RED, '"red"'),
        (
            Price,
            Price(amount=Decimal(1), when=dt.date(2024, 1, 2)),
            '{"amount":"1","when":"2024-01-02","ratio":0.5}',
        ),
        (Price, {"amount": "1", "when": "2024-01-02"}, '{"amount":"1","when":"2024-01-02","ratio":0.5}'),
        (Renamed, Renamed(from_=1), '{"from":1}'),
        (Point, Point(1, 2.5), '{"x":1,"y":2.5}'),
        (Row, {"a": 1}, '{"a":1}'),
        (dict[str, float], {"a": 1.5}, '{"a":1.5}'),
        (set[int], {3}, "[3]"),
        (int | None, None, "null"),
    ],
)
def test_a_declared_result_is_serialised_by_its_type(annotation: Any, value: Any, text: str) -> None:
    entry = returning(annotation)
    made, written, content = entry.finish(value)
    assert written == text
    assert content == (made if isinstance(made, str) else text)


@pytest.mark.parametrize("annotation", [Unset, str, Any])
def test_a_text_is_shown_as_text_and_recorded_as_json(annotation: Any) -> None:
    assert returning(annotation).finish('say "hi"') == ('say "hi"', '"say \\"hi\\""', 'say "hi"')


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, 2.5, None, True, "x"]}, '{"a":[1,2.5,null,true,"x"]}'),
        ([(1, 2), ()], "[[1,2],[]]"),
        (OrderedDict(a=1), '{"a":1}'),
        (Node(kids=[Node()]), '{"kids":[{"kids":[]}]}'),
        ([Point(1, 2.5), Node()], '[{"x":1,"y":2.5},{"kids":[]}]'),
        (
            {"when": Price(amount=Decimal("1.10"), when=dt.date(2024, 1, 2))},
            '{"when":{"amount":"1.10","when":"2024-01-02","ratio":0.5}}',
        ),
        ({"c": Colour.RED}, '{"c":"red"}'),
    ],
)
def test_an_undeclared_result_may_hold_json_and_what_knows_its_own_fields(value: Any, text: str) -> None:
    assert UNDECLARED.finish(value)[1] == text


def generator() -> Iterator[int]:
    yield 1


def loop() -> list[Any]:
    items: list[Any] = [1]
    items.append({"again": items})
    return items


def deep(levels: int) -> Any:
    made: Any = 1
    for _ in range(levels):
        made = [made]
    return made


@dataclasses.dataclass
class Holder:
    inner: Any


class Loose(BaseModel):
    model_config = {"arbitrary_types_allowed": True}
    inner: Any
    ratio: float = 0.0


@pytest.mark.covers("B56")
@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        (dict, "$", "the class dict"),
        (ValueError("x"), "$", "ValueError"),
        (generator(), "$", "generator"),
        (threading.Lock(), "$", "lock"),
        ({1, 2}, "$", "set"),
        (b"bytes", "$", "bytes"),
        (len, "$", "builtin_function_or_method"),
        (1j, "$", "complex"),
        (Decimal(1), "$", "Decimal"),
        (dt.date(2024, 1, 1), "$", "date"),
        (object(), "$", "object"),
        ({"a": [1, {"b": object()}]}, "$.a[1].b", "object"),
        (float("nan"), "$", "nan"),
        ({"a": [float("inf")]}, "$.a[0]", "inf"),
        ({1: 1, "1": 2}, "$", "a key is int"),
        ({"a": {None: 1}}, "$.a", "a key is NoneType"),
        (loop(), "$[1].again", "contains itself"),
        (deep(500), "$[0]", "more than 200 levels"),
        ("\ud800", "$", "surrogate"),
        ({"\ud800": 1}, "$", "surrogate"),
        (Holder(object()), "$", "Holder"),
        ([Holder({1: 2, "1": 3})], "$[0].inner", "two keys"),
        (Loose(inner=1, ratio=float("nan")), "$.ratio", "nan"),
        ([Loose(inner=[float("inf")])], "$[0].inner[0]", "inf"),
        (Loose(inner=threading.Lock()), "$", "Loose"),
    ],
)
def test_what_json_cannot_carry_is_refused_with_its_path(value: Any, path: str, reason: str) -> None:
    error = refused(UNDECLARED, value)
    assert error.code == "result.unserialisable"
    assert f"at {path}" in str(error)
    assert reason in str(error)
    assert "'probe'" in str(error)


@pytest.mark.covers("B56")
@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (float, float("nan")),
        (list[float], [1.0, float("inf")]),
        (Price, Price.model_construct(amount=Decimal(1), when=dt.date(2024, 1, 2), ratio=float("nan"))),
        (dict[str, Any], {"a": object()}),
        (dict[Any, Any], {1: 1, "1": 2}),
        (Loose, Loose(inner=[float("nan")])),
        (str, "\ud800"),
        (list[str], ["\ud800"]),
        (bytes, b"\xff"),
        (Any, {1, 2}),
    ],
)
def test_a_declared_result_that_json_cannot_carry_is_refused_too(annotation: Any, value: Any) -> None:
    assert refused(returning(annotation), value).code == "result.unserialisable"


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, "12"),
        (int, True),
        (int, 1.0),
        (str, 3),
        (bool, 1),
        (None, 0),
        (list[int], ["1"]),
        (Price, {"amount": "x"}),
        (Point, Node()),
    ],
)
def test_a_result_that_is_not_what_was_declared_is_refused(annotation: Any, value: Any) -> None:
    error = refused(returning(annotation), value)
    assert error.code == "result.invalid"
    assert "'probe'" in str(error)


@pytest.mark.covers("B27")
@pytest.mark.parametrize("annotation", [Unset, int, Any, int | str])
@pytest.mark.parametrize("number", [9007199254740993, 1915883588174806058, -(2**70)])
def test_large_integers_are_returned_exactly(annotation: Any, number: int) -> None:
    assert returning(annotation).finish(number) == (number, str(number), str(number))
    assert UNDECLARED.finish({"n": [number]})[1] == f'{{"n":[{number}]}}'


@pytest.mark.covers("B61")
@pytest.mark.parametrize(
    "annotation",
    [Unset, Any, Image, Image | Text, list[Image | str], Photo, Picture, list[Picture], Screenshot],
)
def test_content_parts_stay_typed_and_in_order(annotation: Any) -> None:
    entry = returning(annotation)
    value, text, content = entry.finish(PNG)
    assert (value, content) == (PNG, (PNG,))
    assert part_from_json(json.loads(text)) == PNG
    parts: list[Any] = ["before", PNG, Text("after"), Audio(b"snd"), Resource("file:///a", text="x")]
    value, text, content = entry.finish(parts)
    assert value == parts
    assert content == (Text("before"), *parts[1:])
    assert [each if isinstance(each, str) else each["type"] for each in json.loads(text)] == [
        "before", "image", "text", "audio", "resource",
    ]  # fmt: skip


@pytest.mark.covers("B61")
@pytest.mark.parametrize("annotation", [Image, list[Picture], Photo | None])
def test_content_parts_are_not_published_as_a_json_result(annotation: Any) -> None:
    assert returning(annotation).output_schema is None


@pytest.mark.covers("B61")
def test_a_part_among_other_json_is_refused_with_what_to_do() -> None:
    error = refused(UNDECLARED, {"picture": PNG})
    assert "$.picture: Image stands alone or in a list of parts and texts" in str(error)
    assert refused(UNDECLARED, [PNG, 3]).code == "result.unserialisable"


def test_metadata_of_a_part_is_json_too() -> None:
    assert json.loads(UNDECLARED.finish(Text("x", metadata={"a": 1}))[1])["metadata"] == {"a": 1}
    assert refused(UNDECLARED, Text("x", metadata={"a": object()})).code == "result.unserialisable"


@pytest.mark.covers("B01", "B02")
def test_a_recursive_result_type_keeps_its_definitions() -> None:
    entry = returning(Node)
    assert entry.output_schema is not None
    assert entry.output_schema["$defs"]["Node"]["properties"]["kids"]["items"] == {"$ref": "#/$defs/Node"}
    tree = Node(kids=[Node(kids=[Node()])])
    assert entry.finish(tree) == (
        tree,
        '{"kids":[{"kids":[{"kids":[]}]}]}',
        '{"kids":[{"kids":[{"kids":[]}]}]}',
    )


Nested = TypeAliasType("Nested", "str | list[Nested]")


@pytest.mark.covers("B02")
def test_a_recursive_alias_that_is_no_object_is_validated_and_published() -> None:
    entry = returning(Nested)
    assert entry.finish(["a", ["b", []]])[1] == '["a",["b",[]]]'
    assert refused(entry, ["a", [3]]).code == "result.invalid"
    assert entry.output_schema is not None
    assert "$defs" in entry.output_schema


@pytest.mark.covers("B56")
@pytest.mark.parametrize("annotation", [Unset, int, Any, int | None])
def test_an_integer_that_no_reader_would_take_back_is_refused(annotation: Any) -> None:
    assert refused(returning(annotation), 10**5000).code == "result.unserialisable"
    assert "at $.a: an integer of more than 4300 digits" in str(refused(UNDECLARED, {"a": 10**5000}))


def test_a_declared_type_says_which_fields_are_returned() -> None:
    assert returning(Row).finish({"a": 1, "internal": object()})[:2] == ({"a": 1}, '{"a":1}')


def test_an_instance_that_holds_itself_is_refused() -> None:
    node = Node()
    node.kids.append(node)
    assert refused(returning(Node), node).code == "result.unserialisable"
    assert refused(UNDECLARED, node).code == "result.unserialisable"


def test_a_coroutine_that_nobody_awaited_is_no_result() -> None:
    async def later() -> None: ...

    made = later()
    assert refused(UNDECLARED, made).code == "result.unserialisable"
    asyncio.run(made)  # else Python warns that nobody awaited it
