"""The frozen form in which a registry keeps a tool, with all that the gate needs chosen beforehand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol

from typing_extensions import TypeVar

from callboard.conversation import ContentPart
from callboard.tools.limits import Turn
from callboard.tools.needs import Need
from callboard.tools.refs import closed_view
from callboard.tools.retries import Retries
from callboard.types import ToolContext

Mode = Literal["read", "write"]
SourceT_co = TypeVar("SourceT_co", default=Any, covariant=True)
# What one parse gives: the value for the tool, the JSON text that passed (None where the tool's own
# parser was given something that is no JSON), and whether a repair was needed.
Parsed = tuple[Any, str | None, bool]
Parse = Callable[[Any], Parsed]
# What the check of a result gives: the value, its JSON text, and the content for the model.
Finished = tuple[Any, str, str | tuple[ContentPart, ...]]
Finish = Callable[[Any], Finished]
Run = Callable[[Any, ToolContext | None], Any]
# What a function takes beside the arguments: None is nothing, () a context, else that and what is filled in.
Needs = tuple[Need, ...] | None
# How one way of running a tool runs: the function, whether it waits, whether it takes a thread, its needs.
Way = tuple[Run | None, bool, bool, Needs]
# What the gate reads of an entry, in one look: kind, parse, how it runs, how it is simulated, what it waits
# for, who may see it, finish, debug steps.
Plan = tuple[str, Parse, Way, Way, Turn | None, frozenset[str] | None, Finish, Any]


class ErasedTool(Protocol):
    """Seed 003's plain form of a tool: what `register` takes. Mappings of this shape serve, too."""

    @property
    def id(self) -> str:
        """The tool's id, unique in its registry."""
        ...

    @property
    def kind(self) -> str:
        """Any word; `read` and `write` mean something to the host's policy."""
        ...

    @property
    def parse_input(self) -> Callable[..., Any]:
        """From the raw value to what `execute` gets; raises to refuse."""
        ...

    @property
    def parse_output(self) -> Callable[..., Any]:
        """From what `execute` gave to what is returned; raises to refuse."""
        ...

    @property
    def execute(self) -> Callable[..., Any]:
        """The tool's work: of (), (input) or (input, context)."""
        ...


class Published(Protocol):
    """What is shown of a tool, made at the first look: reading docstrings is not on the way of a call."""

    @property
    def description(self) -> str | None:
        """For the model."""
        ...

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """JSON Schema, draft 2020-12, an object at its root."""
        ...

    @property
    def output_schema(self) -> Mapping[str, Any] | None:
        """JSON Schema of the result; None where nothing is declared."""
        ...

    @property
    def fingerprint(self) -> str:
        """Stable digest of id, kind, description and schemas."""
        ...

    @property
    def kept(self) -> dict[Any, Any]:
        """What others made from it and want to find again, such as its form in a dialect."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RegisteredTool(Generic[SourceT_co]):
    """One entry of a registry. Later changes of the caller's object change nothing here.

    The fields of the host's own tool type are read through: ``entry.risk`` is ``entry.source.risk``, and that
    one is typed.
    """

    id: str
    kind: str
    parse_input: Callable[..., Any]
    parse_output: Callable[..., Any]
    execute: Callable[..., Any]
    debug_steps: Any
    source: SourceT_co
    published: Published
    # chosen at registration, for the gate
    parse: Parse
    run: Run
    finish: Finish
    own_parser: bool  # whether `parse` takes the raw value as it came, and not JSON text
    is_async: bool
    needs: Needs
    worker: Literal["inline", "thread"]
    turn: Turn | None  # what its calls wait for before they start; None: nothing
    simulate: Run | None
    simulate_is_async: bool
    simulate_needs: Needs
    agents: frozenset[str] | None  # who may see it; None: everybody
    retries: Retries | None
    idempotent: bool
    probe: Run | None  # tells whether a write took place
    probe_is_async: bool
    probe_needs: Needs
    mask_errors: bool
    strict: bool | None  # False: no provider's strict mode, even where its schema satisfies it

    @property
    def plan(self) -> Plan:
        """What the gate reads; a snapshot lays it out, because `__getattr__` slows every look at an entry."""
        threaded = self.worker == "thread"
        return (
            self.kind,
            self.parse,
            (self.run, self.is_async, threaded, self.needs),
            (self.simulate, self.simulate_is_async, threaded or self.is_async, self.simulate_needs),
            self.turn,
            self.agents,
            self.finish,
            self.debug_steps,
        )

    @property
    def wants_context(self) -> bool:
        """Whether it takes a context, or something that comes with one."""
        return self.needs is not None

    @property
    def description(self) -> str | None:
        """For the model."""
        return self.published.description

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """JSON Schema of the arguments."""
        return self.published.input_schema

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """JSON Schema of each parameter, each one complete: its `$defs` come along."""
        schema = self.input_schema
        return {name: closed_view(schema, part) for name, part in schema.get("properties", {}).items()}

    @property
    def output_schema(self) -> Mapping[str, Any] | None:
        """JSON Schema of the result; None where nothing is declared."""
        return self.published.output_schema

    @property
    def fingerprint(self) -> str:
        """Stable digest of id, kind, description and schemas."""
        return self.published.fingerprint

    def __repr__(self) -> str:
        return f"<RegisteredTool {self.id} ({self.kind})>"

    def __getattr__(self, name: str) -> Any:
        """Fall through to the fields of the host's own tool type."""
        if name.startswith("__"):
            raise AttributeError(name)
        source = object.__getattribute__(self, "source")
        if isinstance(source, Mapping):
            try:
                return source[name]  # type: ignore[index]
            except KeyError:
                raise AttributeError(name) from None
        return getattr(source, name)
