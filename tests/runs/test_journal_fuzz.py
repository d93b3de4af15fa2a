"""Random programs, random crashes, other timing each time: the journal gives the same run, and nothing twice.

A life of a run is one event loop over the same store. At a random operation of the store it is asked to shut
down, or killed, before or after that operation became durable.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from callboard.errors import ToolError
from callboard.events import RunEvent
from callboard.registry import ToolRegistry
from callboard.runs import Journal, MemoryJournalStore
from callboard.runs.journal import MemoryRow
from callboard.workflow import Budget, Child, Context, Node, Outcome, Run, Workflow, WorkflowEngine, route

Program = list[Any]


class Killed(BaseException):
    """The process is gone: raised wherever a dead process would go on."""


class World:
    """What outlives the processes: the rows, and what tools have really done."""

    def __init__(self, seed: int) -> None:
        self.rnd = random.Random(seed)
        self.store = MemoryJournalStore()
        self.saved: set[tuple[str, str]] = set()
        self.writes = Counter[str]()
        self.events: dict[tuple[str, str, int], str] = {}
        self.doubles: list[str] = []
        self.frozen = False  # nothing may be executed any more
        self.dead = False
        self.left: int | None = None  # store operations until the process is killed
        self.graceful = False  # it is not killed then, but asked to shut down
        self.ending: asyncio.Event | None = None
        self.stop_at: int | None = None  # store operations until somebody stops the run
        self.stop: Callable[[], None] | None = None
        self.late: list[str] = []  # what tools did after that

    def load(self, run_id: str) -> list[MemoryRow]:
        return list(self.store.load(run_id))

    def begin(self, run_id: str, step_id: str) -> int:
        assert (run_id, step_id) not in self.saved, f"{run_id} {step_id} begins again though it is recorded"
        self._operation(before=True)
        count = self.store.begin(run_id, step_id)
        self._operation(before=False)
        return count

    def save(self, run_id: str, step_id: str, about: str, outcome: str) -> None:
        assert (run_id, step_id) not in self.saved, f"{run_id} {step_id} is recorded twice"
        assert not self.frozen or step_id == "end", f"{run_id} {step_id} is executed again"
        self._operation(before=True)
        self.store.save(run_id, step_id, about, outcome)
        self.saved.add((run_id, step_id))
        self._operation(before=False)

    def _operation(self, *, before: bool) -> None:
        self.alive()
        if self.stop_at is not None:
            self.stop_at -= before
            if self.stop_at == 0 and self.stop is not None:
                self.stop()
        if self.left is None:
            return
        self.left -= before
        if self.left > 0 or (before and self.rnd.random() < 0.5):
            return
        assert self.ending is not None
        self.ending.set()
        if not self.graceful:
            self.dead = True
            raise Killed

    def alive(self) -> None:
        if self.dead:
            raise Killed

    async def some_time(self) -> None:
        for _ in range(self.rnd.randrange(5)):
            await asyncio.sleep(0)
        self.alive()

    def listen(self, event: RunEvent) -> None:
        json.dumps(event.to_json())
        if event.n:
            # what happens inside an attempt at a step happens once; all else is said alike in every life
            said = event.type if "@" in event.path else json.dumps([event.type, event.data])
            known = self.events.setdefault((event.run, event.path, event.n), said)
            if known != said:
                self.doubles.append(f"{event.run} {event.path} {event.n} was {known}, is {said}")

    def registry(self) -> ToolRegistry[Any]:
        async def read(raw: dict[str, Any]) -> dict[str, Any]:
            assert not self.frozen
            await self.some_time()
            return {"read": raw["id"]}

        async def write(raw: dict[str, Any]) -> dict[str, Any]:
            assert not self.frozen
            if self.stop_at is not None and self.stop_at <= 0:
                self.late.append(raw["id"])
            await self.some_time()
            self.writes[raw["id"]] += 1
            await self.some_time()
            return {"wrote": raw["id"]}

        async def put(raw: dict[str, Any]) -> dict[str, Any]:
            assert not self.frozen
            await self.some_time()
            return {"put": raw["id"]}

        async def broken(raw: dict[str, Any]) -> None:
            await self.some_time()
            raise ToolError(f"broken {raw['id']}", code="tool.broke", hint="no")

        made = {
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


def _unheard(_loop: asyncio.AbstractEventLoop, _context: dict[str, Any]) -> None:
    """What a killed process leaves behind is heard by nobody."""


Scenario = Callable[[World, Run], Awaitable[Outcome]]


def life(world: World, scenario: Scenario, left: int | None) -> Outcome | None:
    """One process: until the run has ended, or until it is killed after `left` operations of the store."""

    async def process() -> Outcome | None:
        asyncio.get_running_loop().set_exception_handler(_unheard)
        world.dead, world.left, world.ending = False, left, asyncio.Event()
        world.graceful = world.rnd.random() < 0.3
        run = Run(id="r", tools=world.registry(), steps=Journal(world), listener=world.listen)
        world.stop = run.abort.set
        task = asyncio.ensure_future(scenario(world, run))
        ending = asyncio.ensure_future(world.ending.wait())
        await asyncio.wait({task, ending}, timeout=20, return_when=asyncio.FIRST_COMPLETED)
        if world.ending.is_set() and not world.dead and task.cancel():
            world.left = None
            await asyncio.wait({task}, timeout=20)
        world.dead = True
        assert task.done() or world.ending.is_set(), "the run hangs"
        return task.result() if task.done() and not task.cancelled() and task.exception() is None else None

    return asyncio.run(process())


def chain(world: World, scenario: Scenario, crashes: int, span: int) -> Outcome:
    """Lives that are killed, then one that is not."""
    for _ in range(crashes):
        outcome = life(world, scenario, world.rnd.randint(1, span))
        if outcome is not None:
            return outcome
    outcome = life(world, scenario, None)
    assert outcome is not None
    return outcome


def replayed(world: World, scenario: Scenario) -> Outcome:
    """The same run from its journal alone, up to the record of its end, with other timing."""
    again = World(world.rnd.randrange(10**9))
    again.store, again.saved, again.frozen = MemoryJournalStore(), set(), True
    for run_id, step_id in sorted(world.saved - {("r", "end")}):
        row = next(row for row in world.load(run_id) if row.step_id == step_id)
        again.store.save(run_id, step_id, row.about, row.outcome or "")
        again.saved.add((run_id, step_id))
    again.events = world.events
    outcome = life(again, scenario, None)
    assert outcome is not None
    assert world.doubles + again.doubles == []
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
    async def think(key: str) -> Any:
        assert not world.frozen, f"{key} is executed again"
        await world.some_time()
        return {"thought": name, "n": len(name)}

    return think


def _failing(world: World, name: str) -> Callable[[str], Awaitable[Any]]:
    async def fail(_key: str) -> Any:
        assert not world.frozen
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
        await world.some_time()
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
    assert set(world.writes.values()) <= {1}
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
    assert world.late == []
    world.frozen = True
    assert chain(world, scenario, 0, 1).to_json() == outcome.to_json()


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
