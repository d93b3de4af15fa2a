"""Processes that work on run `r` over one store, and die."""

import asyncio
from collections.abc import Callable
from typing import Any, NoReturn

from callboard.policy import Decision
from callboard.registry import ToolRegistry
from callboard.runs import Journal, JournalStore, StepRow
from callboard.types import ApprovalAnswer, ApprovalRequest
from callboard.workflow import Budget, Context, Node, Outcome, Run, Workflow, WorkflowEngine, route

Dict = dict[str, Any]
NodeRun = Callable[[Dict, Context], Any]


class Killed(BaseException):
    """The process is gone."""


class Mortal:
    """A store whose process can die: from then on it takes nothing, until the next life begins."""

    def __init__(self, store: JournalStore) -> None:
        self._store = store
        self.dead = False

    def die(self) -> NoReturn:
        self.dead = True
        raise Killed

    def _alive(self) -> None:
        if self.dead:
            raise Killed

    def load(self, run_id: str) -> list[StepRow]:
        return list(self._store.load(run_id))

    def begin(self, run_id: str, step_id: str) -> int:
        self._alive()
        return self._store.begin(run_id, step_id)

    def save(self, run_id: str, step_id: str, about: str, outcome: str) -> None:
        self._alive()
        self._store.save(run_id, step_id, about, outcome)


async def life(
    store: JournalStore, node: NodeRun, *tools: Any, budget: Budget | None = None, **options: Any
) -> Outcome:
    """One process that works on run `r`: a node that delivers `out`."""
    if isinstance(store, Mortal):
        store.dead = False
    known = {name: options.pop(name, None) for name in ("authorize", "approver")}
    registry: ToolRegistry[Any] = ToolRegistry(**known)
    registry.register_all(tools)
    run = Run(id="r", tools=registry, steps=Journal(store), **options)
    workflow = Workflow("w", [Node("n", node, [route.deliver("out")])], salvage="out")
    async with asyncio.timeout(10):
        return await WorkflowEngine(workflow, budget=budget).execute({"out": "so far"}, run)


def calling(name: str, *then: str) -> NodeRun:
    async def node(_state: Dict, ctx: Context) -> Dict:
        envelopes = [await ctx.tools.call(each, {}) for each in (name, *then)]
        return {"out": envelopes}

    return node


class Person:
    """Says yes, and remembers what it was asked."""

    def __init__(self, *, allowed: bool = True) -> None:
        self.asked: list[ApprovalRequest] = []
        self.allowed = allowed

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        return ApprovalAnswer(self.allowed, request.digest, by="ann")


def asking(_view: Any) -> Decision:
    return Decision("ask", ("a write",))
