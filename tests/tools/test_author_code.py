"""The tool author's own code, where it fails: validators, defaults, classes of results."""

import enum
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, BeforeValidator, Field, GetCoreSchemaHandler, computed_field, model_serializer

from callboard.errors import InvalidArguments, InvalidResult, RegistrationError
from callboard.tools import RegisteredTool, registered, tool


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even a message")


def raising(failure: Exception) -> Callable[..., Any]:
    def fail(_: Any = None) -> Any:
        raise failure

    return fail


def taking(annotation: Any) -> RegisteredTool[Any]:
    def probe(x: Any) -> None: ...

    probe.__annotations__ = {"x": annotation}
    return registered(tool(probe))


def giving(annotation: Any) -> RegisteredTool[Any]:
    def probe() -> Any: ...

    probe.__annotations__ = {"return": annotation}
    return registered(tool(probe))


@pytest.mark.parametrize(
    "failure",
    [KeyError("k"), TypeError("t"), ZeroDivisionError(), RecursionError(), StopIteration(), Unspeakable()],
    ids=repr,
)
def test_a_validator_that_fails_refuses_the_arguments_and_is_the_cause(failure: Exception) -> None:
    for annotation in (
        Annotated[int, BeforeValidator(raising(failure))],
        list[Annotated[int, BeforeValidator(raising(failure))]],
    ):
        with pytest.raises(InvalidArguments, match=type(failure).__name__) as caught:
            taking(annotation).parse('{"x": [1]}')
        assert caught.value.code == "args.invalid"
        assert caught.value.__cause__ is failure


def test_a_default_factory_that_fails_refuses_the_arguments() -> None:
    failure = KeyError("home")

    def probe(x: Annotated[int, Field(default_factory=raising(failure))]) -> None: ...

    for raw in ("{}", "", None):
        with pytest.raises(
            InvalidArguments, match="a default_factory of the tool failed: KeyError: 'home'"
        ) as caught:
            registered(tool(probe)).parse(raw)
        assert caught.value.__cause__ is failure
    assert registered(tool(probe)).parse('{"x": 1}')[0] == {"x": 1}


class Uncopied:
    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, _: Any) -> Any:
        raise TypeError("there is only one")


def test_a_default_that_no_two_calls_can_have_is_refused_at_registration() -> None:
    def probe(x: Any = Uncopied()) -> None: ...  # noqa: B008

    with pytest.raises(RegistrationError, match="parameter 'x': its default can't be copied"):
        registered(tool(probe))


def test_a_default_that_a_call_could_change_is_its_own() -> None:
    class Settings(BaseModel):
        names: list[str] = []

        def __hash__(self) -> int:
            return 1

    def probe(x: Settings = Settings(), y: list[int] = [1]) -> None: ...  # noqa: B006, B008

    entry = registered(tool(probe))
    first, second = entry.parse("{}")[0], entry.parse("")[0]
    first["x"].names.append("a")
    first["y"].append(2)
    assert second == entry.parse("{}")[0] == {"x": Settings(), "y": [1]}


class Lonely(enum.Enum):
    A = 1


Lonely.A._value_ = Lonely.A


class BadItems(dict[str, int]):
    def items(self) -> Any:
        raise KeyError("items")


class NoPairs(dict[str, int]):
    def items(self) -> Any:
        return [(1, 2, 3)]


class BadList(list[int]):
    def __iter__(self) -> Any:
        raise KeyError("iter")


class NoClass:
    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise KeyError("class")


class Liar:
    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return dict


class BadSerialiser(BaseModel):
    a: int = 1

    @model_serializer
    def written(self) -> Any:
        raise KeyError("serialiser")


class BadField(BaseModel):
    @computed_field
    @property
    def total(self) -> int:
        raise KeyError("total")


@pytest.mark.covers("B56")
@pytest.mark.parametrize(
    "make",
    [
        lambda: Lonely.A,
        lambda: BadItems(a=1),
        lambda: NoPairs(a=1),
        lambda: BadList([1]),
        NoClass,
        Liar,
        BadSerialiser,
        BadField,
    ],
)
@pytest.mark.parametrize("declared", [Any, list[Any], int, dict[str, int], str | None])
def test_a_result_whose_own_code_fails_is_refused(make: Callable[[], Any], declared: Any) -> None:
    entry = giving(declared)
    value = make()
    for result in (value, [value], {"k": value}):
        with pytest.raises(InvalidResult, match="tool 'probe' returned"):
            entry.finish(result)


@pytest.mark.covers("B56")
@pytest.mark.parametrize("kind", [BadSerialiser, BadField])
def test_a_declared_result_whose_own_code_fails_is_unserialisable(kind: type[BaseModel]) -> None:
    with pytest.raises(InvalidResult) as caught:
        giving(kind).finish(kind())
    assert caught.value.code == "result.unserialisable"


def test_a_failing_class_is_the_cause_of_the_error() -> None:
    with pytest.raises(InvalidResult, match="can't be read: KeyError: 'items'") as caught:
        giving(Any).finish(BadItems(a=1))
    assert caught.value.code == "result.unserialisable"
    assert isinstance(caught.value.__cause__, KeyError)


class NoSchema:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> Any:
        raise KeyError("schema")


def test_a_type_whose_schema_fails_is_refused_at_registration() -> None:
    with pytest.raises(RegistrationError, match="tool 'probe', parameter 'x': KeyError: 'schema'"):
        taking(list[NoSchema])
    with pytest.raises(RegistrationError, match="tool 'probe', its result: KeyError: 'schema'"):
        giving(NoSchema)
