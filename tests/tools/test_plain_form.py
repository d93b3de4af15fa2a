"""Seed 003's form of a tool: an object or mapping with id, kind, parsers and execute."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import asyncio
from dataclasses import FrozenInstanceError, dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from callboard.errors import InvalidArguments, InvalidResult, RegistrationError, ToolError
from callboard.tools import RegisteredTool, export, registered, tool
from callboard.tools.limits import Places, Turn
from callboard.types import ToolContext


def need_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("需要对象")
    return {}


def need_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("需要文本")
    return value


def status(**changes: Any) -> dict[str, Any]:
    fields = {
        "id": "get_status",
        "kind": "read",
        "description": "读取演示服务状态",
        "parse_input": need_object,
        "execute": lambda: "服务运行正常",
        "parse_output": need_text,
    }
    return {name: value for name, value in {**fields, **changes}.items() if value is not None}


def call(entry: RegisteredTool[Any], raw: Any) -> Any:
    return entry.finish(entry.run(entry.parse(raw)[0], None))


@pytest.mark.covers("S3-062", "S3-075", "S3-077")
@pytest.mark.parametrize("form", [dict, lambda fields: SimpleNamespace(**fields)])
def test_the_seeds_first_tool_runs_as_mapping_and_as_object(form: Any) -> None:
    entry = registered(form(status()))
    assert (entry.id, entry.kind, entry.description) == ("get_status", "read", "读取演示服务状态")
    assert call(entry, {})[0] == "服务运行正常"


@pytest.mark.covers("S3-076")
@pytest.mark.parametrize("raw", [None, [], "x", 3])
def test_its_own_parser_refuses_in_its_own_words(raw: Any) -> None:
    with pytest.raises(InvalidArguments, match="需要对象"):
        registered(status()).parse(raw)
    assert registered(status()).parse({"a": 1})[0] == {}


@pytest.mark.covers("S3-056", "S3-078")
def test_its_own_check_of_the_result_refuses_in_its_own_words() -> None:
    with pytest.raises(InvalidResult, match="需要文本"):
        call(registered(status(execute=lambda: 1)), {})


@pytest.mark.covers("S3-045")
@pytest.mark.parametrize("raw", [None, "", "  ", "x", '{"a": 1}', [], [1], {"a": {"b": 1}}, 3, b"\xff"])
def test_the_raw_value_reaches_its_parser_as_it_came(raw: Any) -> None:
    seen: list[Any] = []
    entry = registered(status(parse_input=seen.append))
    entry.parse(raw)
    assert seen == [raw]
    assert type(seen[0]) is type(raw)
    assert entry.own_parser


def test_json_containers_are_copied_before_its_parser_sees_them() -> None:
    given = {"a": [1]}
    value, frozen, repaired = registered(status(parse_input=lambda raw: raw)).parse(given)
    given["a"].append(2)
    assert (value, frozen, repaired) == ({"a": [1]}, '{"a":[1]}', False)


def test_what_is_no_json_has_no_frozen_text() -> None:
    entry = registered(status(parse_input=lambda raw: raw))
    assert entry.parse({"a": {1, 2}})[1] is None
    assert entry.parse(object())[1] is None
    assert entry.parse("x")[1] == '"x"'


def test_a_container_too_deep_to_copy_is_refused() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(InvalidArguments) as caught:
        registered(status()).parse(deep)
    assert caught.value.code == "args.too_deep"


def test_a_tool_error_of_its_parsers_passes_as_it_is() -> None:
    def refuse(_: Any) -> Any:
        raise ToolError("not on sundays", code="shop.closed", hint="try on monday")

    for changes in ({"parse_input": refuse}, {"parse_output": refuse}):
        with pytest.raises(ToolError) as caught:
            call(registered(status(**changes)), {})
        assert (caught.value.code, caught.value.hint) == ("shop.closed", "try on monday")


@pytest.mark.covers("S3-077", "S3-089")
@pytest.mark.parametrize(
    "execute",
    [
        lambda: "ok",
        lambda value: "ok",
        lambda value, ctx: "ok",
        lambda *given: "ok",
        lambda value, ctx=None: "ok",
    ],
)
def test_execute_and_parsers_may_take_fewer_parameters_than_offered(execute: Any) -> None:
    entry = registered(status(execute=execute, parse_input=lambda: {}, parse_output=lambda: "checked"))  # noqa: PIE807
    assert call(entry, None) == ("checked", '"checked"', "checked")


@pytest.mark.covers("S3-089")
def test_parse_output_may_be_identity_and_what_it_lets_through_must_be_json() -> None:
    entry = registered(status(parse_output=lambda value: value, execute=lambda: {"a": (1, 2)}))
    assert call(entry, {})[1] == '{"a":[1,2]}'
    with pytest.raises(InvalidResult) as caught:
        call(registered(status(parse_output=lambda value: value, execute=lambda: {1, 2})), {})
    assert caught.value.code == "result.unserialisable"


def test_execute_may_be_a_coroutine() -> None:
    async def later(value: Any, ctx: ToolContext | None) -> str:
        await asyncio.sleep(0)
        return "ok"

    entry = registered(status(execute=later))
    assert entry.is_async
    assert asyncio.run(entry.run({}, None)) == "ok"


@pytest.mark.covers("S3-065")
@pytest.mark.parametrize("field", ["kind", "parse_input", "parse_output", "execute"])
def test_each_missing_field_is_named(field: str) -> None:
    with pytest.raises(RegistrationError, match=rf"tool 'get_status' lacks {field}"):
        registered(status(**{field: None}))


@pytest.mark.covers("S3-065")
def test_all_missing_fields_are_named_at_once() -> None:
    with pytest.raises(RegistrationError, match="lacks kind, parse_input, parse_output, execute"):
        registered({"id": "empty"})
    with pytest.raises(RegistrationError, match="lacks its id"):
        registered(status(id=None))


@pytest.mark.parametrize("field", ["parse_input", "parse_output", "execute", "simulate"])
def test_a_field_that_cannot_be_called_is_refused(field: str) -> None:
    with pytest.raises(RegistrationError, match=rf"its {field} can't be called"):
        registered(status(**{field: "no function"}))


@pytest.mark.parametrize(("field", "value"), [("description", 3), ("kind", 3), ("serial", 3)])
def test_a_field_of_the_wrong_type_is_refused(field: str, value: Any) -> None:
    with pytest.raises(RegistrationError, match="tool 'get_status'"):
        registered(status(**{field: value}))


@pytest.mark.covers("S3-063", "S3-064")
def test_description_and_debug_steps_are_optional() -> None:
    entry = registered(status(description=None))
    assert (entry.description, entry.debug_steps) == (None, None)
    assert registered(status(debug_steps=("a", "b"))).debug_steps == ("a", "b")
    assert export([entry], "openai").left_out == []


@pytest.mark.covers("S3-034")
def test_the_entry_is_frozen() -> None:
    entry = registered(status())
    with pytest.raises(FrozenInstanceError):
        entry.id = "other"  # pyright: ignore[reportAttributeAccessIssue]


class Greeter:
    id = "greet"
    kind = "read"
    description = "Greets."

    def __init__(self, word: str) -> None:
        self.word = word

    def parse_input(self, raw: Any) -> str:
        return f"{self.word} {raw}"

    def execute(self, value: str) -> str:
        return f"{value}, says {self.word}"

    def parse_output(self, value: str) -> str:
        return f"{value}!"


@pytest.mark.covers("S3-035", "S3-037")
def test_methods_stay_bound_to_their_tool() -> None:
    entry = registered(Greeter("hello"))
    detached = entry.parse_input
    assert detached("world") == "hello world"
    assert call(entry, "world")[0] == "hello world, says hello!"


@pytest.mark.covers("S3-036", "S3-037")
def test_later_changes_of_the_object_change_nothing() -> None:
    fields = status()
    entry = registered(fields)
    source = SimpleNamespace(**status())
    other = registered(source)
    for changed in (fields, vars(source)):
        changed.update(
            parse_input=lambda: 1, execute=lambda: "changed", parse_output=lambda: "x", description="changed"
        )
    for each in (entry, other):
        assert call(each, {})[0] == "服务运行正常"
        assert each.description == "读取演示服务状态"


@dataclass
class RiskyTool:
    id: str
    kind: str
    risk: int

    def parse_input(self, raw: Any) -> Any:
        return raw

    def execute(self, value: Any) -> Any:
        return value

    def parse_output(self, value: Any) -> Any:
        return value


@pytest.mark.covers("S3-066")
def test_the_hosts_own_fields_are_readable_on_the_entry() -> None:
    entry = registered(RiskyTool("cut", "write", risk=3))
    assert entry.source.risk == 3
    assert entry.risk == 3
    assert registered(status(risk=4)).risk == 4
    with pytest.raises(AttributeError):
        _ = entry.nothing


def test_registering_an_entry_again_gives_the_same_entry() -> None:
    entry = registered(status())
    assert registered(entry) is entry


def test_a_function_may_bring_its_own_parsers() -> None:
    @tool(parse_input=lambda raw: str(raw).upper(), parse_output=need_text)
    def echo(text: str, ctx: ToolContext) -> str:
        return text

    entry = registered(echo)
    assert call(entry, "abc")[0] == "ABC"
    assert entry.own_parser


def test_the_simulation_of_a_function_with_its_own_parser_gets_what_that_made() -> None:
    @tool(parse_input=str, simulate=lambda value, ctx: f"would {value}")
    def act(text: str) -> str:
        return text

    entry = registered(act)
    assert entry.simulate is not None
    assert entry.simulate("a", None) == "would a"


def test_optional_fields_of_the_host_are_read() -> None:
    entry = registered(
        status(
            serial=True,
            agents=["main"],
            idempotent=True,
            mask_errors=True,
            simulate=lambda: "sim",
        )
    )
    assert entry.turn == Turn(Places("tool:get_status", 1), None)
    assert (entry.agents, entry.idempotent) == (frozenset({"main"}), True)
    assert entry.simulate is not None
    assert entry.simulate({}, None) == "sim"
    assert entry.wants_context
