"""The types of docs/types.md, each with JSON texts around the border of what it accepts."""

import dataclasses
import datetime as dt
import enum
import pathlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypedDict, Union

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, NaiveDatetime, model_validator


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    ONE = 1
    WORD = "word"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Movie(TypedDict):
    title: str
    year: int


class Partial(TypedDict, total=False):
    title: str
    tags: list[str]


class Item(BaseModel):
    name: str
    qty: int = 1


class Basket(BaseModel):
    items: list[Item]
    by_name: dict[str, Item] = {}


class Tree(BaseModel):
    label: str
    children: list["Tree"] = []


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    x: int


class Renamed(BaseModel):
    from_: int = Field(alias="from")


class Pair(NamedTuple):
    left: int
    right: str


class Triple(NamedTuple):
    x: int
    y: Item | None = None
    z: tuple[int, ...] = ()


class ByName(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    from_: int = Field(alias="from")


class Before(BaseModel):
    x: tuple[int, ...] = ()
    y: set[int] = set()
    tags: list[dt.date] = []

    @model_validator(mode="before")
    @classmethod
    def unchanged(cls, value: Any) -> Any:
        return value


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


# The rows of the table in docs/types.md: the name there, and the annotations that stand for it.
TYPES: dict[str, list[Any]] = {
    "int": [int, Annotated[int, Field(ge=0, lt=10)], Annotated[int, Field(gt=-5)]],
    "float": [float, Annotated[float, Field(gt=0, le=1)]],
    "str": [
        str,
        Annotated[str, Field(min_length=2, max_length=4)],
        Annotated[str, Field(pattern="^[a-z]+$")],
    ],
    "bool": [bool],
    "None": [None],
    "bytes": [bytes],
    "Path": [pathlib.Path],
    "Decimal": [Decimal],
    "datetime": [dt.datetime, AwareDatetime],
    "NaiveDatetime": [NaiveDatetime],
    "date": [dt.date],
    "time": [dt.time],
    "timedelta": [dt.timedelta],
    "UUID": [uuid.UUID],
    "Literal": [Literal["a", "b"], Literal[1, 2], Literal[True], Literal[1, "a"] | None, Literal[True, 3]],
    "Enum": [Colour, Level, Mixed],
    "list": [
        list[int],
        list[str],
        Sequence[int],
        Iterable[int],
        Annotated[list[int], Field(min_length=1, max_length=3)],
    ],
    "tuple": [tuple[int, ...], tuple[int, str]],
    "set": [set[int], frozenset[str], Annotated[set[str], Field(max_length=2)]],
    "dict": [dict[str, int], Mapping[str, list[int]], dict[Colour, int], dict[Literal["k", "l"], bool], dict],
    "dict with other keys": [
        dict[int, str],
        dict[dt.date, int],
        dict[uuid.UUID, int],
        dict[Annotated[str, Field(pattern="^[a-z]+$")], int],
        dict[Annotated[str, Field(min_length=2)], Any],
        Annotated[dict[str, int], Field(max_length=1)],
    ],
    "Optional and unions": [
        Optional[int],  # noqa: UP045 - the case
        int | None,
        Union[int, str],  # noqa: UP007 - the case
        int | bool,
        int | float,
        list[int] | dict[str, int],
        Colour | None,
        Item | list[Item],
        dt.date | int,
    ],
    "tagged unions": [Annotated[Cat | Dog, Field(discriminator="kind")]],
    "dataclass": [Point],
    "TypedDict": [Movie, Partial],
    "NamedTuple": [Pair, Triple],
    "Pydantic model": [Item, Basket, Open, Renamed, ByName, Before],
    "recursive model": [Tree],
    "Any": [Any],
    "JsonValue": [JsonValue, dict[str, JsonValue]],
}
