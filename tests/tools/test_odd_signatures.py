"""Signatures, wrappers and types as authors really write them."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import asyncio
import dataclasses
import datetime as dt
import enum
import functools
import json
from collections.abc import Callable
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, TypedDict, TypeVar, overload

import pytest
from pydantic import BaseModel, Discriminator, Field, RootModel, SecretStr, Tag
from typing_extensions import TypeAliasType

from callboard.errors import InvalidArguments, RegistrationError
from callboard.registry import ToolRegistry
from callboard.tools import RegisteredTool, export, registered, tool
from callboard.types import ToolContext

T = TypeVar("T")


def taking(annotation: Any) -> RegisteredTool[Any]:
    """A tool that gives back its one parameter."""

    def probe(x: Any) -> Any:
        return x

    probe.__annotations__ = {"x": annotation, "return": annotation}
    return registered(tool(probe))


def accepted(entry: RegisteredTool[Any], raw: str) -> bool:
    """Whether it is accepted as it stands."""
    try:
        return not entry.parse(raw)[2]
    except InvalidArguments:
        return False


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


async def fetch(url: str) -> str:
    await asyncio.sleep(0)
    return f"got {url}"


def count(to: int) -> Any:
    yield from range(to)


async def test_plain_wrappers_of_coroutines_and_generators_run_to_their_end() -> None:
    registry = ToolRegistry()
    registry.register_all([tool(logged(fetch)), tool(logged(logged(count)))])
    assert (await registry.invoke_async("fetch", {"url": "x"})).value == "got x"
    assert (await registry.invoke_async("count", {"to": 3})).value == 2


async def test_a_wrapper_that_has_waited_itself_gives_the_result() -> None:
    @functools.wraps(fetch)
    def known(url: str) -> str:
        return f"known {url}"

    registry = ToolRegistry()
    registry.register(tool(known))
    assert (await registry.invoke_async("fetch", {"url": "x"})).value == "known x"


@pytest.mark.covers("B13")
def test_a_wrapper_that_cannot_take_what_it_says_is_refused_at_registration() -> None:
    @functools.wraps(fetch)
    def other(address: str) -> str:
        return address

    with pytest.raises(RegistrationError, match="the wrapper of its function has another signature"):
        registered(tool(other))


def test_a_context_without_a_name_is_filled_wherever_it_stands() -> None:
    def last(a: int, ctx: ToolContext | None, /, b: int = 2) -> list[Any]:
        return [a, ctx, b]

    def first(ctx: ToolContext | None, a: int, /) -> list[Any]:
        return [a, ctx]

    assert registered(tool(last)).run({"a": 1, "b": 2}, None) == [1, None, 2]
    assert registered(tool(first)).run({"a": 1}, None) == [1, None]


def test_parameters_may_have_any_name() -> None:
    def probe(
        ctx: int, context: int, abort: int, here: ToolContext | None, arguments: int, raw: int = 5
    ) -> list[Any]:
        return [ctx, context, abort, here, arguments, raw]

    entry = registered(tool(probe))
    value = entry.parse('{"ctx": 1, "context": 2, "abort": 3, "arguments": 4}')[0]
    assert entry.run(value, None) == [1, 2, 3, None, 4, 5]


@overload
def either(x: int) -> int: ...
@overload
def either(x: str) -> str: ...
def either(x: Any) -> Any:
    return x


def test_of_an_overloaded_function_the_one_that_runs_counts() -> None:
    entry = registered(tool(either))
    assert entry.input_schema["properties"] == {"x": {}}
    assert entry.run(entry.parse('{"x": "a"}')[0], None) == "a"


class Colour(enum.Enum):
    RED = 1
    CRIMSON = 1  # noqa: PIE796 - another name of the same colour
    BLUE = "b"


class Corner(enum.Enum):
    HERE = (1, 2)
    THERE = (3, 4)


class Day(enum.Enum):
    FIRST = dt.date(2024, 1, 1)


class Level(enum.IntEnum):
    LOW = 1


@pytest.mark.covers("B11")
@pytest.mark.parametrize(
    ("annotation", "raw", "value"),
    [
        (Colour, "1", Colour.RED),
        (Colour, '"b"', Colour.BLUE),
        (Corner, "[1, 2]", Corner.HERE),
        (Day, '"2024-01-01"', Day.FIRST),
        (Literal[Level.LOW, "x"], "1", Level.LOW),
        (Literal[Colour.BLUE], '"b"', Colour.BLUE),
        (Literal["x", None], "null", None),  # noqa: PYI061 - the case
        (Level, "1.0", Level.LOW),
    ],
)
def test_a_choice_travels_as_its_published_form_and_arrives_as_itself(
    annotation: Any, raw: str, value: Any
) -> None:
    entry = taking(annotation)
    made = entry.parse(f'{{"x": {raw}}}')[0]["x"]
    assert made == value
    assert type(made) is type(value)
    for wrong in ('"1"', "true", "3", '"z"', "[2, 1]"):
        assert not accepted(entry, f'{{"x": {wrong}}}')


def test_a_second_name_of_a_choice_is_not_published_twice() -> None:
    assert taking(Colour).input_schema["$defs"]["Colour"]["enum"] == [1, "b"]
    assert taking(Literal[1, True, 1]).input_schema["properties"]["x"]["enum"] == [1, True]  # noqa: PYI062


def test_a_choice_that_is_no_json_is_refused_at_registration() -> None:
    made = enum.Enum("made", {"A": object()})
    with pytest.raises(RegistrationError, match="parameter 'x': object has no JSON form"):
        taking(made)


@dataclasses.dataclass
class Sized:
    name: str
    limit: dataclasses.InitVar[int] = 3
    size: int = dataclasses.field(init=False, default=0)


@pytest.mark.covers("B11")
def test_what_a_dataclass_sets_itself_is_no_argument_but_stands_in_the_result() -> None:
    entry = taking(Sized)
    assert list(entry.input_schema["$defs"]["Sized"]["properties"]) == ["name", "limit"]
    assert entry.output_schema is not None
    assert list(entry.output_schema["properties"]) == ["name", "size"]
    assert not accepted(entry, '{"x": {"name": "a", "size": 1}}')


class Film(TypedDict):
    title: str


class Films(TypedDict, total=False):
    films: list[Film]


def test_results_may_be_typed_dicts_of_either_module() -> None:
    entry = taking(Films)
    assert entry.output_schema is not None
    assert entry.finish({"films": [{"title": "a"}]})[1] == '{"films":[{"title":"a"}]}'


class Loop(TypedDict):
    inner: "Loop"


def test_a_type_that_cannot_be_read_is_refused_by_tool_and_place() -> None:
    def probe(x: Loop) -> None: ...

    def result() -> Loop: ...

    with pytest.raises(RegistrationError, match="tool 'probe', parameter 'x': Loop contains itself"):
        registered(tool(probe))
    with pytest.raises(RegistrationError, match="tool 'result', its result: Loop contains itself"):
        registered(tool(result))


def _add_a_set(schema: dict[str, Any]) -> None:
    schema["seen"] = {1, 2}


def test_what_a_field_adds_to_the_schema_is_published() -> None:
    def probe(
        a: Annotated[int, Field(json_schema_extra={"x-unit": "m"}, deprecated=True)],
        b: Annotated[int, Field(json_schema_extra=lambda schema: schema.update({"x-unit": "s"}), title="B")],
    ) -> None: ...

    shown = registered(tool(probe)).input_schema["properties"]
    assert shown["a"] == {"type": "integer", "x-unit": "m", "deprecated": True}
    assert shown["b"] == {"type": "integer", "x-unit": "s", "title": "B"}


@pytest.mark.covers("B08", "B34")
@pytest.mark.parametrize(
    "odd",
    [
        Annotated[int, Field(json_schema_extra=_add_a_set)],
        Annotated[int, Field(examples=[object()])],
        Annotated[int, Field(examples=[float("nan")])],
        Annotated[int, Field(description="half \ud800")],
    ],
)
def test_a_schema_that_is_no_json_leaves_out_that_tool_only(odd: Any) -> None:
    def fine(a: int) -> int:
        return a

    def probe(x: int) -> None: ...

    probe.__annotations__["x"] = odd
    bad = registered(tool(probe))
    made = export([bad, registered(tool(fine))], "openai")
    assert [each["function"]["name"] for each in made.definitions] == ["fine"]
    assert [(left.tool_id, left.code) for left in made.left_out] == [("probe", "schema.unpublishable")]
    assert bad.parse('{"x": 1}')[0] == {"x": 1}


def test_defaults_that_are_no_json_are_not_published_and_are_given() -> None:
    mark = object()

    def probe(
        a: Any = mark, b: float = float("nan"), c: str = "\ud800", d: dt.date = dt.date(2024, 1, 1)
    ) -> None: ...

    entry = registered(tool(probe))
    shown = entry.input_schema["properties"]
    json.dumps(entry.input_schema, allow_nan=False).encode()
    assert [name for name, schema in shown.items() if "default" in schema] == ["d"]
    assert entry.parse("{}")[0]["a"] is mark


UserId = NewType("UserId", int)
Numbers = TypeAliasType("Numbers", list[int])
ByName = TypeAliasType("ByName", dict[str, T], type_params=(T,))
Tree = TypeAliasType("Tree", "int | list[Tree]")


class Page(BaseModel, Generic[T]):
    items: list[T]
    next: "Page[T] | None" = None


class Cat(BaseModel):
    kind: Literal["cat"]
    meow: int = 1


class Dog(BaseModel):
    kind: Literal["dog", "hound"]


def tag_of(value: Any) -> str:
    return "cat" if isinstance(value, dict) and "meow" in value else "dog"


class Pair(NamedTuple):
    a: int
    b: str = "x"


class Names(RootModel[list[str]]): ...


@pytest.mark.covers("B11", "B21")
@pytest.mark.parametrize(
    ("annotation", "good", "bad", "repaired"),
    [
        (UserId, "1", "[1]", '"1"'),
        (Numbers, "[1]", '["a"]', '"[1]"'),
        (ByName[int], '{"a": 1}', '{"a": "x"}', '{"a": "1"}'),
        (Tree, "[[1], 2]", '["a"]', "[]"),
        (Page[int], '{"items": [1], "next": {"items": []}}', '{"items": [], "nxt": 1}', '{"items": ["1"]}'),
        (
            Annotated[Cat | Dog, Field(discriminator="kind")],
            '{"kind": "hound"}',
            '{"kind": "dog", "meow": 1}',
            '"{\\"kind\\": \\"dog\\"}"',
        ),
        (
            Annotated[Annotated[Cat, Tag("cat")] | Annotated[Dog, Tag("dog")], Discriminator(tag_of)],
            '{"kind": "cat", "meow": 1}',
            '{"kind": "cat", "meo": 1}',
            '{"kind": "cat", "meow": "1"}',
        ),
        (Pair, '[1, "y"]', '{"a": 1}', '["1"]'),
        (Names, '["a"]', "[1]", '"[\\"a\\"]"'),
        (SecretStr, '"x"', "1", '"x"'),
        (Annotated[Annotated[int, Field(ge=1)], Field(le=5)], "5", "6", '"5"'),
    ],
)
def test_types_of_every_make_are_read_refused_and_repaired(
    annotation: Any, good: str, bad: str, repaired: str
) -> None:
    entry = taking(annotation)
    assert accepted(entry, f'{{"x": {good}}}')
    assert entry.parse(f'{{"x": {repaired}}}')[0]
    with pytest.raises(InvalidArguments):
        entry.parse(f'{{"x": {bad}}}')
