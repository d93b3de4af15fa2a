"""`Injected[...]` parameters: the host's values by name, the call's own before the registry's."""

import asyncio
import functools
from dataclasses import dataclass
from typing import Any

import pytest

from callboard import Decision, Injected, Principal, ToolContext, ToolError, ToolRegistry, tool
from callboard.events import CallStarted
from callboard.policy import CallView
from callboard.types import ExecutionOptions


@dataclass
class User:
    name: str


class Clock:
    """A callable object is a value, and is not called."""

    def __call__(self) -> int:
        return 3


@tool(mode="read")
def who(user: Injected[User]) -> str:
    return user.name


@tool(mode="read")
async def who_later(user: Injected[User]) -> str:
    await asyncio.sleep(0)
    return user.name


def named(name: str, _: ToolContext) -> User:
    return User(name)


def code_of(tools: ToolRegistry, tool_id: str, **options: Any) -> str:
    with pytest.raises(ToolError) as caught:
        tools.invoke(tool_id, **options)
    return caught.value.code


async def test_the_calls_own_values_come_before_the_registrys() -> None:
    @tool(mode="read")
    def both(user: Injected[User], clock: Injected[Clock]) -> list[Any]:
        return [user.name, clock()]

    tools = ToolRegistry(injected={"user": User("registry"), "clock": Clock()}).register_all([both, who])
    own = ExecutionOptions(injected={"user": User("call")})

    assert tools.invoke("both").value == ["registry", 3]
    assert tools.invoke("both", execution=own).value == ["call", 3]
    assert (await tools.invoke_async("both", execution=own)).value == ["call", 3]
    outcomes = await tools.invoke_batch([("who", {}), ("who", None)], execution=own)
    assert [outcome.text for outcome in outcomes] == ["call", "call"]


def test_the_registrys_default_options_count_too() -> None:
    defaults = ExecutionOptions(injected={"user": User("options")}, agent="main")

    tools = ToolRegistry(injected={"user": User("registry")}, execution=defaults).register(who)

    assert tools.invoke("who").value == "options"
    assert tools.derived().invoke("who").value == "options"
    assert tools.pinned().invoke("who", execution=ExecutionOptions(agent="other")).value == "options"


async def test_a_function_makes_the_value_for_each_call() -> None:
    async def later(ctx: ToolContext) -> User:
        await asyncio.sleep(0)
        return User(f"later {ctx.principal}")

    def made(ctx: ToolContext) -> User:
        assert ctx.principal is not None
        return User(ctx.principal.user)

    tools = ToolRegistry(injected={"user": made}).register_all([who, who_later])
    users = [f"user{number}" for number in range(10)]

    results = await asyncio.gather(
        *[
            tools.invoke_async(name, execution=ExecutionOptions(principal=Principal(user)))
            for user in users
            for name in ("who", "who_later")
        ]
    )

    assert [result.value for result in results] == [user for user in users for _ in "ab"]
    own = ExecutionOptions(injected={"user": later})
    assert (await tools.invoke_async("who", execution=own)).value == "later None"
    with_partial = ExecutionOptions(injected={"user": functools.partial(named, "partly")})
    assert tools.invoke("who", execution=with_partial).value == "partly"


def test_a_class_and_a_callable_object_are_values() -> None:
    @tool(mode="read")
    def use(kind: Injected[type[User]], clock: Injected[Clock]) -> list[Any]:
        return [kind("x").name, clock()]

    tools = ToolRegistry(injected={"kind": User, "clock": Clock()}).register(use)

    assert tools.invoke("use").value == ["x", 3]


def test_a_sync_call_refuses_a_maker_that_waits_and_takes_one_that_does_not() -> None:
    async def waits(_: ToolContext) -> User:
        await asyncio.sleep(0)
        return User("late")

    async def at_once(_: ToolContext) -> User:
        return User("at once")

    tools = ToolRegistry(injected={"user": waits}).register(who)

    assert code_of(tools, "who") == "approval.needs_async"
    assert tools.invoke("who", execution=ExecutionOptions(injected={"user": at_once})).value == "at once"


def test_a_missing_value_fails_the_call_before_it_starts_and_says_what_to_do() -> None:
    tools = ToolRegistry(injected={"other": 1}).register(who)

    with pytest.raises(ToolError, match="'user'") as caught:
        tools.invoke("who")

    assert caught.value.code == "injected.missing"
    assert caught.value.hint == "give the registry, the host or the call injected={'user': ...}"
    assert not [event for event in tools.events if isinstance(event, CallStarted)]
    assert caught.value.invocation.failure.code == "injected.missing"


def test_none_is_a_value_and_a_default_stands_in_for_nothing() -> None:
    @tool(mode="read")
    def use(user: Injected[User | None] = User("default")) -> str:  # noqa: B008 - the case
        return "none" if user is None else user.name

    tools = ToolRegistry().register(use)

    assert tools.invoke("use").value == "default"
    assert tools.invoke("use", execution=ExecutionOptions(injected={"user": None})).value == "none"


def test_a_maker_that_fails_is_named_by_its_class_and_one_that_speaks_to_the_model_is_heard() -> None:
    def broken(_: ToolContext) -> User:
        raise OSError("db password hunter2")

    def polite(_: ToolContext) -> User:
        raise ToolError("log in first", code="login.needed", hint="use the login tool")

    tools = ToolRegistry(injected={"user": broken}).register(who)

    assert code_of(tools, "who") == "injected.failed"
    assert "hunter2" not in repr(tools.events)
    assert code_of(tools, "who", execution=ExecutionOptions(injected={"user": polite})) == "login.needed"


def test_nothing_is_made_for_a_call_that_is_denied() -> None:
    made: list[str] = []

    def deny(_: CallView) -> Decision:
        return Decision("deny", ("no",))

    def make(ctx: ToolContext) -> None:
        made.append(ctx.call_key)

    tools = ToolRegistry(authorize=deny, injected={"user": make}).register(who)

    assert code_of(tools, "who") == "permission.denied"
    assert made == []


async def test_values_go_no_further_than_the_call_that_they_are_for() -> None:
    seen: list[Any] = []

    def authorize(view: CallView) -> Decision:
        seen.append(view.options.injected)
        return Decision("allow")

    @tool(mode="read")
    async def outer(user: Injected[User]) -> list[str]:
        with pytest.raises(ToolError) as caught:
            await tools.invoke_async("who")
        own = ExecutionOptions(injected={"user": user})
        return [caught.value.code, (await tools.invoke_async("who", execution=own)).value]

    tools = ToolRegistry(authorize=authorize).register_all([who, outer])
    own = ExecutionOptions(injected={"user": User("ada")})

    assert (await tools.invoke_async("outer", execution=own)).value == ["injected.missing", "ada"]
    assert seen == [None, None, None]
    assert "ada" not in repr(own)
    hash(own)


async def test_a_value_is_handed_over_as_the_object_that_it_is_and_never_recorded() -> None:
    given: list[object] = []
    value = object()

    @tool
    async def keep(thing: Injected[object]) -> None:
        given.append(thing)

    tools = ToolRegistry(injected={"thing": value}).register(keep)
    await tools.invoke_async("keep")

    assert given == [value]
    assert repr(value) not in repr(tools.events)
