"""What a node gets: steps, children, events and tools, under ids that every life of the run draws alike."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from callboard.errors import Aborted, BudgetExhausted, ReplayDiverged, WorkflowError
from callboard.events import RunEventType
from callboard.workflow.graph import Workflow
from callboard.workflow.outcome import Budget, Outcome, ended_by
from callboard.workflow.recorded import Json, recalled, settled, to_text
from callboard.workflow.run import Child, Limit, Run
from callboard.workflow.stops import bounded
from callboard.workflow.tools import BoundTools, Work

Body = Callable[[Run], Awaitable[Outcome]]
# Runs a workflow to its end in a run that is there: the engine's, handed in so that rooms stay acyclic.
Enter = Callable[[Workflow[Any, Any], Any, Budget, Run], Awaitable[Outcome]]

_ABOUT = 200  # characters of `about` that are kept as they are; longer ones by their digest


class Context:
    """A node's view of its run.

    Ids are drawn when a method is called, before anything is awaited: ``asyncio.gather`` over one context is
    stable. What runs at the same time and takes more than one step is a child.
    """

    __slots__ = ("_drawer", "_emitter", "_enter", "_n", "_tasks", "path", "round", "run", "tools")

    def __init__(self, run: Run, path: str, round_: int, enter: Enter) -> None:
        self.run = run
        self.path = path
        self.round = round_
        self._enter = enter
        self._n = Counter[str]()
        self._drawer: asyncio.Task[Any] | None = None
        self._emitter = run.emitter(path)
        self._tasks = Counter[asyncio.Task[Any]]()
        self.tools = BoundTools(run, self._tool_step)

    @property
    def waiting(self) -> bool:
        """Whether a step or a child is being waited for: such work ends by itself when it is stopped."""
        return bool(self._tasks)

    async def settle(self, *, cancel: bool) -> None:
        """Wait for the steps that a node left behind when it ended, as by a gather in which one fails."""
        left = [task for task in self._tasks if not task.done()]
        for task in left if cancel else ():
            task.cancel()
        if left:
            await asyncio.wait(left)

    @contextmanager
    def _waits(self) -> Generator[None]:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine that is awaited runs in a task
        self._tasks[task] += 1
        try:
            yield
        finally:
            self._tasks[task] -= 1
            if not self._tasks[task]:
                del self._tasks[task]

    def emit(self, type_: RunEventType, /, **data: Json) -> None:
        """Emit one event of this node visit."""
        self._emitter.emit(type_, **data)

    def transient(self, type_: Literal["text.delta"], /, **data: Json) -> None:
        """Emit an event that nobody keeps; allowed inside a thunk."""
        self._emitter.transient(type_, **data)

    def step(self, kind: str, thunk: Callable[[str], Awaitable[Json]], about: str = "") -> Awaitable[Json]:
        """Do something once and record it: JSON, the same in every life of the run.

        Args:
            kind: a word for what it is; steps are counted by kind.
            thunk: gets the step's key, which is the same when it is tried again. It changes no state: when
                the step is recorded, it does not run.
            about: what the step is about; something else under the same id is `ReplayDiverged`.

        Raises:
            WorkflowError: two tasks draw ids from this context (at the call); the thunk failed.
            CallboardError: the thunk raised it.
        """
        return self._step(self._draw(kind), lambda step_id: thunk(f"{self.run.id} {step_id}"), about)

    def now(self) -> Awaitable[float]:
        """Unix time, as a step."""
        return self.look("clock", self.run.wall)

    def look(self, kind: str, at: Callable[[], Json]) -> Awaitable[Json]:
        """Look at what a concurrent party has done: recorded, because timing is never the same."""

        async def see(_key: str) -> Json:
            return at()

        return self.step(kind, see)

    def spawn(
        self,
        key: str,
        body: Body,
        *,
        limit: Limit | None = None,
        background: bool = False,
        about: str = "",
    ) -> Child:
        """Start a branch: `body` gets a run of its own and ends in an outcome, which is recorded.

        Args:
            key: taken from data, never from time; letters, digits, ``_`` and ``-``.
            body: the branch.
            limit: it waits for a slot of this limit first.
            background: its key is unique in the run instead of the node visit; it may outlive the visit.
            about: what it is about; something else under the same key is `ReplayDiverged`.

        Raises:
            WorkflowError: the key is malformed or taken, two tasks use this context, or limits are nested.
        """
        self._own()
        id_ = key if background else f"{self.path}/{key}"
        parent = self.run
        run = parent.child(key, id_, limit)
        self.emit("child.started", child=run.id, key=key)

        async def whole() -> Outcome:
            cause: list[BaseException] = []

            async def ended() -> Json:
                return _plain(await _outcome(run, body, limit, about))

            text = await parent.steps.child(
                parent.id, id_, lambda: settled(ended, run.clock, cause), _short(about)
            )
            outcome = Outcome.from_json(recalled(text, run.clock, cause))
            close_run(run, outcome, key)
            return outcome

        child = parent.children[id_] = Child(key, run, asyncio.create_task(whole(), name=run.id))
        return child

    def sub(
        self,
        key: str,
        workflow: Workflow[Any, Any],
        state: Any,
        budget: Budget | None = None,
        *,
        limit: Limit | None = None,
        background: bool = False,
    ) -> Child:
        """Start a workflow as a branch; see `spawn`."""

        async def body(run: Run) -> Outcome:
            return await self._enter(workflow, state, budget or Budget(), run)

        return self.spawn(key, body, limit=limit, background=background, about=workflow.id)

    async def join(
        self,
        children: Mapping[str, Child],
        on_error: Literal["cancel", "collect"] = "cancel",
    ) -> dict[str, Outcome]:
        """Wait for children; their outcomes in the order given.

        Args:
            children: by a name of the caller's choice.
            on_error: with ``cancel`` the first that does not complete cancels its siblings and this node
                fails with it; with ``collect`` every outcome is returned.

        Raises:
            BudgetExhausted: with ``cancel``, a child's budget was used up.
            WorkflowError: with ``cancel``, a child failed or was cancelled.
        """
        tasks = {child.task: child for child in children.values()}
        left = set(tasks)
        with self._waits():
            while left:
                done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
                if on_error == "cancel" and any(task.result().status != "completed" for task in done):
                    for task in left:
                        tasks[task].run.abort.set("sibling_failed")
        outcomes = {name: child.task.result() for name, child in children.items()}
        self.run.abort.check()
        if on_error == "cancel":
            _raise_first(outcomes)
        return outcomes

    def cancel(self, child: Child, reason: str = "cancelled_by_parent") -> Awaitable[bool]:
        """Stop a child; False if it was over already."""
        step_id = self._draw("cancel")

        async def see(_step_id: str) -> bool:
            return not child.task.done()

        async def stop() -> bool:
            running: bool = await self._step(step_id, see, "")
            if running:  # outside of the step: it is stopped again when this is replayed
                child.run.abort.set(reason)
            return running

        return stop()

    def ended(self, children: Mapping[str, Child]) -> Awaitable[list[str]]:
        """The names of those children that are over by now."""
        return self.look("ended", lambda: [name for name, child in children.items() if child.task.done()])

    def _own(self) -> None:
        me = asyncio.current_task()
        if self._drawer is None:
            self._drawer = me
        if me is not self._drawer:
            raise WorkflowError(
                f"two tasks draw from {self.path} of run {self.run.id}: their ids would depend on timing",
                code="workflow.shared_context",
                hint="start branches with ctx.spawn or ctx.sub",
            )

    def _draw(self, kind: str) -> str:
        self._own()
        self._n[kind] += 1
        return f"{self.path}/{kind}.{self._n[kind]}"

    def _tool_step(self, tool_id: str, work: Work, about: str) -> Callable[[], Awaitable[Json]]:
        step_id = self._draw(f"tool.{tool_id}")
        return lambda: self._step(step_id, work, about, by_itself=True)

    async def _step(self, step_id: str, work: Work, about: str, *, by_itself: bool = False) -> Json:
        run, cause = self.run, list[BaseException]()
        run.abort.check()

        async def live() -> Json:
            # a tool's step watches for stops itself, as the gate ends a call with a record
            return await work(step_id) if by_itself else await bounded(lambda: work(step_id), run.stops)

        with self._waits():
            text = await run.steps.step(
                run.id, step_id, lambda: settled(live, run.clock, cause), _short(about)
            )
        value = recalled(text, run.clock, cause)
        run.abort.check()  # recorded first: a stop never loses what is finished
        return value


async def _outcome(run: Run, body: Body, limit: Limit | None, about: str) -> Outcome:
    """A child's end, whatever its body does; only the loss of the process passes."""
    try:
        if limit is None:
            return await _started(run, body, about)
        await bounded(limit.slots.acquire, run.stops)
        try:
            return await _started(run, body, about)
        finally:
            limit.slots.release()
    except ReplayDiverged:
        raise
    except (Exception, Aborted) as error:  # noqa: BLE001 - a child that raises has failed
        return ended_by(error)


async def _started(run: Run, body: Body, about: str) -> Outcome:
    open_run(run, about)
    return await body(run)


def open_run(run: Run, about: str) -> None:
    """Emit the beginning of a run; a child has its slot by now."""
    parent = None if run.parent is None else run.parent.id
    run.emitter("").emit("run.started", about=about, simulate=run.simulate, parent=parent)


def _plain(outcome: Outcome) -> Json:
    """What is recorded of an outcome; a value that is no JSON can't leave a child."""
    try:
        to_text(outcome.value)
    except WorkflowError as error:
        return Outcome("failed", reason=error.code, message=str(error), rounds=outcome.rounds).to_json()
    return outcome.to_json()


def close_run(run: Run, outcome: Outcome, child: str | None = None) -> None:
    """Emit the end of a run, once it is recorded; on a path of its own, as the rest may not run again.

    Args:
        run: what ended.
        outcome: how.
        child: its key, where it is a child.
    """
    end = run.emitter("end")
    if outcome.status == "budget_exhausted":
        end.emit("budget.exhausted", reason=outcome.reason, limit=outcome.limit)
    end.emit(
        "run.finished",
        status=outcome.status,
        reason=outcome.reason,
        message=outcome.message,
        rounds=outcome.rounds,
        value=outcome.value,
    )
    if child is not None:
        end.emit("child.finished", key=child, status=outcome.status, reason=outcome.reason)


def _raise_first(outcomes: Mapping[str, Outcome]) -> None:
    for name, outcome in outcomes.items():
        if outcome.status == "completed" or outcome.reason == "sibling_failed":
            continue
        if outcome.status == "budget_exhausted":
            raise BudgetExhausted(outcome.reason or "", outcome.limit)
        raise WorkflowError(
            f"child {name} {outcome.status}: {outcome.message or outcome.reason}",
            code=outcome.reason or "child.failed",
        )


def _short(about: str) -> str:
    return (
        about if len(about) <= _ABOUT else hashlib.sha256(about.encode("utf-8", "surrogatepass")).hexdigest()
    )
