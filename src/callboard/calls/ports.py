"""What the gate needs from whoever holds it, and where a call stands among calls."""

import itertools
import os
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4

from callboard.events import CallEvent
from callboard.policy import Authorize, CallView
from callboard.tools import RegisteredTool
from callboard.types import Approver, ErrorFactories, ExecutionOptions, Secrets
from callboard.workers import ThreadPool, Turns, shared_pool

# Sees a call before it is decided; returns None, or the arguments (JSON) that are to go on instead.
BeforeHook = Callable[[CallView], Any]


class Blobs(Protocol):
    """Where results go that are too large for a record."""

    def put(self, text: str) -> str:
        """Keep `text`; returns the handle that the record carries instead."""
        ...


@runtime_checkable
class ReadableBlobs(Blobs, Protocol):
    """Blobs that the model can read on in."""

    def reading(self, handle: str) -> str:
        """How whoever made this moment's call reads the rest, for the note in the shown text; or empty."""
        ...


@dataclass(slots=True, kw_only=True)
class Ports:
    """The gate's surroundings, one set for each registry."""

    emit: Callable[[CallEvent, ExecutionOptions], None]
    authorize: Authorize | None = None
    visible: Callable[[RegisteredTool, ExecutionOptions], bool] | None = None
    approver: Approver | None = None
    before: tuple[BeforeHook, ...] = ()
    errors: ErrorFactories = field(default_factory=ErrorFactories)
    policy_epoch: Callable[[], object] | None = None
    blobs: Blobs | None = None
    secrets: Secrets | None = None  # None: the environment, then the keyring
    injected: Mapping[str, Any] | None = None
    turns: Turns = field(default_factory=Turns)
    pool: ThreadPool = field(default_factory=shared_pool)


# The call that code runs in, for what a call inside it inherits: the invocation ids of it and of the calls
# around it, outermost first; its options; the ports it went through; when it began, on the monotonic clock.
Frame = tuple[tuple[str, ...], ExecutionOptions, Ports, int]
current_frame: ContextVar[Frame | None] = ContextVar("current_frame", default=None)
frame_around, enter_frame, leave_frame = current_frame.get, current_frame.set, current_frame.reset


def frame_here() -> Frame:
    """The frame of the call that is on its way through the gate.

    Raises:
        RuntimeError: there is none.
    """
    frame = frame_around()
    if frame is None:
        raise RuntimeError("no call is on its way here")
    return frame


def delay_frame(waited_ns: int) -> None:
    """Let the call's deadline count from later: calls inside it inherit what is left."""
    chain, options, ports, began_ns = frame_here()
    enter_frame((chain, options, ports, began_ns + waited_ns))


# An invocation id is a prefix that no other process has, and a count.
id_prefix: list[str] = []
id_count = itertools.count(1)


def _new_prefix() -> None:
    id_prefix[:] = [f"{uuid4().hex[:16]}-"]


_new_prefix()
os.register_at_fork(after_in_child=_new_prefix)
