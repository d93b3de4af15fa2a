"""A guard in this process: calls that are simulated or denied touch nothing, or the test fails.

It hears the interpreter's audit events, so it sees what Python code does. It can't see what a library does in
C without telling the interpreter, what goes through a file, a socket or a database connection that was opened
before, what other processes do, and what a thread does that the tool started itself.
"""

import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Self

from callboard.events import CallEvent, CallStarted, ToolCallRecord

_SHOWN = 200  # characters of what was touched
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_FIRST, _SECOND, _BOTH, _NONE = slice(0, 1), slice(1, 2), slice(0, 2), slice(0, 0)
# An audit event: how it is told, and which of its arguments say what was touched.
_EVENTS: Mapping[str, tuple[str, slice]] = {
    "open": ("opened for writing", _FIRST),
    "os.chmod": ("changed the mode of", _FIRST),
    "os.chown": ("changed the owner of", _FIRST),
    "os.exec": ("started a program:", _SECOND),
    "os.fork": ("forked", _NONE),
    "os.forkpty": ("forked", _NONE),
    "os.link": ("linked", _BOTH),
    "os.mkdir": ("made the folder", _FIRST),
    "os.posix_spawn": ("started a program:", _SECOND),
    "os.remove": ("removed", _FIRST),
    "os.removexattr": ("changed an attribute of", _FIRST),
    "os.rename": ("renamed", _BOTH),
    "os.rmdir": ("removed the folder", _FIRST),
    "os.setxattr": ("changed an attribute of", _FIRST),
    "os.symlink": ("linked", _BOTH),
    "os.system": ("started a program:", _FIRST),
    "os.truncate": ("cut", _FIRST),
    "os.utime": ("changed the times of", _FIRST),
    "pty.spawn": ("started a program:", _FIRST),
    "socket.bind": ("bound a socket to", _SECOND),
    "socket.connect": ("connected to", _SECOND),
    "socket.getaddrinfo": ("looked up", _FIRST),
    "socket.gethostbyaddr": ("looked up", _FIRST),
    "socket.gethostbyname": ("looked up", _FIRST),
    "socket.sendmsg": ("sent to", _SECOND),
    "socket.sendto": ("sent to", _SECOND),
    "sqlite3.connect": ("opened the database", _FIRST),
    "subprocess.Popen": ("started a program:", _SECOND),
}


class _Watch(NamedTuple):
    """A call in the stack of this context; without a tripwire it may do what it likes."""

    call: str
    what: str
    tripwire: "Tripwire | None"


_stack: ContextVar[tuple[_Watch, ...]] = ContextVar("callboard_tripwire", default=())
_active: list["Tripwire"] = []
_installed: list[bool] = []


class Tripwire:
    """Watches calls while it is entered. What they touch is refused, and kept in `touched`.

    Attributes:
        touched: one line for each touch: the call, and what it did.
    """

    def __init__(self) -> None:
        self.touched: list[str] = []

    def __enter__(self) -> Self:
        """Start to watch. An audit hook can't be taken out again: it stays, and does nothing."""
        if not _installed:
            _installed.append(True)
            sys.addaudithook(_heard)
        _active.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Watch no more."""
        _active.remove(self)

    def hear(self, event: CallEvent) -> None:
        """Learn from the facts of a call, in its own context: which calls run, and which of them for real."""
        if isinstance(event, CallStarted):
            what = f"the simulated call of {event.tool_id}" if event.simulated else ""
            watch = _Watch(event.invocation_id, what, self if event.simulated else None)
            _stack.set((*_stack.get(), watch))
        elif isinstance(event, ToolCallRecord):
            _stack.set(tuple(one for one in _stack.get() if one.call != event.invocation_id))

    @contextmanager
    def undecided(self) -> Generator[None]:
        """Watch what is done before a call is decided, which is all that a denied call may do.

        Raises:
            AssertionError: at the end, if something was touched.
        """
        before, token = (
            len(self.touched),
            _stack.set((*_stack.get(), _Watch("", "a call before its decision", self))),
        )
        try:
            yield
        finally:
            _stack.reset(token)
            self.check(before)

    def check(self, before: int = 0) -> None:
        """Check that nothing was touched, but for the first `before` times.

        Raises:
            AssertionError: with one line for each touch.
        """
        if len(self.touched) > before:
            raise AssertionError("the tripwire was touched:\n  " + "\n  ".join(self.touched[before:]))


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if not _active or event not in _EVENTS:
        return
    stack = _stack.get()
    tripwire = stack[-1].tripwire if stack else None
    if tripwire is None or tripwire not in _active or _harmless(event, arguments):
        return
    verb, about = _EVENTS[event]
    touched = ", ".join(str(one) for one in arguments[about])[:_SHOWN]
    told = f"{stack[-1].what} {verb} {touched}".rstrip()
    tripwire.touched.append(told)
    raise PermissionError(f"tripwire: {told}")


def _harmless(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "sqlite3.connect":
        return ":memory:" in str(arguments[0]) or "mode=ro" in str(arguments[0])
    if event != "open":
        return False
    path, mode, flags = arguments
    writes = any(sign in mode for sign in "wax+") if isinstance(mode, str) else bool((flags or 0) & _WRITING)
    name = os.fsdecode(path) if isinstance(path, str | bytes) else ""
    compiled = "__pycache__" in name and ".pyc" in name  # an import
    return not writes or compiled or name == os.devnull
