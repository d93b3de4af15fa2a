"""Random programs, random crashes, other timing: the journal gives the same run, and nothing twice."""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from callboard.errors import ToolError
from callboard.registry import ToolRegistry
from callboard.workflow import Budget, Child, Context, Node, Outcome, Run, Workflow, WorkflowEngine, route
from tests.runs.worlds import World, life

Program = list[Any]
Scenario = Callable[[World, Run], Awaitable[Outcome]]


def registry_of(world: World) -> ToolRegistry[Any]:
    async def read(raw: dict[str, Any]) -> dict[str, Any]:
        await world.some_time()
        return {"read": raw["id"]}

    async def write(raw: dict[str, Any]) -> dict[str, Any]:
        await world.written(raw["id"])
        return {"wrote": raw["id"]}

    async def put(raw: dict[str, Any]) -> dict[str, Any]:
        await world.some_time()
        return {"put": raw["id"]}

    async def broken(raw: dict[str, Any]) -> None:
        await world.some_time()
        raise ToolError(f"broken {raw['id']}", code="tool.broke", hint="no")

    made: dict[str, tuple[str, Any]] = {
        "read": ("read", read),
        "write": ("write", write),
        "put": ("write", put),
        "broken": ("read", broken),
    }
    registry: ToolRegistry[Any] = ToolRegistry()
    return registry.register_all(
        {
            "id": name,
            "kind": kind,
            "parse_input": _parsed,
            "parse_output": _same,
            "execute": execute,
            "idempotent": name == "put",
        }
        for name, (kind, execute) in made.items()
    )


def _parsed(raw: Any) -> Any:
    return json.loads(raw) if isinstance(raw, str) else raw


def _same(value: Any) -> Any:
    return value


def chain(world: World, scenario: Scenario, crashes: int, span: int) -> Outcome:
    """Lives that are ended, then one that is not."""
    for left in [*(world.rnd.randint(1, span) for _ in range(crashes)), None]:
        outcome = life(world, lambda run: scenario(world, run), left, tools=registry_of(world))
        if outcome is not None:
            return outcome
    raise AssertionError("the last life did not end")


def replayed(world: World, scenario: Scenario) -> Outcome:
    """The same run from its journal alone, up to the record of its end, with other timing."""
    again = world.frozen_copy(World(world.rnd.randrange(10**9)))
    outcome = chain(again, scenario, 0, 1)
    assert world.faults + again.faults == []
    return outcome


# -- random programs over the engine ------------------------------------------------------------------------


def program(rnd: random.Random, depth: int, words: tuple[str, ...]) -> Program:
    made: Program = []
    for _ in range(rnd.randint(1, 4)):
        word = rnd.choice(words)
        if word == "children":
            if depth:
                inner = [program(rnd, depth - 1, words) for _ in range(rnd.randint(1, 3))]
                made.append(["children", rnd.choice([None, 1, 2]), rnd.random() < 0.3, inner])
            continue
        made.append([word, rnd.randint(1, 3)])
    return made


async def play(world: World, ctx: Context, steps: Program) -> list[Any]:
    seen: list[Any] = []
    for place, (word, *rest) in enumerate(steps):
        name = f"{ctx.run.id} {ctx.path} {place}"
        if word == "children":
            seen.append(await _children(world, ctx, place, *rest))
        elif word in {"read", "write", "put", "broken"}:
            calls = [ctx.tools.call(word, {"id": f"{name} {n}"}) for n in range(rest[0])]
            ends = await asyncio.gather(*calls)
            seen.append([[end["ok"], end["text"], end["status"]] for end in ends])
        elif word == "step":
            seen.append([await ctx.step("think", _thought(world, f"{name} {n}")) for n in range(rest[0])])
        elif word == "fails":
            try:
                await ctx.step("fails", _failing(world, name))
            except ToolError as error:
                seen.append([error.code, str(error), error.hint])
        elif word == "race":
            seen.append(await _race(world, ctx, place))
        elif word == "clock":
            now = await ctx.now()
            seen.append(now == await ctx.look("same", lambda now=now: now))
    return seen


def _thought(world: World, name: str) -> Callable[[str], Awaitable[Any]]:
    async def think(_key: str) -> Any:
        await world.some_time()
        return {"thought": name, "n": len(name)}

    return think


def _failing(world: World, name: str) -> Callable[[str], Awaitable[Any]]:
    async def fail(_key: str) -> Any:
        await world.some_time()
        raise ToolError(f"no {name}", code="it.failed", hint="never mind")

    return fail


async def _children(
    world: World, ctx: Context, place: int, limit: int | None, background: bool, programs: list[Program]
) -> Any:
    held = "slots" in ctx.run.held
    slots = None if limit is None or held else ctx.run.limit("slots", 2)
    children: dict[str, Child] = {}
    for n, inner in enumerate(programs):
        key = f"c{place}-{n}" if not background else f"{ctx.path.replace('#', '-')}-c{place}-{n}"
        state = {"program": inner, "rounds": 0}
        budget = Budget(rounds=n + 1)
        children[key] = ctx.sub(key, branching(world), state, budget, limit=slots, background=background)
    outcomes = await ctx.join(children, on_error="collect")
    return {key: outcome.to_json() for key, outcome in outcomes.items()}


async def _race(world: World, ctx: Context, place: int) -> Any:
    """Looks at children whose progress depends on timing."""
    state = {"program": [["read", 2]], "rounds": 0}
    children = {key: ctx.sub(f"race{place}-{key}", branching(world), state) for key in ("a", "b", "c")}
    await ctx.step("think", _thought(world, f"race {place}"))
    first = await ctx.ended(children)
    stopped = await ctx.cancel(children["a"], "enough")
    ends = await ctx.join(children, on_error="collect")
    return [first, stopped, {key: end.to_json() for key, end in ends.items()}]


def branching(world: World) -> Workflow[dict[str, Any], Any]:
    """Two visits of a node that plays a program: children of one round end by their budget."""

    async def go(state: dict[str, Any], ctx: Context) -> dict[str, Any]:
        await world.pause()
        out = [*state.get("out", []), await play(world, ctx, state["program"])]
        return {"out": out, "rounds": state["rounds"] + 1}

    def twice(state: dict[str, Any]) -> bool:
        return state["rounds"] == 2

    routes = [route.deliver("out", when=twice), route.to("go")]
    return Workflow("branching", [Node("go", go, routes, starts_round=True)], salvage="out")


def engine_scenario(seed: int, words: tuple[str, ...]) -> Scenario:
    steps = program(random.Random(seed), 2, words)

    async def scenario(world: World, run: Run) -> Outcome:
        state = {"program": steps, "rounds": 0}
        return await WorkflowEngine(branching(world), budget=Budget(seconds=600)).execute(state, run)

    return scenario


REPEATABLE = ("step", "read", "put", "broken", "fails", "clock", "children", "children")
ALL = (*REPEATABLE, "write", "write", "race")


def check_engine(seed: int) -> None:
    """Programs of repeatable steps end as if nothing had happened; with writes, nothing is written twice."""
    scenario = engine_scenario(seed, REPEATABLE)
    undisturbed = chain(World(seed), scenario, 0, 1)
    world = World(seed + 1)
    outcome = chain(world, scenario, world.rnd.randint(1, 6), 25)
    assert outcome.to_json() == undisturbed.to_json()
    again = replayed(world, scenario)
    assert (again.to_json(), again.state) == (outcome.to_json(), undisturbed.state)

    scenario = engine_scenario(seed, ALL)
    world = World(seed + 2)
    outcome = chain(world, scenario, world.rnd.randint(1, 6), 25)
    again = replayed(world, scenario)
    assert again.to_json() == outcome.to_json()
    assert outcome.state is None or again.state == outcome.state


def check_stop(seed: int) -> None:
    """A run that somebody stops ends so, starts no further write, and stays as it ended."""
    scenario = engine_scenario(seed, ALL)
    world = World(seed + 3)
    world.stop_at = world.rnd.randint(1, 20)
    outcome = chain(world, scenario, 0, 1)
    stopped = world.stop_at <= 0
    assert (outcome.reason == "user_stopped") == (outcome.status == "cancelled")
    assert stopped or outcome.status != "cancelled"
    world.frozen = True
    assert chain(world, scenario, 0, 1).to_json() == outcome.to_json()
    assert world.faults == []


SEEDS = range(0, 250, 10)
MANY = range(1_000, 5_000, 10)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_engine_run_survives_any_chain_of_crashes(seed: int) -> None:
    check_engine(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stop_at_any_moment_ends_a_run_for_good(seed: int) -> None:
    check_stop(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_an_engine_run_survives_many_more_chains_of_crashes(seed: int) -> None:
    check_engine(seed)
    check_stop(seed)
