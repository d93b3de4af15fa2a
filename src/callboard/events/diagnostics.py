"""Seed 003's diagnostics: a scope that facts are reported to, and live observation bound to it."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from callboard.events.calls import EventName

Content = Literal["metadata", "content"]
Payload = Callable[[], Any]
Sink = Callable[[Any], Awaitable[None] | None]
Observer = Callable[[EventName, Any], None]
LogDestination = Callable[[EventName, Any, Any], None]

EVENT_NAMES: frozenset[str] = frozenset(get_args(EventName))

_log = logging.getLogger("callboard.diagnostics")


@runtime_checkable
class DiagnosticContext(Protocol):
    """Where the facts of a call go. Event names are a closed set, payloads the values of `events`."""

    @property
    def identity(self) -> Mapping[str, Any] | None:
        """What the scope is bound to; None when it is bound to no execution."""
        ...

    def enabled(self, event: EventName, content: Content = "metadata") -> bool:
        """A cheap look, so that a payload need not be built."""
        ...

    def emit(self, event: EventName, payload: Payload, debug: Any = None) -> None:
        """Record one fact. An observer's failure never reaches the caller."""
        ...

    async def deliver(self, event: EventName, payload: Payload, sink: Sink) -> None:
        """Record one fact and hand the same one to `sink`, in order; what the sink raises is raised."""
        ...

    def child(self, span_id: str, fields: Mapping[str, Any] | None = None) -> "DiagnosticContext":
        """A scope inside this one; `fields` fill in what this one does not know."""
        ...

    def with_observer(self, observer: Observer) -> "DiagnosticContext":
        """The same destination and identity, observed live."""
        ...


class DiagnosticScope:
    """The scope that Callboard brings: a log destination, an identity, observers.

    Args:
        log: receives (event, payload, debug) of each fact; None keeps none.
        identity: what the scope is bound to.
        content: the levels that are on; `content` facts are off unless listed.
        debug: whether debug steps are handed on.
    """

    __slots__ = ("_content", "_debug", "_log", "_observers", "identity")

    def __init__(
        self,
        log: LogDestination | None = None,
        *,
        identity: Mapping[str, Any] | None = None,
        content: frozenset[Content] = frozenset({"metadata"}),
        debug: bool = False,
        observers: tuple[Observer, ...] = (),
    ) -> None:
        self._log = log
        self.identity = None if identity is None else dict(identity)
        self._content = content
        self._debug = debug
        self._observers = observers

    def enabled(self, event: EventName, content: Content = "metadata") -> bool:
        """Whether anybody listens to this event at this level."""
        return (
            event in EVENT_NAMES
            and content in self._content
            and (self._log is not None or bool(self._observers))
        )

    def emit(self, event: EventName, payload: Payload, debug: Any = None) -> None:
        """Record one fact; see `DiagnosticContext.emit`.

        Raises:
            ValueError: for an event name outside the closed set.
        """
        if event not in EVENT_NAMES:
            raise ValueError(f"no such event: {event!r}; the events are {', '.join(sorted(EVENT_NAMES))}")
        if self.enabled(event):
            self._hand_out(event, payload(), debug)

    async def deliver(self, event: EventName, payload: Payload, sink: Sink) -> None:
        """Record one fact and await `sink` with the same one."""
        fact = payload()
        self.emit(event, lambda: fact)
        waiting = sink(fact)
        if isawaitable(waiting):
            await waiting

    def child(self, span_id: str, fields: Mapping[str, Any] | None = None) -> "DiagnosticScope":
        """A child span: what the parent knows stays."""
        known = self.identity or {}
        parent = {"parent_id": known["span_id"]} if "span_id" in known else {}
        identity = {**(fields or {}), **known, **parent, "span_id": span_id}
        return self._with(identity, self._observers)

    def with_observer(self, observer: Observer) -> "DiagnosticScope":
        """This scope, observed live."""
        return self._with(self.identity, (*self._observers, observer))

    def _with(self, identity: Mapping[str, Any] | None, observers: tuple[Observer, ...]) -> "DiagnosticScope":
        return DiagnosticScope(
            self._log,
            identity=identity,
            content=self._content,
            debug=self._debug,
            observers=observers,
        )

    def _hand_out(self, event: EventName, fact: Any, debug: Any) -> None:
        if self._log is not None:
            _shielded(self._log, event, fact, debug if self._debug else None)
        for observer in self._observers:
            _shielded(observer, event, fact)


def _shielded(receiver: Callable[..., None], *args: Any) -> None:
    try:
        receiver(*args)
    except Exception:  # noqa: BLE001 - logged: an observer never disturbs the call
        _log.exception("a receiver of diagnostics failed")
