"""The loop under the journal fuzz: random conversations over tools, killed at random, with other timing."""

import json
import random
from typing import Any, cast

import pytest

from callboard.errors import ModelError
from callboard.models import ModelAnswer, ModelRequest, OnDelta
from callboard.orchestration import LoopConfig, run_loop
from callboard.policy import Decision
from callboard.registry import ToolRegistry
from callboard.testing import ScriptedModel
from callboard.tools import tool
from callboard.types import ApprovalAnswer, ApprovalRequest, ExecutionOptions, ToolContext
from callboard.workflow import Outcome
from tests.runs.worlds import World, life


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


class LoopWorld(World):
    """The tools' effects, the model and the person."""

    def __init__(self, seed: int, script: Script) -> None:
        super().__init__(seed)
        self.script = script

    async def answer(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        await self.some_time()
        on_delta("...")
        return self.script.answer(request)

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        await self.some_time()
        run_id, step_id = request.call_key.split(" ", 1)
        self.check((run_id, f"{step_id}/answer") not in self.saved, f"{step_id} is asked again")
        return ApprovalAnswer(int(request.arguments[-2]) % 2 == 0, request.digest, by="tester")

    def registry(self) -> ToolRegistry[Any]:
        world = self

        @tool(mode="read")
        async def read(n: int) -> dict[str, int]:
            await world.some_time()
            return {"n": n}

        @tool
        async def write(n: int, ctx: ToolContext) -> str:
            await world.written(ctx.call_key)
            return f"written {n}"

        @tool
        async def guarded(n: int, ctx: ToolContext) -> str:
            await world.written(ctx.call_key)
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

    def __init__(self, world: LoopWorld) -> None:
        super().__init__([])
        self._world = world

    async def answer(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        return await self._world.answer(request, on_delta)


def looping(world: LoopWorld, left: int | None) -> Outcome | None:
    model = WorldModel(world)

    def models(_name: str | None) -> WorldModel:
        return model

    return life(
        world,
        lambda run: run_loop(LoopConfig(max_rounds=5), "go", run),
        left,
        tools=world.registry(),
        models=models,
        execution=ExecutionOptions(approver=world),
    )


def chain(world: LoopWorld, crashes: int) -> Outcome:
    """Lives that are ended, then one that is not."""
    for left in [*(world.rnd.randint(1, 16) for _ in range(crashes)), None]:
        outcome = looping(world, left)
        if outcome is not None:
            return outcome
    raise AssertionError("the last life did not end")


def check_loop(seed: int) -> None:
    script = Script(seed)
    undisturbed = chain(LoopWorld(seed, script), 0)
    world = LoopWorld(seed + 1, script)
    outcome = chain(world, world.rnd.randint(1, 6))
    again = LoopWorld(seed + 2, script)
    replayed = chain(cast("LoopWorld", world.frozen_copy(again)), 0)
    assert world.faults + again.faults == []
    assert replayed.to_json() == outcome.to_json()
    assert outcome.state is None or replayed.state == outcome.state
    answers = [m for m in replayed.state.messages if m["role"] == "tool"]
    calls = [c for m in replayed.state.messages if m["role"] == "assistant" for c in m["calls"]]
    assert [m["call_id"] for m in answers] == [c["id"] for c in calls]
    if not any("was interrupted" in m["content"] for m in answers):  # else the model was told, and may differ
        assert outcome.to_json() == undisturbed.to_json()
        assert replayed.state == undisturbed.state


def check_stop(seed: int) -> None:
    """A loop that somebody stops ends so, starts no further write, and stays as it ended."""
    world = LoopWorld(seed + 3, Script(seed))
    world.stop_at = world.rnd.randint(1, 20)
    outcome = chain(world, 0)
    assert (outcome.reason == "user_stopped") == (outcome.status == "cancelled")
    assert world.stop_at <= 0 or outcome.status != "cancelled"
    world.frozen = True
    assert chain(world, 0).to_json() == outcome.to_json()
    assert world.faults == []


@pytest.mark.covers("B63")
@pytest.mark.parametrize("seed", range(0, 300, 10))
def test_a_loop_survives_any_chain_of_crashes(seed: int) -> None:
    check_loop(seed)


@pytest.mark.covers("B52")
@pytest.mark.parametrize("seed", range(0, 300, 10))
def test_a_stop_at_any_moment_ends_a_loop_for_good(seed: int) -> None:
    check_stop(seed)


@pytest.mark.slow
@pytest.mark.covers("B63")
@pytest.mark.parametrize("seed", range(1_000, 5_000, 10))
def test_a_loop_survives_many_more_chains_of_crashes(seed: int) -> None:
    check_loop(seed)
    check_stop(seed)
