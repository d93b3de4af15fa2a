"""The mutable catalog, and its immutable snapshots."""

import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from callboard.catalog.agreement import Shared, agreed
from callboard.catalog.toolset import Toolset
from callboard.errors import RegistrationError, SealedError
from callboard.tools import RegisteredTool
from callboard.tools.entry import Plan

HOST = "host"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a call is made against and a run pins: tools in declaration order, short names of toolsets."""

    number: int
    tools: Mapping[str, RegisteredTool]
    plans: Mapping[str, tuple[RegisteredTool, *Plan]]
    short_names: Mapping[str, tuple[str, ...]]


class Catalog:
    """All tools, each with its owner, in declaration order. Safe from any thread."""

    __slots__ = (
        "_lock",
        "_number",
        "_owners",
        "_shared",
        "_short_names",
        "_tools",
        "_toolsets",
        "published",
        "sealed",
    )

    def __init__(self) -> None:
        self._tools: dict[str, RegisteredTool] = {}
        self._owners: dict[str, str] = {}
        self._toolsets: dict[str, str] = {}
        self._short_names: dict[str, tuple[str, ...]] = {}
        self._shared: Shared = {}
        self._number = 0
        self.published: Snapshot | None = None  # None after a change, until somebody looks
        self.sealed = False
        self._lock = threading.RLock()

    def add(self, tools: Iterable[RegisteredTool], owner: str = HOST) -> None:
        """Add tools: all or nothing.

        Raises:
            SealedError: the catalog is closed.
            RegistrationError: an id is taken, and the first owner keeps it; or two tools share a limit and
                differ in what it is.
        """
        entries = tuple(tools)  # whatever makes them runs outside of the lock
        with self._lock:
            if self.sealed:
                raise SealedError("the registry is sealed", hint="register before seal()")
            fresh: dict[str, RegisteredTool] = {}
            for tool in entries:
                if tool.id in self._tools or tool.id in fresh:
                    raise _taken(tool.id, self._owners.get(tool.id, owner))
                fresh[tool.id] = tool
            self._shared = agreed(self._shared, fresh.values())
            self._tools.update(fresh)
            self._owners.update(dict.fromkeys(fresh, owner))
            self._changed()

    def add_toolset(self, toolset: Toolset, owner: str = HOST) -> None:
        """Add a toolset: all or nothing.

        Raises:
            RegistrationError: its name or one of its ids is taken, or a tool can't work.
        """
        entries = toolset.entries()
        with self._lock:
            if toolset.name in self._toolsets:
                raise RegistrationError(
                    f"toolset {toolset.name!r} is registered already", code="toolset.duplicate"
                )
            self.add(entries, owner)
            self._toolsets[toolset.name] = owner
            for entry in entries if toolset.prefix is not None else ():
                short = entry.id.removeprefix(f"{toolset.prefix}-")
                self._short_names[short] = (*self._short_names.get(short, ()), entry.id)

    def remove(self, owner: str) -> tuple[str, ...]:
        """Take back everything that an owner contributed; returns the ids."""
        with self._lock:
            gone = tuple(name for name, holder in self._owners.items() if holder == owner)
            for name in gone:
                del self._tools[name], self._owners[name]
            self._toolsets = {name: by for name, by in self._toolsets.items() if by != owner}
            left = {
                short: tuple(name for name in ids if name in self._tools)
                for short, ids in self._short_names.items()
            }
            self._short_names = {short: ids for short, ids in left.items() if ids}
            self._shared = agreed({}, self._tools.values())
            self._changed()
        return gone

    def owner(self, tool_id: str) -> str | None:
        """Who contributed the tool of that id; None where there is none."""
        return self._owners.get(tool_id)

    def seal(self) -> None:
        """Close it to registration. What is there stays as it is."""
        with self._lock:
            self.sealed = True

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot, made at the first look after a change."""
        with self._lock:
            if self.published is None:
                self.published = Snapshot(
                    self._number,
                    MappingProxyType(dict(self._tools)),
                    {name: (tool, *tool.plan) for name, tool in self._tools.items()},
                    MappingProxyType(dict(self._short_names)),
                )
            return self.published

    def copy(self) -> "Catalog":
        """An open catalog with the same tools and owners; the two go their own ways from here."""
        made = Catalog()
        with self._lock:
            made._tools = dict(self._tools)
            made._owners = dict(self._owners)
            made._toolsets = dict(self._toolsets)
            made._short_names = dict(self._short_names)
            made._shared = self._shared
            made._number = self._number
            made.published = self.published
        return made

    def live(self) -> Iterator[RegisteredTool]:
        """The tools, with what is registered meanwhile; an id that is removed before its turn is left out."""
        seen: set[str] = set()
        number = -1
        while number != self._number:
            with self._lock:
                number, tools = self._number, tuple(self._tools.items())
            for name, tool in tools:
                if name not in seen and name in self._tools:
                    seen.add(name)
                    yield tool

    def _changed(self) -> None:
        self._number += 1
        self.published = None


def _taken(tool_id: str, holder: str) -> RegistrationError:
    return RegistrationError(
        f"tool {tool_id!r} is registered already" + ("" if holder == HOST else f", by {holder}"),
        code="tool.duplicate",
        hint="choose another name, or put the tools into toolsets with a prefix",
    )
