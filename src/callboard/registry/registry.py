"""ToolRegistry: tools go in, governed calls come out."""

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from logging import Logger
from typing import TYPE_CHECKING, Any, Generic, Self

from typing_extensions import TypeVar

from callboard.calls import BeforeHook, Blobs, Passage, Ports, batch, drive, gate
from callboard.catalog import Catalog, Snapshot, Toolset
from callboard.errors import Unavailable
from callboard.events import CallEvent, DiagnosticContext, Listener, ToolCallRecord
from callboard.policy import Authorize
from callboard.registry.log import CallLog
from callboard.registry.mutations import watch_mutations
from callboard.registry.retries import with_retries
from callboard.tools import ErasedTool, RegisteredTool, registered
from callboard.types import (
    Abort,
    Approver,
    CallOutcome,
    ErrorFactories,
    ExecutionOptions,
    Secrets,
    ToolInvocationRequest,
    ToolResult,
)
from callboard.workers import ThreadPool, Timer, Turns, shared_pool

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from callboard.calls.explaining import Explanation
    from callboard.tools.dialects import Dialect, Export, Refs
    from callboard.views import ToolFigures

ToolT = TypeVar("ToolT", default=ErasedTool)
Request = ToolInvocationRequest | tuple[str, Any]

_FIELDS = tuple(f.name for f in fields(ExecutionOptions))
_NOTHING = ExecutionOptions()
_MAX_ID = 256  # characters; a longer id is not registered


class ToolRegistry(Generic[ToolT]):
    """Mechanism only: it has no policy and reads no meaning into a tool's kind.

    Open, it takes tools; sealed, it is one snapshot. Every call passes the gate and ends in one record.
    All options may be left out, and are read once.

    Args:
        execution: defaults for calls that do not say otherwise.
        errors: the host's own exceptions and codes.
        authorize: decides about each call; without it every call is allowed, and the record says so.
        visible: whether an agent may see a tool; what it may not see it can't call.
        approver: is asked where the decision is `ask`.
        before: hooks that see a call before it is decided, and may rewrite its arguments.
        listeners: hear of each fact, in order.
        policy_epoch: changes whenever the policy does; a call that waited is decided again.
        blobs: keeps results that are too large for a record.
        secrets: finds what `secret("NAME")` parameters get; None: the environment, then the keyring.
        injected: what `Injected[...]` parameters get, by name: a value, or a function of the `ToolContext`
            that makes it for the call.
        threads: size of a thread pool of its own; None shares the process's (32 threads).
        max_events: facts that the log keeps.
        max_bytes: characters of arguments and results that the log keeps.
        timer: measures rates and the pauses between tries; None is the process's own clock.
        tracer: makes an OpenTelemetry span around each call; without one, none is made.
        trace_content: the spans carry arguments and results, as the records do.
        debug: warn of tools that change their own object during a call.
    """

    def __init__(  # noqa: PLR0913 - options that can all be left out
        self,
        *,
        execution: ExecutionOptions | None = None,
        errors: ErrorFactories | None = None,
        authorize: Authorize | None = None,
        visible: Callable[[RegisteredTool, ExecutionOptions], bool] | None = None,
        approver: Approver | None = None,
        before: Iterable[BeforeHook] = (),
        listeners: Iterable[Listener] = (),
        policy_epoch: Callable[[], object] | None = None,
        blobs: Blobs | None = None,
        secrets: Secrets | None = None,
        injected: Mapping[str, Any] | None = None,
        threads: int | None = None,
        max_events: int = 10_000,
        max_bytes: int = 50_000_000,
        timer: Timer | None = None,
        tracer: "Tracer | None" = None,
        trace_content: bool = False,
        debug: bool = False,
    ) -> None:
        self._catalog = Catalog()
        defaults = execution or _NOTHING
        self._defaults = replace(defaults, injected=None) if defaults.injected else defaults
        self._gate, listeners = _way_in(tracer, tuple(listeners), content=trace_content)
        self._debug = debug
        self._log = CallLog(max_events, max_bytes, listeners)
        self._ports = Ports(
            emit=self._log.emit,
            authorize=authorize,
            visible=visible,
            approver=approver,
            before=tuple(before),
            errors=errors or ErrorFactories(),
            policy_epoch=policy_epoch,
            blobs=blobs,
            secrets=secrets,
            injected={**(injected or {}), **(defaults.injected or {})},
            turns=Turns(timer),
            pool=shared_pool() if threads is None else ThreadPool(threads),
        )

    # -- registering ---------------------------------------------------------------------------------------

    def register(self, tool: ToolT | Callable[..., Any] | Mapping[str, Any]) -> Self:
        """Add one tool: a `Tool`, a function, or an object or mapping of seed 003's shape.

        Raises:
            RegistrationError: it can't work, or its id is taken; nothing was added.
            SealedError: the registry is sealed.
        """
        self._catalog.add((self._entry(tool),))
        return self

    def register_all(self, tools: Iterable[ToolT | Callable[..., Any] | Mapping[str, Any]]) -> Self:
        """Add several tools: all or nothing.

        Raises:
            RegistrationError: one of them can't work, or its id is taken.
            SealedError: the registry is sealed.
        """
        self._catalog.add([self._entry(tool) for tool in tools])
        return self

    def register_toolset(self, toolset: Toolset, *, owner: str = "host") -> Self:
        """Add a group of tools with one owner: all or nothing.

        Raises:
            RegistrationError: its name or one of its ids is taken, or a tool can't work.
        """
        watched = [self._entry(tool) for tool in toolset.tools]
        self._catalog.add_toolset(Toolset(toolset.name, watched, prefix=toolset.prefix), owner)
        return self

    def unregister_owner(self, owner: str) -> tuple[str, ...]:
        """Take back all that an owner contributed; returns the ids. Calls in flight end as they are."""
        return self._catalog.remove(owner)

    def seal(self) -> Self:
        """Close it to registration; a second time changes nothing. Tools and calls stay as they are."""
        self._catalog.seal()
        return self

    def derived(self) -> "ToolRegistry[ToolT]":
        """A registry with these tools that goes its own way from here; policy, log and locks stay shared."""
        made: ToolRegistry[ToolT] = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._catalog = self._catalog.copy()
        return made

    def pinned(self) -> "ToolRegistry[ToolT]":
        """This registry, held at its newest snapshot: what a run works with between two rounds."""
        return self.derived().seal()

    def _entry(self, tool: Any) -> RegisteredTool:
        entry = with_retries(registered(tool), self._ports.turns.timer)
        return watch_mutations(entry) if self._debug else entry

    # -- calling -------------------------------------------------------------------------------------------

    def invoke(
        self,
        tool: str | ToolInvocationRequest,
        input: Any = None,  # noqa: A002 - the seed's word
        *,
        abort: Abort | None = None,
        diagnostics: DiagnosticContext | None = None,
        logger: Logger | None = None,
        execution: ExecutionOptions | None = None,
    ) -> ToolResult[Any]:
        """Call a tool from sync code, in the caller's thread.

        Raises:
            ToolError: the call did not succeed; `error.invocation` is its record. Coroutine tools, and
                policies or people that have to be waited for, need `invoke_async`.
        """
        plain = execution is None and abort is None and diagnostics is None and logger is None
        if plain and type(tool) is str and len(tool) <= _MAX_ID:
            snapshot, passage = self._catalog.published or self._catalog.snapshot, self._gate
            return drive(passage(self._ports, snapshot, tool, input, self._defaults, sync=True))
        return drive(self._passage(tool, input, abort, diagnostics, logger, execution, sync=True))

    def invoke_async(
        self,
        tool: str | ToolInvocationRequest,
        input: Any = None,  # noqa: A002
        *,
        abort: Abort | None = None,
        diagnostics: DiagnosticContext | None = None,
        logger: Logger | None = None,
        execution: ExecutionOptions | None = None,
    ) -> Coroutine[Any, Any, ToolResult[Any]]:
        """Call a tool and await it; a sync tool gets a thread.

        Options, scope and tools are those of this moment; the call begins when it is first awaited.

        Raises:
            ToolError: when awaited, as `invoke`.
        """
        plain = execution is None and abort is None and diagnostics is None and logger is None
        if plain and type(tool) is str and len(tool) <= _MAX_ID:
            snapshot, passage = self._catalog.published or self._catalog.snapshot, self._gate
            return passage(self._ports, snapshot, tool, input, self._defaults, sync=False)
        return self._passage(tool, input, abort, diagnostics, logger, execution, sync=False)

    async def invoke_batch(
        self,
        requests: Iterable[Request],
        *,
        execution: ExecutionOptions | None = None,
    ) -> list[CallOutcome]:
        """Call several tools at once: one outcome for each request, in order. No call's failure is raised."""
        given = [request if isinstance(request, tuple) else (request, None) for request in requests]

        def passage(request: tuple[str | ToolInvocationRequest, Any]) -> Passage:
            tool, raw = request
            return self._passage(tool, raw, None, None, None, execution, sync=False)

        return await batch([partial(passage, request) for request in given])

    def _passage(
        self,
        tool: str | ToolInvocationRequest,
        raw: Any,
        abort: Abort | None,
        diagnostics: DiagnosticContext | None,
        logger: Logger | None,
        execution: ExecutionOptions | None,
        *,
        sync: bool,
    ) -> Coroutine[Any, Any, ToolResult[Any]]:
        aborts = [abort]
        if isinstance(tool, ToolInvocationRequest):
            aborts.append(tool.abort)
            diagnostics, logger = diagnostics or tool.diagnostics, logger or tool.logger
            tool, raw = tool.tool_id, tool.input
        tool = _named(tool)
        own = execution or _NOTHING
        options = merged(self._defaults, own, aborts, diagnostics, logger)
        return self._gate(self._ports, self.snapshot, tool, raw, options, own.injected, sync=sync)

    # -- looking -------------------------------------------------------------------------------------------

    @property
    def snapshot(self) -> Snapshot:
        """What calls are made against now."""
        return self._catalog.published or self._catalog.snapshot

    def get(self, tool_id: str) -> RegisteredTool[ToolT] | None:
        """The tool of that id, or None."""
        return self.snapshot.tools.get(tool_id)

    def require(self, tool_id: str) -> RegisteredTool[ToolT]:
        """The tool of that id.

        Raises:
            Unavailable: there is none; or what the host's `unavailable` factory makes.
        """
        tool = self.get(tool_id)
        if tool is None:
            make = self._ports.errors.unavailable
            raise Unavailable(f"there is no tool {tool_id!r}") if make is None else make(tool_id)
        return tool

    def has(self, tool_id: str) -> bool:
        """Whether a tool has that id."""
        return tool_id in self.snapshot.tools

    def ids(self) -> tuple[str, ...]:
        """All ids, in declaration order."""
        return tuple(self.snapshot.tools)

    def entries(self) -> Iterator[tuple[str, RegisteredTool[ToolT]]]:
        """(id, tool) of all tools, with those that are registered meanwhile."""
        return ((tool.id, tool) for tool in self.values())

    def values(self) -> Iterator[RegisteredTool[ToolT]]:
        """All tools, with those that are registered meanwhile."""
        return self._catalog.live()

    @property
    def definitions(self) -> tuple[RegisteredTool[ToolT], ...]:
        """A snapshot of all tools, in declaration order."""
        return tuple(self.snapshot.tools.values())

    def visible_to(self, execution: ExecutionOptions) -> tuple[RegisteredTool[ToolT], ...]:
        """The tools that a call with these options could reach: listing and execution are one."""
        from callboard.calls.failures import hidden  # noqa: PLC0415

        return tuple(tool for tool in self.definitions if not hidden(self._ports, tool, execution))

    async def explain(
        self,
        tool: str,
        input: Any = None,  # noqa: A002 - as in `invoke`
        *,
        execution: ExecutionOptions | None = None,
    ) -> "Explanation":
        """Whether a call would be made, and why: what `invoke_async` would decide, and nothing runs.

        The policy is asked, as for a call; no person is, and no hook, tool or simulation runs. With
        `callboard.calls.explaining.ANYTHING` as its input, the arguments are left open.
        """
        from callboard.calls.explaining import explain  # noqa: PLC0415 - not on the way of a call

        tool = _named(tool)
        options = merged(self._defaults, execution or _NOTHING)
        return await explain(self._ports, self.snapshot, tool, input, options, self._catalog.owner(tool))

    def export(
        self,
        dialect: "Dialect",
        *,
        execution: ExecutionOptions | None = None,
        refs: "Refs" = "keep",
        strict: bool | None = None,
    ) -> "Export":
        """The visible tools for a model of `dialect`; what it can't express is left out, with the reason.

        Args:
            dialect: `openai`, `anthropic`, `gemini` or `mcp`.
            execution: on whose behalf; its `agent` decides what is visible.
            refs: `keep`, or `inline` for models that do not follow references.
            strict: for `openai`. None: where a schema satisfies strict mode; True: the other tools are left
                out; False: never.
        """
        visible = self.visible_to(merged(self._defaults, execution or _NOTHING))
        from callboard.tools import export  # noqa: PLC0415 - not on the way of a call

        return export(visible, dialect, refs=refs, strict=strict)

    @property
    def approver(self) -> Approver | None:
        """Who is asked where a call brings nobody of its own."""
        return self._defaults.approver or self._ports.approver

    @property
    def events(self) -> Sequence[CallEvent]:
        """A snapshot of the facts that the log still keeps, oldest first."""
        return self._log.kept()

    @property
    def events_dropped(self) -> int:
        """How many facts the log gave up for newer ones."""
        return self._log.dropped

    def metrics(self) -> "list[ToolFigures]":
        """Figures of the calls that the log still keeps, by tool: how many, how they ended, how long."""
        from callboard.views.metrics import figures, measure  # noqa: PLC0415 - only where somebody asks

        return figures(measure(event) for event in self._log.kept() if isinstance(event, ToolCallRecord))

    def set_diagnostics(self, diagnostics: DiagnosticContext | None) -> None:
        """Report the facts of later calls to another scope; calls in flight keep theirs."""
        self._defaults = replace(self._defaults, diagnostics=diagnostics)


def _way_in(
    tracer: "Tracer | None", listeners: tuple[Listener, ...], *, content: bool
) -> tuple[Callable[..., Passage], tuple[Listener, ...]]:
    """What calls go through, and who listens to them: the gate itself, where nobody traces."""
    if tracer is None:
        return gate, listeners
    from callboard.telemetry import Spans, heard, traced  # noqa: PLC0415 - opentelemetry, only where it is used

    return traced(gate, Spans(tracer, content=content)), (*listeners, heard)


def _named(tool: Any) -> str:
    """What a tool is looked up by: a longer text, or anything else, is the name of none."""
    return (tool if isinstance(tool, str) else repr(tool))[:_MAX_ID]


def merged(
    defaults: ExecutionOptions,
    own: ExecutionOptions,
    aborts: Iterable[Abort | None] = (),
    diagnostics: DiagnosticContext | None = None,
    logger: Logger | None = None,
) -> ExecutionOptions:
    """Field by field; of several aborts the first to fire counts. What is injected goes its own way."""
    chosen = {name: _first(getattr(own, name), getattr(defaults, name)) for name in _FIELDS}
    given = [abort for abort in (defaults.abort, own.abort, *aborts) if abort is not None]
    distinct = list(dict.fromkeys(given))
    chosen["abort"] = (
        None if not distinct else distinct[0] if len(distinct) == 1 else Abort.first_of(*distinct)
    )
    chosen["injected"] = None
    chosen["diagnostics"] = _first(diagnostics, chosen["diagnostics"])
    chosen["logger"] = _first(logger, chosen["logger"])
    return ExecutionOptions(**chosen)


def _first(one: Any, other: Any) -> Any:
    return other if one is None else one
