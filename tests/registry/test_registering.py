"""What goes into a registry, and what stays of it."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import callboard
from callboard import ToolError, ToolRegistry, tool
from callboard.errors import RegistrationError, SealedError
from callboard.registry import ToolRegistry as FromRoom
from callboard.registry import Toolset


@tool(mode="read")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(mode="read")
def double(a: int) -> int:
    """Double a number."""
    return a * 2


def same(value: object) -> object:
    return value


def plain(name: str = "plain", **fields: Any) -> dict[str, Any]:
    made = {"id": name, "kind": "read", "parse_input": same, "execute": same, "parse_output": same}
    return {**made, **fields}


@pytest.mark.covers("S3-004")
def test_the_registry_has_two_public_addresses() -> None:
    assert callboard.ToolRegistry is FromRoom
    assert callboard.types.Principal is callboard.Principal


@pytest.mark.covers("S3-002", "S3-071", "S3-073", "S3-033")
def test_registration_chains_until_the_registry_is_sealed() -> None:
    registry = ToolRegistry()

    assert registry.register(add) is registry
    assert registry.seal() is registry
    assert registry.seal() is registry
    with pytest.raises(SealedError):
        registry.register(double)
    with pytest.raises(SealedError):
        registry.register_all([double])
    assert registry.ids() == ("add",)
    assert registry.invoke("add", {"a": 1, "b": 2}).value == 3


@pytest.mark.covers("S3-038")
def test_an_id_that_is_taken_is_refused_and_the_first_stays() -> None:
    registry = ToolRegistry().register(plain(execute=lambda: "first"))

    with pytest.raises(RegistrationError, match="'plain'") as caught:
        registry.register(plain(execute=lambda: "second"))

    assert caught.value.code == "tool.duplicate"
    assert registry.invoke("plain", {}).value == "first"


@pytest.mark.covers("S3-039", "S3-040")
def test_register_all_takes_any_iterable_all_or_nothing() -> None:
    registry = ToolRegistry()

    assert registry.register_all(t for t in (add, double)) is registry
    assert registry.register_all({"x": plain("x")}.values()).has("x")
    with pytest.raises(RegistrationError):
        registry.register_all([plain("good"), plain("bad", execute=None), plain("good2")])

    assert registry.ids() == ("add", "double", "x")


@pytest.mark.covers("S3-065")
@pytest.mark.parametrize("missing", ["parse_input", "parse_output", "execute", "id", "kind"])
def test_a_missing_field_is_named_at_registration(missing: str) -> None:
    with pytest.raises(RegistrationError, match=missing):
        ToolRegistry().register(plain() | {missing: None})


@dataclass
class Mine:
    """A host's own tool type, with a field of its own and parsers that use self."""

    id: str = "mine"
    kind: str = "read"
    description: str | None = "says hello"
    risk: str = "low"
    greeting: str = "hello"
    debug_steps: tuple[str, ...] = ("look", "say")

    def parse_input(self, raw: object) -> str:
        return f"{self.greeting} {raw}"

    def parse_output(self, value: object) -> str:
        return f"{value}!"

    def execute(self, value: str) -> str:
        return value


@pytest.mark.covers("S3-034", "S3-035", "S3-062", "S3-064", "S3-066", "S3-014")
def test_an_entry_is_frozen_and_keeps_the_fields_of_the_hosts_own_type() -> None:
    registry: ToolRegistry[Mine] = ToolRegistry()
    registry.register(Mine())

    entry = registry.require("mine")

    assert (entry.id, entry.kind, entry.risk, entry.debug_steps) == ("mine", "read", "low", ("look", "say"))
    assert entry.parse_input("x") == "hello x"
    assert entry.parse_output("x") == "x!"
    with pytest.raises(AttributeError):
        entry.kind = "write"  # type: ignore[misc]


@pytest.mark.covers("S3-036", "S3-037", "S3-034")
def test_later_changes_of_the_callers_object_change_nothing() -> None:
    source = Mine()
    registry: ToolRegistry[Mine] = ToolRegistry()
    registry.register(source)

    source.execute = lambda value: "replaced"
    source.parse_input = lambda raw: "replaced"
    source.parse_output = lambda value: "replaced"
    source.description, source.kind, source.id = "replaced", "write", "other"

    entry = registry.require("mine")
    assert (entry.id, entry.kind, entry.description) == ("mine", "read", "says hello")
    assert registry.invoke("mine", "Ada").value == "hello Ada!"


@pytest.mark.covers("S3-063", "S3-089")
def test_description_is_optional_and_parsers_may_take_nothing() -> None:
    def nothing() -> dict[str, Any]:
        return {}

    registry = ToolRegistry().register(plain(parse_input=nothing, execute=lambda: "fine"))

    assert registry.require("plain").description is None
    assert registry.invoke("plain", ["whatever"]).value == "fine"


@pytest.mark.covers("S3-058", "S3-059", "S3-060", "S3-061", "S3-055")
def test_looking_up() -> None:
    registry = ToolRegistry().register_all([double, add])

    assert registry.get("nope") is None
    assert (registry.has("add"), registry.has("nope")) == (True, False)
    assert registry.ids() == ("double", "add")
    assert registry.require("add").id == "add"
    with pytest.raises(ToolError) as caught:
        registry.require("nope")
    assert caught.value.code == "tool.unavailable"


@pytest.mark.covers("S3-067", "S3-068", "S3-069", "S3-070")
@pytest.mark.parametrize("look", ["entries", "values"])
def test_iterators_are_live_until_the_registry_is_sealed(look: str) -> None:
    registry = ToolRegistry().register(add)
    taken: Iterator[Any] = getattr(registry, look)()
    names: Callable[[Any], str] = (lambda found: found[0]) if look == "entries" else (lambda found: found.id)

    assert iter(taken) is taken
    assert names(next(taken)) == "add"
    registry.register(double)
    assert names(next(taken)) == "double"
    registry.register(plain("late")).seal()
    assert [names(found) for found in taken] == ["late"]


@pytest.mark.covers("S3-014", "S3-015", "S3-011")
def test_snapshots_do_not_grow_and_are_read_only() -> None:
    registry = ToolRegistry().register(add)
    definitions, events = registry.definitions, registry.events

    registry.register(double).invoke("double", {"a": 1})

    assert isinstance(definitions, tuple)
    assert [d.id for d in definitions] == ["add"]
    assert events == ()
    assert [d.id for d in registry.definitions] == ["add", "double"]
    with pytest.raises(AttributeError):
        registry.definitions = ()  # type: ignore[misc]
    with pytest.raises(AttributeError):
        registry.events = ()  # type: ignore[misc]


@pytest.mark.covers("B36")
def test_equal_names_of_two_toolsets_are_told_apart_and_the_short_name_names_both() -> None:
    registry = ToolRegistry()
    registry.register_toolset(Toolset("a", [tool(name="search")(lambda: "a")], prefix="team-a"))
    registry.register_toolset(Toolset("b", [tool(name="search")(lambda: "b")], prefix="team-b"))

    assert registry.ids() == ("team-a-search", "team-b-search")
    assert registry.invoke("team-b-search").value == "b"
    with pytest.raises(ToolError) as caught:
        registry.invoke("search")
    assert caught.value.code == "tool.ambiguous"
    assert caught.value.hint == "use one of team-a-search, team-b-search"


@pytest.mark.covers("B36")
def test_equal_names_without_a_prefix_are_refused_and_the_catalog_stays_as_it_was() -> None:
    registry = ToolRegistry().register_toolset(Toolset("a", [add]), owner="alpha")

    with pytest.raises(RegistrationError, match="alpha"):
        registry.register_toolset(Toolset("b", [double, add]), owner="beta")

    assert registry.ids() == ("add",)
    assert registry.unregister_owner("alpha") == ("add",)
    assert registry.ids() == ()


def test_a_pinned_registry_stays_at_its_snapshot() -> None:
    registry = ToolRegistry().register(add)
    pinned = registry.pinned()

    registry.register(double)

    assert pinned.ids() == ("add",)
    assert [t.id for t in pinned.values()] == ["add"]
    with pytest.raises(ToolError):
        pinned.invoke("double", {"a": 1})
    assert len(registry.events) == 1, "the log is the registry's own"


@pytest.mark.covers("S3-072")
async def test_sealing_disturbs_no_call_in_flight() -> None:
    entered, released = asyncio.Event(), asyncio.Event()

    @tool(mode="read")
    async def wait() -> str:
        entered.set()
        await released.wait()
        return "done"

    registry = ToolRegistry().register_all([wait, add])
    call = asyncio.create_task(registry.invoke_async("wait"))
    async with asyncio.timeout(5):
        await entered.wait()
        registry.seal()
        released.set()
        assert (await call).value == "done"

    assert registry.invoke("add", {"a": 1, "b": 2}).value == 3
    assert [t.id for t in registry.values()] == ["wait", "add"]


@pytest.mark.covers("S3-090")
def test_the_docs_say_what_the_seeds_two_examples_show() -> None:
    page = (Path(__file__).parents[2] / "docs/registry.md").read_text()

    assert "docs_src/seed_status.py" in page
    assert "docs_src/seed_binding.py" in page
    assert (
        "The first example validates strictly what comes from outside; the second shows the binding only."
        in (page.replace("\n", " "))
    )
