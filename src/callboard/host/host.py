"""Host: the one place where everything is wired."""

import asyncio
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from callboard.builtin.files import Workspace, file_tools
from callboard.builtin.results import result_tools
from callboard.calls.explaining import Explanation, of_the_engine
from callboard.config import Config, load
from callboard.conversation import Message
from callboard.host.handle import RunHandle
from callboard.host.keeping import Keeper
from callboard.host.loading import load_tools, once
from callboard.host.policy import HostPolicy, Writes
from callboard.host.profiles import Profile, check_tools
from callboard.host.profiles import profile as find_profile
from callboard.host.protection import private, protected
from callboard.host.recording import Ledger
from callboard.host.registry import RecordedRegistry
from callboard.host.result import RunResult
from callboard.host.results import Results
from callboard.host.running import Order, Surroundings, execute
from callboard.models import Choice, Model, TracedModel, choose, open_model
from callboard.policy import Authorize
from callboard.registry import ToolRegistry, Toolset
from callboard.store import Retention, open_store
from callboard.store.store import Store
from callboard.types import Abort, Approver, ExecutionOptions, Principal, Secrets

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from callboard.telemetry import Spans

FILES = "builtin.files"  # the owner of the workspace's tools
RESULTS = "builtin.results"  # the owner of what reads on in large results


@dataclass(frozen=True, slots=True)
class HostContext:
    """What the host puts on ``ctx`` of every call; a run adds its own."""

    workspace: Path
    task_id: str | None = None
    run: Any = None
    writes: Writes | None = None


class Host:
    """Everything that a run needs, opened together and closed together.

    ::

        async with Host(tools=[add]) as host:
            result = await host.run("add 17 and 25")

    Args:
        config: the file or its content; None reads `callboard.toml` of the current folder, if it is there.
        tools: registered beside those of the configuration: tools, functions, toolsets.
        approver: is asked where a run has none of its own; without one, what asks is denied.
        authorize: decides about every call, instead of the configuration's `[policy]`.
        secrets, injected: what tools get that no model sees, see `ToolRegistry`.
        tracer: makes OpenTelemetry spans of runs, model turns and calls; None: the process's own, where
            the configuration's `[telemetry]` asks for spans, else none are made.

    Raises:
        ConfigError: on entering: the configuration, or a tool that it names, can't be used.
        RegistrationError: on entering: a tool can't work.
    """

    def __init__(
        self,
        config: str | Path | Config | None = None,
        *,
        tools: Iterable[Any] = (),
        approver: Approver | None = None,
        authorize: Authorize | None = None,
        secrets: Secrets | None = None,
        injected: Mapping[str, Any] | None = None,
        tracer: "Tracer | None" = None,
    ) -> None:
        self.config = config if isinstance(config, Config) else load(config)
        self._approver = approver
        self._given = tuple(tools)
        self._supplies: dict[str, Any] = {"secrets": secrets, "injected": injected}
        self._authorize = authorize or HostPolicy(self.config.policy)
        self._tracer = tracer
        self._spans: Spans | None = None
        self._workspaces: dict[Path, Workspace] = {}
        self._models: dict[str, Model] = {}
        self._store: Store | None = None
        self._opening = threading.Lock()
        self._ledger = Ledger(lambda: self.store)
        self._results = Results(lambda: self.store, self._ledger)
        self._keeper: Keeper | None = None
        self._running: dict[str, tuple[Abort, asyncio.Task[RunResult]]] = {}
        self._registry: ToolRegistry | None = None

    async def __aenter__(self) -> Self:
        """Load the tools."""
        self._spans = self._traced()
        try:
            self._registry = self._loaded()
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """End what still runs, then close models, workspaces and store: all of them, whatever one raises."""
        async with AsyncExitStack() as closing:
            if self._store is not None:
                closing.callback(self._store.close)
            if self._keeper is not None:
                closing.callback(self._keeper.close)
            for workspace in self._workspaces.values():
                closing.callback(workspace.close)
            for model in self._models.values():
                closing.push_async_callback(model.close)
            for abort, _ in self._running.values():
                abort.set("output_closed" if isinstance(error, BrokenPipeError) else "host_closed")
            if self._running:
                await asyncio.wait([task for _, task in self._running.values()])

    @property
    def registry(self) -> ToolRegistry:
        """All tools, behind the host's policy and its store. Calls of it pass the gate like a model's."""
        if self._registry is None:
            raise RuntimeError("the host is not open: async with Host(...) as host")
        return self._registry

    @property
    def store(self) -> Store:
        """Runs, events, records and steps; opened at the first look, or before the first call.

        Runs whose process ended without a word are settled then.

        Raises:
            StoreError: the state folder can't be used.
        """
        with self._opening:  # calls come from any thread
            if self._store is None:
                store = open_store(self.config.state_folder)
                try:
                    store.settle_abandoned(time.time())
                except BaseException:
                    store.close()
                    raise
                self._store = store
                self._keeper = Keeper(store, Retention.of(self.config.store))
                self._keeper.start()
            return self._store

    async def run(self, prompt: str, **options: Any) -> RunResult:
        """Start a run and wait for its end; the options are those of `start`."""
        return await self.start(prompt, **options).result()

    def start(
        self,
        prompt: str,
        *,
        profile: str = "loop",
        model: str | Model | None = None,
        workspace: str | os.PathLike[str] | None = None,
        simulate: bool = False,
        conversation: Sequence[Message] = (),
        principal: Principal | None = None,
        approver: Approver | None = None,
    ) -> RunHandle:
        """Start a run.

        Args:
            prompt: what the agent is asked to do.
            profile: its name.
            model: a model, or its name; None: the profile's, the configuration's, else the best at hand.
            workspace: the folder of the file tools; None is the configuration's.
            simulate: reads are real, writes are simulated.
            conversation: what was said before.
            principal: on whose behalf.
            approver: is asked, instead of the host's.

        Raises:
            ConfigError: there is no such profile or workspace, or the profile does not fit the tools.
            ModelError: there is no such model, or it can't be used here.
            StoreError: the state folder can't be used.
        """
        chosen = find_profile(profile, self.config)
        choice = self._choice(model, chosen.model)
        opener = self._opener(model, choice)
        answering = opener(None)  # what is missing is said before anything is recorded
        folder = self.config.folder if workspace is None else Path(workspace).resolve()
        tools = self._tools_for(folder)
        check_tools(profile, chosen, tools.ids(), self.config)
        if not answering.finishes_with_text:  # it never sees a result
            tools = tools.derived()
            tools.unregister_owner(RESULTS)
            tools.seal()
        store, abort = self.store, Abort()
        handle = RunHandle(secrets.token_hex(6), choice, abort)
        order = Order(
            id=handle.id,
            prompt=prompt,
            profile_name=profile,
            profile=chosen,
            model=choice,
            conversation=tuple(conversation),
            workspace=folder,
            simulate=simulate,
            principal=principal,
        )
        execution = self._options(chosen, folder, handle.id, principal, approver, simulate=simulate)
        around = Surroundings(
            store=store,
            ledger=self._ledger,
            tools=tools,
            open_model=opener,
            execution=execution,
            abort=abort,
            publish=handle.publish,
            spans=self._spans,
        )
        task = asyncio.create_task(execute(order, around), name=f"run {handle.id}")
        handle.follow(task)
        self._running[handle.id] = (abort, task)
        task.add_done_callback(lambda _: self._running.pop(handle.id, None))
        return handle

    async def explain(
        self,
        tool: str,
        input: Any = None,  # noqa: A002 - as in `ToolRegistry.invoke`
        *,
        profile: str = "loop",
        agent: str | None = None,
        principal: Principal | None = None,
        approver: Approver | None = None,
        simulate: bool = False,
    ) -> Explanation:
        """Whether an agent of a run may make this call, and why. Nothing runs, and nobody is asked.

        Args:
            tool: the tool's id.
            input: its arguments; `callboard.calls.explaining.ANYTHING` leaves them open.
            profile: the profile of the run.
            agent: the agent's path; None is the profile's own.
            principal: on whose behalf.
            approver: would be asked, instead of the host's.
            simulate: whether the run would be a simulation.

        Raises:
            ConfigError: there is no such profile, or it does not fit the tools.
        """
        chosen, folder = find_profile(profile, self.config), self.config.folder
        check_tools(profile, chosen, self.registry.ids(), self.config)
        own = chosen.agent()
        if tool in chosen.controls:
            return of_the_engine(tool, agent or own.path)
        options = self._options(chosen, folder, None, principal, approver, simulate=simulate)
        options = replace(options, agent=agent or own.path, grant=own.grant)
        return await self.registry.explain(tool, input, execution=options)

    def _options(
        self,
        chosen: Profile,
        folder: Path,
        task_id: str | None,
        principal: Principal | None,
        approver: Approver | None,
        *,
        simulate: bool,
    ) -> ExecutionOptions:
        """How the calls of a run of this profile run."""
        return ExecutionOptions(
            principal=principal,
            simulate=simulate,
            approver=approver or self._approver,
            context=HostContext(folder, task_id=task_id, writes=chosen.writes),
            deadline=self.config.limits.call_seconds,
        )

    def _traced(self) -> "Spans | None":
        if self._tracer is None and not self.config.telemetry.spans:
            return None
        from callboard.telemetry import Spans, global_tracer  # noqa: PLC0415 - opentelemetry, where it is used

        return Spans(self._tracer or global_tracer(), content=self.config.telemetry.content)

    def _loaded(self) -> ToolRegistry:
        registry = RecordedRegistry(
            self._ledger,
            authorize=self._authorize,
            approver=self._approver,
            listeners=[self._ledger],
            blobs=self._results,
            tracer=None if self._spans is None else self._spans.tracer,
            trace_content=self.config.telemetry.content,
            **self._supplies,
            execution=ExecutionOptions(
                deadline=self.config.limits.call_seconds,
                context=HostContext(self.config.folder),
                barrier=self._ledger.barrier,
            ),
        )
        config = self.config
        for tool in once((*load_tools(config.tools, config.folder, config.path), *self._given)):
            if isinstance(tool, Toolset):
                registry.register_toolset(tool)
            else:
                registry.register(tool)
        registry.register_toolset(self._files(self.config.folder), owner=FILES)
        return registry.register_toolset(Toolset("results", result_tools(self._results)), owner=RESULTS)

    def _choice(self, model: str | Model | None, wanted: str | None) -> Choice:
        if model is None or isinstance(model, str):
            models = self.config.models
            return choose(model, wanted or models.default, os.environ, models.named)
        return Choice(model.name, "given by the caller")

    def _opener(self, model: str | Model | None, choice: Choice) -> Callable[[str | None], Model]:
        """Opens the model of a name; None is the run's own, which may be one that the caller brought."""

        def opened(name: str | None) -> Model:
            if name is None and not (model is None or isinstance(model, str)):
                return self._watched(model)
            wanted = choice.name if name is None else name
            if wanted not in self._models:
                named = self.config.models.named
                called = named[wanted].model if wanted in named else wanted
                self._models[wanted] = self._watched(open_model(wanted, named), called)
            return self._models[wanted]

        return opened

    def _watched(self, model: Model, called: str | None = None) -> Model:
        return model if self._spans is None else TracedModel(model, self._spans, called)

    def _tools_for(self, folder: Path) -> ToolRegistry:
        if folder == self.config.folder:
            return self.registry.pinned()
        derived = self.registry.derived()
        derived.unregister_owner(FILES)
        return derived.register_toolset(self._files(folder), owner=FILES).seal()

    def _files(self, folder: Path) -> Toolset:
        workspace = self._workspaces.get(folder)
        if workspace is None:
            root, config = folder.resolve(), self.config
            workspace = self._workspaces[folder] = Workspace(
                folder, protected=protected(root, config), private=private(root, config)
            )
        return Toolset("files", file_tools(workspace))
