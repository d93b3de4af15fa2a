"""The engine: drives a workflow from its first node to an outcome."""

import asyncio
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import Any, Generic, Self, cast
from uuid import uuid4

from callboard.errors import Aborted, BudgetExhausted, ReplayDiverged, WorkflowError
from callboard.workflow.context import Context, close_run, open_run
from callboard.workflow.graph import Node, R, S, Workflow, chosen, delivered, looked_up, merged
from callboard.workflow.outcome import Budget, Outcome, ended_by
from callboard.workflow.recorded import recalled, settled, to_text
from callboard.workflow.run import Child, Run, Tools
from callboard.workflow.stops import Deadline, bounded
from callboard.workflow.tools import PATIENCE
from callboard.workflow.tracing import opened, tell

# Seconds that children get to end when their run does.
_REAP = PATIENCE + 1.0


class WorkflowEngine(Generic[S, R]):
    """Runs one workflow, as often as it is asked to.

    Args:
        workflow: what is run.
        budget: limits of each run.
    """

    def __init__(self, workflow: Workflow[S, R], *, budget: Budget | None = None) -> None:
        self.workflow = workflow
        self.budget = budget or Budget()
        self._nodes = {node.id: node for node in workflow.nodes}
        self._tools: Tools | None = None

    def bind_tools(self, tools: Tools) -> Self:
        """The registry whose tools every node finds under ``ctx.tools``; returns the engine."""
        self._tools = tools
        return self

    async def run(self, state: S, run: Run | None = None) -> R:
        """What the workflow delivers.

        Args:
            state: the first state.
            run: what the run shares; None makes one that keeps no journal.

        Raises:
            Aborted: the run was stopped.
            BudgetExhausted: a limit was reached.
            WorkflowError: a route failed the run, or the workflow is wrong.
            Exception: what a node raised.
        """
        outcome = await self.execute(state, run or Run(id=uuid4().hex))
        if outcome.status == "completed":
            return outcome.value
        if outcome.error is not None:
            raise outcome.error
        if outcome.status == "cancelled":
            raise Aborted(outcome.reason or "")
        if outcome.status == "budget_exhausted":
            raise BudgetExhausted(outcome.reason or "", outcome.limit)
        raise WorkflowError(outcome.message, code=outcome.reason)

    async def execute(self, state: S, run: Run) -> Outcome:
        """How the run ended, whatever happened. Only the loss of the process (CancelledError) passes.

        A run that is recorded as ended is not entered again.

        Raises:
            ReplayDiverged: the run was recorded by another workflow.
        """
        if run.tools is None:
            run.tools = self._tools
        live: list[Outcome] = []
        cause: list[BaseException] = []

        async def body() -> Any:
            open_run(run, self.workflow.id)
            live.append(await _drive(self, state, run))
            return _recordable(live[0])

        text = await run.steps.child(run.id, "end", lambda: settled(body, run.clock, cause), self.workflow.id)
        outcome = live[0] if live else Outcome.from_json(recalled(text, run.clock, cause))
        close_run(run, outcome)
        return outcome

    def node(self, id_: str) -> Node[S]:
        """The node of that id."""
        return self._nodes[id_]


async def enter(workflow: Workflow[Any, Any], state: Any, budget: Budget, run: Run) -> Outcome:
    """A workflow inside a child, whose end the parent records."""
    return await _drive(WorkflowEngine(workflow, budget=budget), state, run)


async def _drive(engine: WorkflowEngine[S, R], state: S, run: Run) -> Outcome:
    if run.spans is None:
        return await _ended(engine, state, run)
    with opened(engine.workflow, run, run.spans) as span:
        outcome = await _ended(engine, state, run)
        tell(span, outcome)
        return outcome


async def _ended(engine: WorkflowEngine[S, R], state: S, run: Run) -> Outcome:
    drive = _Drive(engine, run)
    run.state = state
    try:
        outcome = Outcome("completed", await drive.to_the_end())
    except ReplayDiverged:
        await _abandon(run.children.values())
        raise
    except (Exception, Aborted) as error:  # noqa: BLE001 - what a node raises ends the run, not the process
        outcome = ended_by(error, looked_up(run.state, engine.workflow.salvage))
    except BaseException:
        await _abandon(run.children.values())
        raise
    await _reap(run.children.values())
    return replace(outcome, rounds=drive.rounds, state=run.state)


class _Drive(Generic[S, R]):
    """One way through the nodes."""

    def __init__(self, engine: WorkflowEngine[S, R], run: Run) -> None:
        self._engine = engine
        self._run = run
        self.rounds = 0

    async def to_the_end(self) -> R:
        """What is delivered; raises whatever else ends the run."""
        engine, run = self._engine, self._run
        if engine.budget.seconds is not None:
            await self._set_deadline(engine.budget.seconds)
        node, visits = engine.workflow.nodes[0], Counter[str]()
        while True:
            run.abort.check()
            if node.starts_round:
                self._start_round()
            visits[node.id] += 1
            ctx = Context(run, f"{node.id}#{visits[node.id]}", self.rounds, enter)
            ctx.emit(
                "node.started",
                node=node.id,
                visit=visits[node.id],
                round=self.rounds,
                description=node.description,
            )
            run.state = merged(run.state, await self._visited(node, ctx), node.id)
            way = chosen(node, run.state)
            ctx.emit("node.finished", node=node.id, route=way.kind, target=way.target)
            if way.kind == "deliver":
                return cast("R", delivered(run.state, way.target))
            if way.kind == "fail":
                raise WorkflowError(way.message or way.target, code=way.target)
            if way.kind == "exhaust":
                raise BudgetExhausted(way.target)
            node = engine.node(way.target)

    async def _visited(self, node: Node[S], ctx: Context) -> object:
        run = self._run
        # a recorded prefix is never cut by the clock; of the visit in which it ends, the steps are watched
        stops = replace(run.stops, deadline=None) if run.steps.replaying(run.id) else run.stops
        arguments: tuple[Any, ...] = (run.state, ctx)[: node.takes]

        async def work() -> object:
            returned = cast("Any", node.run(*arguments))
            if not hasattr(returned, "__await__"):
                raise WorkflowError(
                    f"node {node.id!r}: run is no coroutine function",
                    code="workflow.node_run",
                    hint="use async def",
                )
            return await returned

        try:
            partial = await bounded(work, stops, patience=lambda: _REAP if ctx.waiting else 0.0)
        except (Exception, Aborted):
            await ctx.settle(cancel=False)
            raise
        except BaseException:
            await ctx.settle(cancel=True)
            raise
        await ctx.settle(cancel=False)
        return partial

    def _start_round(self) -> None:
        limit = self._engine.budget.rounds
        if limit is not None and self.rounds >= limit:
            raise BudgetExhausted("max_rounds", limit)
        self.rounds += 1
        self._run.pin()

    async def _set_deadline(self, seconds: float) -> None:
        """The budget counts from the moment in which the run was first entered."""
        run, cause = self._run, list[BaseException]()

        async def used() -> float:
            return run.clock.used()

        text = await run.steps.step(run.id, "started.1", lambda: settled(used, run.clock, cause))
        at = recalled(text, run.clock, cause) + seconds
        if run.deadline is None or at < run.deadline.at:
            run.deadline = Deadline(at, seconds)


def _recordable(outcome: Outcome) -> Any:
    """What is recorded of a whole run: a value that is no JSON stays with the process that has it."""
    try:
        to_text(outcome.value)
    except WorkflowError as error:
        return replace(outcome, value=None, message=str(error)).to_json()
    return outcome.to_json()


async def _reap(children: Collection[Child]) -> None:
    """The run is over: what still works is stopped, and its end recorded."""
    tasks = [child.task for child in children if not child.task.done()]
    for child in children:
        child.run.abort.set("run_ended")
    if tasks:
        await asyncio.wait(tasks, timeout=_REAP)
        await _cancelled(tasks)
    for child in children:
        broken = child.task.done() and not child.task.cancelled() and child.task.exception()
        if broken:  # its end could not be recorded, or it diverged: the run must not end as if it had
            raise broken


async def _abandon(children: Collection[Child]) -> None:
    """The process goes: children end without a record and go on when the run is resumed."""
    await _cancelled([child.task for child in children])


async def _cancelled(tasks: list["asyncio.Task[Outcome]"]) -> None:
    left = [task for task in tasks if task.cancel()]
    if left:
        await asyncio.wait(left, timeout=_REAP)
