"""Parameters that no model sees: found wherever a signature can say so, and published nowhere."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NewType, TypeVar

import pytest
from pydantic import BaseModel, Field, SecretStr
from pydantic_core import from_json
from typing_extensions import TypeAliasType

from callboard import Injected, ToolContext, ToolError, ToolRegistry, secret, tool
from callboard.errors import RegistrationError
from callboard.tools import Dialect
from callboard.types import ExecutionOptions
from tests.tools.marked_style import (
    Service,
    User,
    bare,
    by_position,
    plain,
    stacked,
    stepping,
    streaming,
    waiting,
)

TOKEN = "sk-0123456789abcdef"
Aliased = TypeAliasType("Aliased", Annotated[str, secret("STYLE_TOKEN")])
Named = NewType("Named", str)
T = TypeVar("T")


def text_in(raw: Any) -> Any:
    return raw["text"]


def told(text: str) -> dict[str, Any]:
    return {"text": text}


def unmarked(text: str, token: str) -> str:
    return text + token


def registry(*tools: Any, **options: Any) -> ToolRegistry:
    made: ToolRegistry = ToolRegistry(
        injected={"user": User("ada")},
        secrets=lambda name, _: TOKEN if name == "STYLE_TOKEN" else None,
        **options,
    )
    return made.register_all(tools)


TOOLS = [
    plain,
    waiting,
    stepping,
    streaming,
    by_position,
    stacked,
    Service().method,
    tool(name="partly", mode="read")(functools.partial(bare, token=secret("STYLE_TOKEN"))),
    tool(name="once_more", mode="read")(
        functools.partial(functools.partial(bare, token=secret("STYLE_TOKEN")), extra=2)
    ),
]


@pytest.mark.covers("B13")
@pytest.mark.parametrize("made", TOOLS, ids=lambda made: made.id)
async def test_every_kind_of_function_gets_what_it_marks(made: Any) -> None:
    result = await registry(made).invoke_async(made.id, {"text": "a"})

    assert result.value == ["a", "ada", len(TOKEN)]
    assert from_json(result.invocation.arguments or "") == {"text": "a"}


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "mcp", "gemini"])
def test_no_dialect_publishes_a_marked_parameter(dialect: Dialect) -> None:
    tools = registry(*TOOLS)

    export = tools.export(dialect)

    assert len(export.definitions) == len(TOOLS)
    for told in ("user", "token", "User", "STYLE_TOKEN", "secret"):
        assert told not in repr(export)
    for entry in tools.definitions:
        assert set(entry.parameters) <= {"text", "extra"}


@pytest.mark.parametrize("name", ["user", "token"])
def test_a_model_that_sends_a_marked_name_is_told_that_there_is_no_such_parameter(name: str) -> None:
    with pytest.raises(ToolError) as caught:
        registry(plain).invoke("plain", {"text": "a", name: "mine"})

    assert caught.value.code == "args.unknown"
    assert caught.value.invocation.arguments is None


def test_a_marked_parameter_may_be_an_alias_or_a_new_type_or_optional() -> None:
    @tool(mode="read")
    def f(
        a: Aliased,
        b: Annotated[Named, secret("STYLE_TOKEN")],
        c: Annotated[str | None, secret("NOT_THERE")] = None,
        d: Injected[User | None] = None,
        e: Annotated[str | None, secret("STYLE_TOKEN")] = None,
    ) -> list[Any]:
        return [a == b == e, c, d]

    assert registry(f).invoke("f").value == [True, None, None]


def test_a_context_stays_a_context_beside_marked_parameters() -> None:
    @tool(mode="read")
    def f(ctx: ToolContext, user: Injected[User]) -> list[Any]:
        return [type(ctx).__name__, user.name]

    assert registry(f).invoke("f").value == ["ToolContext", "ada"]


def test_a_schema_of_its_own_lists_what_the_model_fills_in() -> None:
    schema = {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    }

    @tool(mode="read", schema=schema)
    def f(text: str, token: Annotated[str, secret("STYLE_TOKEN")]) -> list[Any]:
        return [text, len(token)]

    assert registry(f).invoke("f", {"text": "a"}).value == ["a", len(TOKEN)]


def test_a_function_behind_its_own_parser_gets_what_it_marks() -> None:
    @tool(mode="read", parse_input=text_in)
    def f(text: str, token: Annotated[str, secret("STYLE_TOKEN")], user: Injected[User]) -> list[Any]:
        return [text, len(token), user.name]

    assert registry(f).invoke("f", {"text": "a"}).value == ["a", len(TOKEN), "ada"]


@dataclass
class Holder:
    token: Annotated[str, secret("STYLE_TOKEN")]


def inside_a_list(tokens: list[Annotated[str, secret("STYLE_TOKEN")]]) -> None: ...
def inside_a_dataclass(holder: Holder) -> None: ...
def inside_a_dict(users: dict[str, Injected[int]]) -> None: ...
def of_the_result() -> Annotated[str, secret("STYLE_TOKEN")]: ...
def twice(token: Annotated[str, secret("A"), secret("B")]) -> None: ...
def twice_by_default(token: Annotated[str, secret("A")] = secret("B")) -> None: ...
def both(token: Annotated[Injected[str], secret("A")]) -> None: ...
def in_a_field(token: str = Field(secret("A"))) -> None: ...
def beside_a_field(token: Annotated[str, secret("A")] = Field("x")) -> None: ...
def no_text(token: Annotated[SecretStr, secret("A")]) -> None: ...
def no_text_by_default(token: int = secret("A")) -> None: ...
def not_called(token: Annotated[str, secret]) -> None: ...
def not_subscripted(user: Annotated[int, Injected]) -> None: ...
def bound_by_position(token: str, text: str) -> None: ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (inside_a_list, "stands inside"),
        (inside_a_dataclass, "stands inside"),
        (inside_a_dict, "stands inside"),
        (of_the_result, "stands inside"),
        (twice, "more than once"),
        (twice_by_default, "more than once"),
        (both, "more than once"),
        (in_a_field, "no Field"),
        (beside_a_field, "no Field"),
        (no_text, "is a text"),
        (no_text_by_default, "is a text"),
        (not_called, "not complete"),
        (not_subscripted, "not complete"),
        (tool(name="f")(functools.partial(bound_by_position, secret("A"))), "by position"),
    ],
)
def test_a_mark_that_can_not_work_is_refused_at_registration(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(RegistrationError, match=said) as caught:
        ToolRegistry().register(function)

    assert caught.value.hint


def define_a_model() -> Any:
    class Model(BaseModel):
        token: Annotated[str, secret("STYLE_TOKEN")]

    return Model


def test_a_mark_in_a_model_is_refused_where_the_model_is_defined() -> None:
    with pytest.raises(RegistrationError, match="stands inside"):
        define_a_model()


@pytest.mark.parametrize("name", ["", "A B", "A=B", "A\n", 3, None])
def test_what_is_no_name_is_refused_where_it_is_written(name: Any) -> None:
    with pytest.raises(RegistrationError, match="name of a secret"):
        secret(name)


def test_tools_without_a_signature_get_nothing_and_are_told_so() -> None:
    def execute(value: Any, token: str = secret("A")) -> Any: ...
    def annotated(value: Any, user: "Injected[User]") -> Any: ...

    for function in (execute, annotated):
        plain_form = {
            "id": "f",
            "kind": "read",
            "parse_input": dict,
            "execute": function,
            "parse_output": dict,
        }
        with pytest.raises(RegistrationError, match="by position"):
            ToolRegistry().register(plain_form)
    with pytest.raises(RegistrationError, match="by position"):
        ToolRegistry().register(tool(parse_input=dict, simulate=execute)(bare))


def test_a_marked_parameter_is_filled_in_for_a_simulation_only_where_it_is_marked_again() -> None:
    asked: list[str] = []

    def resolve(name: str, _: object) -> str:
        asked.append(name)
        return TOKEN

    @tool(simulate=told)
    def quiet(text: str, token: Annotated[str, secret("A")]) -> dict[str, Any]: ...

    def simulated(text: str, key: Annotated[str, secret("B")], ctx: ToolContext) -> dict[str, Any]:
        return {"text": text, "length": len(key), "simulate": ctx.simulate}

    @tool(simulate=simulated)
    def open_one(text: str, token: Annotated[str, secret("A")]) -> dict[str, Any]: ...

    @tool
    def placeholder(text: str, token: Annotated[str, secret("A")]) -> dict[str, Any]: ...

    tools = ToolRegistry(secrets=resolve, execution=ExecutionOptions(simulate=True))
    tools.register_all([quiet, open_one, placeholder])

    assert tools.invoke("quiet", {"text": "a"}).value == {"text": "a"}
    assert tools.invoke("placeholder", {"text": "a"}).value["unvalidated"]
    assert asked == []
    assert tools.invoke("open_one", {"text": "a"}).value == {
        "text": "a",
        "length": len(TOKEN),
        "simulate": True,
    }
    assert asked == ["B"]


def test_a_simulation_can_not_take_the_tools_own_marked_parameter_unmarked() -> None:
    @tool(simulate=unmarked)
    def f(text: str, token: Annotated[str, secret("A")]) -> str: ...

    with pytest.raises(RegistrationError, match="takes 'token', which is no parameter"):
        ToolRegistry().register(f)
