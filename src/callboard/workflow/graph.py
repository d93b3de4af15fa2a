"""The shape of a workflow: nodes, the routes between them, and how a node's partial state is merged."""

import dataclasses
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, cast, overload

from typing_extensions import TypeVar

from callboard.errors import WorkflowError

S = TypeVar("S", default=Any)
R = TypeVar("R", default=Any)
S_contra = TypeVar("S_contra", contravariant=True)

_NODE_ID = re.compile(r"[^\s/#@]{1,100}")


@dataclass(frozen=True)
class Route(Generic[S_contra]):
    """Where a run goes after a node; made by `route`. The first whose `when` holds is taken."""

    kind: Literal["to", "deliver", "fail", "exhaust"]
    target: str
    when: Callable[[S_contra], object] | None = None
    message: str = ""


class route:  # noqa: N801 - reads as a word at the call: route.to("act")
    """The four kinds of routes. One without `when` fits every state, and is always taken."""

    @overload
    @staticmethod
    def to(node: str) -> Route[object]: ...
    @overload
    @staticmethod
    def to(node: str, when: Callable[[S], object]) -> Route[S]: ...
    @staticmethod
    def to(node: str, when: Any = None) -> Route[Any]:
        """Go on with `node`."""
        return Route("to", node, when)

    @overload
    @staticmethod
    def deliver(key: str) -> Route[object]: ...
    @overload
    @staticmethod
    def deliver(key: str, when: Callable[[S], object]) -> Route[S]: ...
    @staticmethod
    def deliver(key: str, when: Any = None) -> Route[Any]:
        """End the run with the state's `key`."""
        return Route("deliver", key, when)

    @overload
    @staticmethod
    def fail(code: str, message: str = "") -> Route[object]: ...
    @overload
    @staticmethod
    def fail(code: str, message: str = "", *, when: Callable[[S], object]) -> Route[S]: ...
    @staticmethod
    def fail(code: str, message: str = "", *, when: Any = None) -> Route[Any]:
        """End the run as failed, for the reason `code`."""
        return Route("fail", code, when, message)

    @overload
    @staticmethod
    def exhaust(reason: str) -> Route[object]: ...
    @overload
    @staticmethod
    def exhaust(reason: str, when: Callable[[S], object]) -> Route[S]: ...
    @staticmethod
    def exhaust(reason: str, when: Any = None) -> Route[Any]:
        """End the run as budget_exhausted: a limit of its own was reached."""
        return Route("exhaust", reason, when)


@dataclass(frozen=True)
class Node(Generic[S]):
    """One stage of a workflow.

    Attributes:
        id: unique in its workflow; without white space, ``/``, ``#`` and ``@``.
        run: a coroutine function of (), (state) or (state, ctx) that returns a partial state: a mapping of
            what changed, a whole new state of a dataclass, or None. It awaits what `ctx` offers; whatever it
            learns otherwise is not there again when the run is resumed.
        routes: asked in order, with the merged state.
        description: for people.
        starts_round: each visit is a new round.
    """

    id: str
    run: (
        Callable[[S, Any], Awaitable[Mapping[str, Any] | S | None]]
        | Callable[[S], Awaitable[Mapping[str, Any] | S | None]]
        | Callable[[], Awaitable[Mapping[str, Any] | S | None]]
    )
    routes: Sequence[Route[S]]
    description: str = ""
    starts_round: bool = False
    takes: int = field(init=False, repr=False, compare=False, default=2)

    def __post_init__(self) -> None:
        """Refuse what can't work, and see what `run` takes.

        Raises:
            WorkflowError: for an id of another form, or a `run` that is not callable.
        """
        if not _NODE_ID.fullmatch(self.id):
            raise WorkflowError(
                f"node id {self.id!r}: 1 to 100 characters without white space, '/', '#' and '@'",
                code="workflow.node_id",
            )
        if not callable(self.run):
            raise WorkflowError(f"node {self.id}: run is not callable", code="workflow.node_run")
        object.__setattr__(self, "routes", tuple(self.routes))
        object.__setattr__(self, "takes", _positional(self.run))


def _positional(run: Callable[..., Any]) -> int:
    kinds = [parameter.kind for parameter in inspect.signature(run).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return 2
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return min(2, sum(kind in named for kind in kinds))


@dataclass(frozen=True)
class Workflow(Generic[S, R]):
    """Nodes, run from the first one on, over a state `S`; what is delivered is an `R`.

    The state is a mapping or a frozen dataclass. A node's partial state is merged into a new one; nothing is
    changed in place.

    Attributes:
        id: for people and events.
        nodes: at least one.
        salvage: the state's key whose value a run still has when it ends otherwise than by deliver.
        agent: the path of the agent whose conversation it is; None where it is no conversation.
    """

    id: str
    nodes: Sequence[Node[S]]
    salvage: str | None = None
    agent: str | None = None

    def __post_init__(self) -> None:
        """Refuse what can't work.

        Raises:
            WorkflowError: for no nodes, an id used twice, a node without routes, or a route to nowhere.
        """
        nodes = tuple(self.nodes)
        object.__setattr__(self, "nodes", nodes)
        ids = [node.id for node in nodes]
        if not ids:
            raise WorkflowError(f"workflow {self.id}: it has no nodes", code="workflow.no_nodes")
        for node in nodes:
            if ids.count(node.id) > 1:
                raise WorkflowError(
                    f"workflow {self.id}: two nodes are {node.id!r}", code="workflow.node_twice"
                )
            if not node.routes:
                raise WorkflowError(
                    f"workflow {self.id}: node {node.id!r} has no routes",
                    code="workflow.no_route",
                    hint="end with route.deliver, route.fail or route.exhaust",
                )
            for way in node.routes:
                if way.kind == "to" and way.target not in ids:
                    raise WorkflowError(
                        f"workflow {self.id}: {node.id!r} goes to {way.target!r}, which is not there",
                        code="workflow.no_node",
                        hint=f"the nodes are {', '.join(ids)}",
                    )


def merged(state: S, partial: object, node: str) -> S:
    """The state with what `node` returned.

    Raises:
        WorkflowError: the partial state is no mapping, or names what a dataclass does not have.
    """
    if partial is None:
        return state
    if type(partial) is type(state) and dataclasses.is_dataclass(partial):
        return partial
    if not isinstance(partial, Mapping):
        raise WorkflowError(
            f"node {node!r} returned {type(partial).__name__}: a partial state is a mapping or None",
            code="workflow.partial",
        )
    changed = cast("Mapping[str, Any]", partial)
    if isinstance(state, Mapping):
        return cast("S", {**cast("Mapping[str, Any]", state), **changed})
    try:
        return cast("S", dataclasses.replace(cast("Any", state), **changed))
    except TypeError as error:
        raise WorkflowError(
            f"node {node!r} returned {', '.join(changed)}, which is not of {type(state).__name__}: {error}",
            code="workflow.partial",
        ) from error


def looked_up(state: object, key: str | None) -> Any:
    """The state's value of that key; None where it has none."""
    if key is None:
        return None
    if isinstance(state, Mapping):
        return cast("Mapping[str, Any]", state).get(key)
    return getattr(state, key, None)


def delivered(state: object, key: str) -> Any:
    """The state's value of that key.

    Raises:
        WorkflowError: it has none.
    """
    value = looked_up(state, key)
    there = value is not None or (key in state if isinstance(state, Mapping) else hasattr(state, key))
    if not there:
        raise WorkflowError(
            f"route.deliver({key!r}): the state has no such key",
            code="workflow.no_key",
            hint="let a node return it before the run ends",
        )
    return value


def chosen(node: Node[S], state: S) -> Route[S]:
    """The route to take from here.

    Raises:
        WorkflowError: none applies.
    """
    for way in node.routes:
        if way.when is None or way.when(state):
            return way
    raise WorkflowError(
        f"no route of node {node.id!r} applies",
        code="workflow.no_route",
        hint="end the list with a route that has no `when`",
    )
