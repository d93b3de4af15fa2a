"""What a tool that asks for it learns about its call."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

from callboard.types.abort import Abort
from callboard.types.logs import redacting
from callboard.types.options import ExecutionOptions
from callboard.types.principal import Principal
from callboard.types.redaction import Redaction

_silent = logging.getLogger("callboard.tools")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class RunView(Protocol):
    """What belongs to the run and stands under ``ctx.run``."""

    @property
    def id(self) -> str:
        """The run's id."""
        ...

    @property
    def abort(self) -> Abort:
        """The run's abort: work that can be cancelled respects it."""
        ...


class ToolContext:
    """The context of one call. A parameter of this type is filled in and never shown to the model.

    What the host adds (`ExecutionOptions.context`) is read through: ``ctx.conversation``, ``ctx.user_name``.
    """

    __slots__ = (
        "_abort",
        "_ended",
        "_options",
        "_over",
        "_report",
        "call_key",
        "delivered",
        "invocation_id",
        "redaction",
    )

    def __init__(
        self,
        options: ExecutionOptions,
        invocation_id: str,
        call_key: str,
        report: Callable[..., None],
    ) -> None:
        self._options = options
        self._report = report
        self.delivered = _NOTHING  # to parameters that no model sees, by name
        self.redaction = options.redaction  # keeps secrets out of what is said of the call
        self.invocation_id = invocation_id
        self.call_key = call_key
        self._abort: Abort | None = None
        self._ended: str | None = None
        self._over = False

    @property
    def abort(self) -> Abort:
        """Set when the call is to end: by the caller, the run, or its deadline."""
        if self._abort is None:
            given = self._options.abort
            self._abort = Abort() if given is None else given.child()
        if self._ended is not None:
            self._abort.set(self._ended)
        return self._abort

    def end(self, reason: str | None) -> None:
        """The call is over. With a reason, a thread that was left running hears of it through `abort`."""
        self._over = True
        self._ended = reason
        if reason is not None and self._abort is not None:
            self._abort.set(reason)

    def deliver(self, values: Mapping[str, Any], redaction: Redaction | None) -> None:
        """Take what fills in the call's own parameters, and what keeps it out of reports and logs."""
        self.delivered = values
        self.redaction = redaction
        self._report = partial(self._report, redaction=redaction)

    @property
    def logger(self) -> logging.Logger:
        """The call's logger, else that of Callboard's tools; what was delivered as a secret is not logged."""
        return redacting(self._options.logger or _silent, self.redaction)

    @property
    def principal(self) -> Principal | None:
        """On whose behalf the call is made."""
        return self._options.principal

    @property
    def agent(self) -> str | None:
        """The path of the calling agent."""
        return self._options.agent

    @property
    def simulate(self) -> bool:
        """Whether this is a simulation."""
        return bool(self._options.simulate)

    @property
    def task_id(self) -> str | None:
        """The id of the task; None where there is none."""
        return getattr(self._options.context, "task_id", None)

    @property
    def workspace(self) -> Any:
        """The workspace folder; None where there is none."""
        return getattr(self._options.context, "workspace", None)

    @property
    def run(self) -> RunView | None:
        """The run's own state; None outside a run."""
        return getattr(self._options.context, "run", None)

    def report(self, value: Any) -> None:
        """Tell observers something while the call runs; `value` is JSON."""
        if not self._over:  # a thread that was left running reports to nobody
            self._report(value)

    def __getattr__(self, name: str) -> Any:
        """Fall through to what the host put into the context."""
        host = self._options.context
        if host is None or name.startswith("_"):
            raise AttributeError(f"ctx.{name}: the host of this call has nothing of that name")
        return getattr(host, name)
