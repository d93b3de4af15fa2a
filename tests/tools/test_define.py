"""`@tool` on everything that can be called, and what the Tool itself can and can't do."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Coroutine, Generator, Iterator
from typing import Annotated, Any, Optional

import pytest

from callboard.errors import RegistrationError
from callboard.tools import Tool, registered, tool
from callboard.tools.limits import Places, Turn
from callboard.types import ExecutionOptions, ToolContext


def context(reported: list[Any]) -> ToolContext:
    return ToolContext(ExecutionOptions(), "call-1", "key-1", reported.append)


def call(source: Any, arguments: str, ctx: ToolContext | None = None) -> Any:
    """Parse, run and finish as the gate does."""
    entry = registered(source)
    made = entry.run(entry.parse(arguments)[0], ctx)
    if entry.is_async:
        made = asyncio.run(made)
    return entry.finish(made)[0]


@tool
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


def test_a_bare_decorator_makes_a_write_tool_named_after_the_function() -> None:
    assert (add.id, add.kind) == ("add", "write")
    assert registered(add).description == "Add two numbers."


def test_options_name_the_tool_and_its_mode() -> None:
    made = tool(name="plus", mode="read", description="Sums up.")(add.function)
    entry = registered(made)
    assert (entry.id, entry.kind, entry.description) == ("plus", "read", "Sums up.")


def test_the_plain_function_stays_at_hand_for_unit_tests() -> None:
    assert add.function(1, 3) == 4


def test_calling_the_tool_itself_is_refused_and_says_how_to_call_it() -> None:
    with pytest.raises(TypeError, match=r"registry\.invoke\('add'.*add\.function"):
        add(1, 2)


def test_an_unknown_option_is_refused_with_the_one_that_was_meant_and_all_there_are() -> None:
    with pytest.raises(
        RegistrationError, match=r"@tool has no option 'moode'; did you mean 'mode'\?"
    ) as caught:
        tool(moode="read")  # pyright: ignore[reportCallIssue]
    assert caught.value.code == "tool.invalid"
    assert (caught.value.hint or "").startswith("the options are: name, description, mode, ")
    with pytest.raises(TypeError, match=r"@tool has no option 'colour'\n"):
        tool(colour="red")  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize("mode", ["reed", "READ", "", None, True, ["read"]])
def test_an_unknown_mode_is_refused_where_it_is_written(mode: Any) -> None:
    with pytest.raises(RegistrationError, match="@tool has no mode ") as caught:
        tool(mode=mode)
    assert repr(mode) in str(caught.value)
    assert caught.value.hint == "use `read` (no side effect) or `write`"


def test_a_kind_of_another_name_stays_possible_in_the_plain_form() -> None:
    plain = {
        "id": "pay",
        "kind": "payment",
        "parse_input": lambda raw: raw,
        "execute": lambda value, _: value,
        "parse_output": lambda value: value,
    }
    assert registered(plain).kind == "payment"


def test_a_coroutine_is_awaited() -> None:
    @tool
    async def later(a: int) -> int:
        await asyncio.sleep(0)
        return a + 1

    assert call(later, '{"a": 1}') == 2


def test_a_generator_reports_what_it_yields_and_gives_what_it_returns() -> None:
    @tool
    def steps(n: int) -> Generator[str, None, int]:
        for number in range(n):
            yield f"step {number}"
        return n

    reported: list[Any] = []
    assert call(steps, '{"n": 2}', context(reported)) == 2
    assert reported == ["step 0", "step 1"]


def test_a_generator_without_a_return_gives_the_last_value() -> None:
    @tool
    def steps(n: int) -> Iterator[int]:
        yield from range(n)

    assert call(steps, '{"n": 3}', context([])) == 2


def test_an_async_generator_reports_and_gives_the_last_value() -> None:
    @tool
    async def steps(n: int) -> AsyncIterator[int]:
        for number in range(n):
            await asyncio.sleep(0)
            yield number

    reported: list[Any] = []
    assert call(steps, '{"n": 3}', context(reported)) == 2
    assert reported == [0, 1, 2]


def test_an_abandoned_generator_is_closed() -> None:
    closed: list[str] = []

    @tool
    def steps() -> Iterator[int]:
        try:
            yield 1
            yield 2
        finally:
            closed.append("closed")

    def refusing(value: Any) -> None:
        raise ValueError("the observer fails")

    ctx = ToolContext(ExecutionOptions(), "call-1", "key-1", refusing)
    with pytest.raises(ValueError, match="the observer fails"):
        registered(steps).run({}, ctx)
    assert closed == ["closed"]


class Counter:
    """Counts."""

    def __init__(self, start: int) -> None:
        self.start = start

    @tool
    def plus(self, n: int) -> int:
        """Count on."""
        return self.start + n

    def minus(self, n: int) -> int:
        return self.start - n

    def __call__(self, n: int) -> int:
        return self.start * n


class AsyncCallable:
    async def __call__(self, n: int) -> int:
        await asyncio.sleep(0)
        return n


def test_a_decorated_method_is_bound_to_its_instance() -> None:
    five, six = Counter(5), Counter(6)
    assert isinstance(five.plus, Tool)
    assert call(five.plus, '{"n": 1}') == 6
    assert call(six.plus, '{"n": 1}') == 7
    assert "self" not in registered(five.plus).input_schema["properties"]


def test_bound_methods_partials_and_callable_objects_can_be_registered_as_they_are() -> None:
    assert call(Counter(5).minus, '{"n": 1}') == 4
    assert call(functools.partial(add.function, 10), '{"b": 1}') == 11
    assert registered(functools.partial(add.function, b=3)).id == "add"
    counter = registered(Counter(3))
    assert (counter.id, counter.description) == ("Counter", "Counts.")
    assert call(Counter(3), '{"n": 2}') == 6
    assert registered(AsyncCallable()).is_async
    assert call(AsyncCallable(), '{"n": 2}') == 2
    assert registered(functools.partial(AsyncCallable(), n=1)).is_async


def test_what_a_partial_has_filled_in_stays_and_is_not_shown() -> None:
    def fetch(url: str, key: str, retries: int = 3) -> str:
        return f"{url} {key} {retries}"

    entry = registered(functools.partial(functools.partial(fetch, key="secret"), retries=1))
    assert list(entry.input_schema["properties"]) == ["url"]
    assert entry.run(entry.parse('{"url": "a"}')[0], None) == "a secret 1"


def test_class_and_static_methods_are_tools_of_their_class() -> None:
    class Shop:
        name = "shop"

        @tool
        @classmethod
        def who(cls, n: int) -> str:
            return f"{cls.name}{n}"

        @tool
        @staticmethod
        def double(n: int) -> int:
            return 2 * n

    assert call(Shop.who, '{"n": 1}') == "shop1"
    assert call(Shop().who, '{"n": 1}') == "shop1"
    assert call(Shop.double, '{"n": 2}') == 4
    assert call(Shop().double, '{"n": 2}') == 4
    assert Shop.who.id == "who"


def test_a_method_without_its_object_is_refused() -> None:
    with pytest.raises(RegistrationError, match="a method without its object"):
        registered(Counter.plus)
    with pytest.raises(RegistrationError, match="a method without its object"):
        registered(Counter.minus)


def test_a_plain_function_that_says_it_gives_an_awaitable_is_awaited() -> None:
    async def later(n: int) -> int:
        await asyncio.sleep(0)
        return n

    def wrapped(n: int) -> Awaitable[int]:
        return later(n)

    def made(n: int) -> Coroutine[Any, Any, int]:
        return later(n)

    for function in (wrapped, made):
        assert registered(tool(function)).is_async
        assert call(tool(function), '{"n": 2}') == 2


def test_a_wrapped_function_keeps_its_signature() -> None:
    def logged(function: Any) -> Any:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return inner

    assert call(tool(logged(add.function)), '{"a": 1}') == 3


def test_positional_only_and_keyword_only_parameters_are_filled() -> None:
    @tool
    def place(first: int, ctx: ToolContext, second: int = 2, /, third: int = 3, *, fourth: int) -> list[int]:
        assert ctx.call_key == "key-1"
        return [first, second, third, fourth]

    assert call(place, '{"first": 1, "fourth": 4}', context([])) == [1, 2, 3, 4]


def test_the_context_is_found_by_its_type_and_not_shown() -> None:
    @tool
    def plain(x: int, ctx: ToolContext) -> str:
        return ctx.call_key

    @tool
    def optional(x: int, env: Optional[ToolContext] = None) -> str:  # noqa: UP045 - the case
        return "" if env is None else env.call_key

    @tool
    def annotated(x: int, here: Annotated[ToolContext, "the call"]) -> str:
        return here.call_key

    for made in (plain, optional, annotated):
        entry = registered(made)
        assert list(entry.input_schema["properties"]) == ["x"]
        assert entry.wants_context
        assert call(made, '{"x": 1}', context([])) == "key-1"
    assert not registered(add).wants_context


def test_two_context_parameters_are_refused() -> None:
    def both(a: ToolContext, b: ToolContext) -> None: ...

    with pytest.raises(RegistrationError, match="both a and b"):
        registered(tool(both))


def test_a_mutable_default_is_fresh_for_every_call() -> None:
    @tool
    def collect(item: str, into: list[str] = []) -> list[str]:  # noqa: B006 - the case
        into.append(item)
        return into

    assert call(collect, '{"item": "a"}') == ["a"]
    assert call(collect, '{"item": "b"}') == ["b"]


@pytest.mark.parametrize("stars", ["*", "**"])
def test_arguments_without_names_are_refused(stars: str) -> None:
    space: dict[str, Any] = {}
    exec(f"def many(a: int, {stars}rest: int): ...", space)
    with pytest.raises(RegistrationError, match=rf"tool 'many', parameter {stars.replace('*', '[*]')}rest"):
        registered(tool(space["many"]))


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(RegistrationError, match="lambda"):
        registered(tool(lambda: 1))
    assert registered(tool(name="one")(lambda: 1)).id == "one"


@pytest.mark.parametrize("name", ["", " a", "a\n", "a" * 257, "\ud800"])
def test_a_bad_id_is_refused(name: str) -> None:
    source = {"id": name, "kind": "read", "parse_input": str, "parse_output": str, "execute": str}
    with pytest.raises(RegistrationError):
        registered(source)


@pytest.mark.parametrize("source", [Counter, 3, None, "add", object()])
def test_what_is_no_tool_is_refused(source: Any) -> None:
    with pytest.raises(RegistrationError, match="is no tool"):
        registered(source)


@pytest.mark.parametrize("annotation", [type, object().__class__.__call__, "Missing", Any.__class__, Counter])
def test_a_type_without_a_json_form_is_refused_by_tool_and_parameter(annotation: Any) -> None:
    def probe(thing: Any) -> None: ...

    probe.__annotations__["thing"] = annotation
    with pytest.raises(RegistrationError, match=r"tool 'probe', parameter 'thing'"):
        registered(tool(probe))


def test_a_result_type_that_cannot_be_serialised_is_refused() -> None:
    def probe() -> Any: ...

    probe.__annotations__["return"] = Counter
    with pytest.raises(RegistrationError, match="tool 'probe', its result"):
        registered(tool(probe))


def test_locks_agents_and_flags_are_read_at_registration() -> None:
    made = tool(
        name="paint",
        serial=True,
        agents=["main"],
        idempotent=True,
        mask_errors=True,
        blocking=False,
        debug_steps=["x"],
    )(add.function)
    entry = registered(made)
    assert entry.turn == Turn(Places("tool:paint", 1), None)
    assert entry.agents == frozenset({"main"})
    assert (entry.idempotent, entry.mask_errors, entry.worker, entry.debug_steps) == (
        True,
        True,
        "inline",
        ["x"],
    )
    assert registered(tool(serial="printer")(add.function)).turn == Turn(Places("printer", 1), None)
    assert registered(add).worker == "thread"


def test_a_simulation_takes_the_parameters_that_it_names() -> None:
    def everything(arguments: dict[str, Any]) -> dict[str, Any]:
        return arguments

    async def pretend(content: str, ctx: ToolContext) -> str:
        return f"{ctx.call_key}: {content}"

    def write(path: str, content: str) -> str:
        return content

    entry = registered(tool(simulate=pretend)(write))
    arguments = entry.parse('{"path": "a", "content": "b"}')[0]
    assert entry.simulate is not None
    assert entry.simulate_is_async
    assert asyncio.run(entry.simulate(arguments, context([]))) == "key-1: b"
    whole = registered(tool(simulate=everything)(write)).simulate
    assert whole is not None
    assert whole(arguments, None) == arguments


def test_a_simulation_that_asks_for_more_is_refused() -> None:
    def pretend(path: str, mode: str) -> None: ...

    def write(path: str) -> None: ...

    with pytest.raises(RegistrationError, match=r"its simulate takes 'mode'"):
        registered(tool(simulate=pretend)(write))
