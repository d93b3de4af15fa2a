"""The loop under the journal fuzz: random conversations over tools, killed at random, with other timing."""

import asyncio
import json
import random
from collections import Counter
from typing import Any

import pytest

from callboard.errors import ModelError
from callboard.events import RunEvent
from callboard.models import ModelAnswer, ModelRequest, OnDelta
from callboard.orchestration import LoopConfig, run_loop
from callboard.policy import Decision
from callboard.registry import ToolRegistry
from callboard.runs import Journal, MemoryJournalStore
from callboard.testing import ScriptedModel
from callboard.tools import tool
from callboard.types import ApprovalAnswer, ApprovalRequest, ExecutionOptions, ToolContext
from callboard.workflow import Outcome, Run


class Killed(BaseException):
    """The process is gone."""


class Script:
    """A conversation made from a seed: what the model says depends on the history only, as in every life."""

    def __init__(self, seed: int) -> None:
        rnd = random.Random(seed)
        names = ["read", "read", "write", "put", "guarded", "nothing", "fail"]
        self.answers = [
            [(rnd.choice(names), n * 10 + i) for i in range(rnd.choice([0, 1, 1, 2, 3]))]
            for n in range(rnd.randint(1, 6))
        ]
        self.end = rnd.choice(["text", "finalize", "error", "rounds"])

    def answer(self, request: ModelRequest) -> ModelAnswer:
        turn = sum(1 for m in request.messages if m["role"] == "assistant")
        if turn < len(self.answers) and self.end != "rounds":
            asked = self.answers[turn] or [("read", turn)]
        elif self.end == "rounds":
            asked = self.answers[turn % len(self.answers)] or [("read", turn)]
        elif self.end == "error":
            raise ModelError("overloaded", code="model.overloaded")
        elif self.end == "text":
            return ModelAnswer("the end")
        else:
            finalize = {"id": "f", "name": "finalize", "arguments": '{"text": "the end"}'}
            return ModelAnswer("", (finalize,))  # pyright: ignore[reportArgumentType]
        said = f"turn {turn}" if turn % 2 else ""
        made = [
            {"id": f"{turn}-{i}", "name": name, "arguments": json.dumps({"n": n})}
            for i, (name, n) in enumerate(asked)
        ]
        return ModelAnswer(said, tuple(made))  # pyright: ignore[reportArgumentType]


class World:
    """The store, the tools' effects and the person: what outlives a process."""

    def __init__(self, seed: int, script: Script) -> None:
        self.rnd = random.Random(seed)
        self.script = script
        self.store = MemoryJournalStore()
        self.saved: set[tuple[str, str]] = set()
        self.writes = Counter[str]()
        self.events: dict[tuple[str, str, int], str] = {}
        self.doubles: list[str] = []
        self.frozen = self.dead = False
        self.left: int | None = None

    def load(self, run_id: str) -> Any:
        return self.store.load(run_id)

    def begin(self, run_id: str, step_id: str) -> int:
        assert not self.frozen, f"{step_id} begins in a replay"
        self._operation(before=True)
        count = self.store.begin(run_id, step_id)
        self._operation(before=False)
        return count

    def save(self, run_id: str, step_id: str, about: str, outcome: str) -> None:
        assert (run_id, step_id) not in self.saved, f"{step_id} is recorded twice"
        assert not self.frozen or step_id == "end", f"{step_id} is executed again"
        self._operation(before=True)
        self.store.save(run_id, step_id, about, outcome)
        self.saved.add((run_id, step_id))
        self._operation(before=False)

    def _operation(self, *, before: bool) -> None:
        self.alive()
        if self.left is None:
            return
        self.left -= before
        if self.left <= 0 and (not before or self.rnd.random() < 0.5):
            self.dead = True
            raise Killed

    def alive(self) -> None:
        if self.dead:
            raise Killed

    async def some_time(self) -> None:
        for _ in range(self.rnd.randrange(4)):
            await asyncio.sleep(0)
        self.alive()

    def listen(self, event: RunEvent) -> None:
        if event.n:
            # what happens inside an attempt at a step happens once; all else is said alike in every life
            said = event.type if "@" in event.path else json.dumps([event.type, event.data])
            known = self.events.setdefault((event.run, event.path, event.n), said)
            if known != said:
                self.doubles.append(f"{event.path} {event.n} was {known}, is {said}")

    async def answer(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        assert not self.frozen
        await self.some_time()
        on_delta("...")
        return self.script.answer(request)

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        assert not self.frozen
        await self.some_time()
        step = tuple(f"{request.call_key}/answer".split(" ", 1))
        assert step not in self.saved, f"{request.call_key} is asked again though it is answered"
        return ApprovalAnswer(int(request.arguments[-2]) % 2 == 0, request.digest, by="tester")

    def registry(self) -> ToolRegistry[Any]:
        world = self

        @tool(mode="read")
        async def read(n: int) -> dict[str, int]:
            await world.some_time()
            return {"n": n}

        @tool
        async def write(n: int, ctx: ToolContext) -> str:
            await world.some_time()
            world.writes[ctx.call_key] += 1
            await world.some_time()
            return f"written {n}"

        @tool
        async def guarded(n: int, ctx: ToolContext) -> str:
            world.writes[ctx.call_key] += 1
            await world.some_time()
            return f"guarded {n}"

        @tool(idempotent=True)
        async def put(n: int) -> list[int]:
            await world.some_time()
            return [n]

        @tool(mode="read")
        async def fail(n: int) -> None:
            raise ValueError(f"no {n}")

        def authorize(view: Any) -> Decision:
            return Decision("ask" if view.tool.id == "guarded" else "allow", ("by name",))

        registry: ToolRegistry[Any] = ToolRegistry(authorize=authorize)
        return registry.register_all([read, write, guarded, put, fail])


class WorldModel(ScriptedModel):
    """Asks the world instead of a list."""

    def __init__(self, world: World) -> None:
        super().__init__([])
        self._world = world

    async def answer(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        return await self._world.answer(request, on_delta)


def life(world: World, left: int | None) -> Outcome | None:
    async def process() -> Outcome | None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        world.dead, world.left = False, left
        model = WorldModel(world)
        run = Run(
            id="r",
            tools=world.registry(),
            steps=Journal(world),
            listener=world.listen,
            models=lambda _name: model,
            execution=ExecutionOptions(approver=world),
        )
        try:
            async with asyncio.timeout(20):
                return await run_loop(LoopConfig(max_rounds=5), "go", run)
        except Killed:
            return None

    return asyncio.run(process())


def check_loop(seed: int) -> None:
    script = Script(seed)
    undisturbed = life(World(seed, script), None)
    assert undisturbed is not None
    world = World(seed + 1, script)
    outcome = None
    for _ in range(world.rnd.randint(1, 6)):
        outcome = life(world, world.rnd.randint(1, 16))
        if outcome is not None:
            break
    outcome = outcome or life(world, None)
    assert outcome is not None
    assert set(world.writes.values()) <= {1}, "a write was made twice"
    again = World(seed + 2, script)
    again.frozen = True
    for run_id, step_id in world.saved - {("r", "end")}:
        row = next(row for row in world.load(run_id) if row.step_id == step_id)
        again.store.save(run_id, step_id, row.about, row.outcome)
        again.saved.add((run_id, step_id))
    again.events = world.events
    replayed = life(again, None)
    assert replayed is not None
    assert world.doubles + again.doubles == []
    assert replayed.to_json() == outcome.to_json()
    assert outcome.state is None or replayed.state == outcome.state
    answers = [m for m in replayed.state.messages if m["role"] == "tool"]
    calls = [c for m in replayed.state.messages if m["role"] == "assistant" for c in m["calls"]]
    assert [m["call_id"] for m in answers] == [c["id"] for c in calls]
    if not any(
        "interrupted" in m["content"] for m in answers
    ):  # else the model was told of it, and may differ
        assert outcome.to_json() == undisturbed.to_json()
        assert replayed.state == undisturbed.state


@pytest.mark.covers("B63")
@pytest.mark.parametrize("seed", range(0, 300, 10))
def test_a_loop_survives_any_chain_of_crashes(seed: int) -> None:
    check_loop(seed)


@pytest.mark.slow
@pytest.mark.covers("B63")
@pytest.mark.parametrize("seed", range(1_000, 5_000, 10))
def test_a_loop_survives_many_more_chains_of_crashes(seed: int) -> None:
    check_loop(seed)
