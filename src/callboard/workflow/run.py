"""One execution of a workflow: what its nodes, its tools and its children share."""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, Protocol

from callboard.calls.steps import MemorySteps, Steps
from callboard.errors import WorkflowError
from callboard.events import RunEvent, RunEventType
from callboard.types import Abort, ExecutionOptions, Redaction, ToolResult
from callboard.workflow.stops import Deadline, Stops, WorkClock

if TYPE_CHECKING:
    from callboard.models import Dialect, Model
    from callboard.telemetry import Spans
    from callboard.tools import Export, RegisteredTool
    from callboard.types import Approver
    from callboard.workflow.outcome import Outcome

RunListener = Callable[[RunEvent], None]
_KEY = re.compile(r"[A-Za-z0-9_-]{1,100}")
_log = logging.getLogger("callboard.runs")


class Tools(Protocol):
    """What a run needs of a registry."""

    def invoke_async(
        self, request: str, raw: Any = None, /, *, execution: ExecutionOptions
    ) -> Awaitable[ToolResult[Any]]:
        """Take one call through the gate."""
        ...

    @property
    def approver(self) -> "Approver | None":
        """Who is asked where a call brings nobody of its own."""
        ...

    def pinned(self) -> "Tools":
        """The same, held at its newest snapshot."""
        ...

    def get(self, tool_id: str, /) -> "RegisteredTool | None":
        """The tool of that id."""
        ...

    def export(self, dialect: "Dialect", /, *, execution: ExecutionOptions) -> "Export":
        """What a call with these options could reach, as a model of that dialect is shown it."""
        ...


@dataclass(frozen=True, slots=True)
class Limit:
    """A number of children of one tree of runs that may work at the same time; the surplus waits."""

    name: str
    size: int
    slots: asyncio.Semaphore


@dataclass(kw_only=True, eq=False)
class Run:
    """One run, or a branch of one. A child's differs in id, abort, parent and state.

    Attributes:
        id: unique; a child's starts with its parent's.
        tools: the registry whose tools the run may call; each round takes its newest snapshot, see `pinned`.
        steps: where its steps are recorded.
        listener: hears every event, those of one path in order; what it raises is logged. A tool that reports
            from a thread is heard in that thread.
        execution: how calls are made, and on whose behalf: principal, agent, grant, approver, context.
        abort: stops the run, from any thread.
        clock: seconds worked, shared by the tree of runs.
        wall: Unix time, for `Context.now` and the events.
        models: opens the model of a name; None is the run's own.
        spans: makes a span of each workflow and of each agent's conversation; None makes none.
        deadline: where the run's budget ends on the clock.
        parent: the run around a child.
        state: the newest merged state. A child looks at its parent's through `Context.look` only.
        children: every child ever started, by its id.
        redaction: what its calls were delivered as secrets, shared by the tree of runs.
    """

    id: str
    tools: Tools | None = None
    steps: Steps = field(default_factory=MemorySteps)
    listener: RunListener | None = None
    execution: ExecutionOptions = field(default_factory=ExecutionOptions)
    abort: Abort = field(default_factory=Abort)
    clock: WorkClock = field(default_factory=WorkClock)
    wall: Callable[[], float] = time.time
    models: "Callable[[str | None], Model] | None" = None
    spans: "Spans | None" = None
    deadline: Deadline | None = None
    parent: "Run | None" = None
    state: Any = None
    children: "dict[str, Child]" = field(default_factory=dict[str, "Child"])
    limits: dict[str, Limit] = field(default_factory=dict[str, Limit])
    held: frozenset[str] = frozenset()
    redaction: Redaction = field(default_factory=Redaction)
    _pinned: Tools | None = field(default=None, init=False, repr=False)

    @property
    def pinned(self) -> Tools:
        """The tools as they stood when the round began.

        Raises:
            WorkflowError: the run has none.
        """
        if self._pinned is None:
            self.pin()
        if self._pinned is None:
            raise WorkflowError(
                f"run {self.id} has no tools",
                code="workflow.no_tools",
                hint="bind a registry: engine.bind_tools(registry)",
            )
        return self._pinned

    def pin(self) -> None:
        """Take the newest snapshot of the tools: what the engine does when a round begins."""
        self._pinned = None if self.tools is None else self.tools.pinned()

    def granted(self, own: frozenset[str] | None) -> frozenset[str] | None:
        """What an agent of this run may call that has a grant of its own; None is everything."""
        whole = self.execution.grant
        if own is None or whole is None:
            return whole if own is None else own
        return own & whole

    @property
    def simulate(self) -> bool:
        """Whether writes are simulated."""
        return bool(self.execution.simulate)

    @property
    def stops(self) -> Stops:
        """What can stop the run's work."""
        return Stops(self.abort, self.clock, self.deadline)

    def limit(self, name: str, size: int) -> Limit:
        """The limit of that name, shared by the whole tree of runs.

        Raises:
            WorkflowError: it is there with another size.
        """
        limit = self.limits.get(name)
        if limit is None:
            limit = self.limits[name] = Limit(name, size, asyncio.Semaphore(size))
        if limit.size != size:
            raise WorkflowError(
                f"limit {name!r} is {limit.size} in this run, not {size}", code="workflow.limit_differs"
            )
        return limit

    def child(self, key: str, id_: str, limit: Limit | None) -> "Run":
        """The run of a child; `spawn` starts it.

        Raises:
            WorkflowError: the key is malformed or taken, or the child would wait for its own parent's slot.
        """
        if not _KEY.fullmatch(key):
            raise WorkflowError(
                f"child key {key!r}: 1 to 100 letters, digits, '_' and '-'", code="workflow.child_key"
            )
        if id_ in self.children:
            raise WorkflowError(f"run {self.id} has a child {id_!r} already", code="workflow.child_twice")
        held = self.held
        if limit is not None:
            if limit.name in held:
                raise WorkflowError(
                    f"child {id_!r} would wait for a slot of {limit.name!r} that a run around it holds",
                    code="workflow.limit_nested",
                )
            held |= {limit.name}
        return replace(
            self,
            id=f"{self.id}/{id_}",
            abort=self.abort.child(),
            parent=self,
            state=None,
            children={},
            held=held,
        )

    def emitter(self, path: str) -> "Emitter":
        """What numbers the events of one path; a path has one, in one task."""
        return Emitter(self, path)


class Emitter:
    """Emits the events of one path of a run: (run, path, n) is the same in every life of the run."""

    __slots__ = ("_n", "_path", "_run")

    def __init__(self, run: Run, path: str) -> None:
        self._run = run
        self._path = path
        self._n = count(1)  # counts right from several threads, too

    def emit(self, type_: RunEventType, /, **data: Any) -> None:
        """Emit one fact; `data` is JSON."""
        self._send(next(self._n), type_, data)

    def transient(self, type_: Literal["text.delta"], /, **data: Any) -> None:
        """Emit what nobody keeps: it takes no number."""
        self._send(0, type_, data)

    def _send(self, n: int, type_: RunEventType, data: dict[str, Any]) -> None:
        run = self._run
        if run.listener is None:
            return
        try:
            run.listener(RunEvent(run.id, self._path, n, type_, run.wall(), data))
        except Exception:  # noqa: BLE001 - logged: a listener never disturbs the run
            _log.exception("the listener of run %s failed at %s", run.id, type_)


class Child:
    """A branch in progress: a run id and an abort of its own, one recorded end, never outliving its run.

    A node starts it with `Context.spawn` or `Context.sub`, and learns of it through `Context` only.
    """

    __slots__ = ("key", "run", "task")

    def __init__(self, key: str, run: Run, task: "asyncio.Task[Outcome]") -> None:
        self.key = key
        self.run = run
        self.task = task

    @property
    def id(self) -> str:
        """The id of its run."""
        return self.run.id
