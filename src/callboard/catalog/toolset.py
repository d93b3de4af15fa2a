"""An ordered, named group of tools with one owner."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from callboard.errors import RegistrationError
from callboard.tools import RegisteredTool, registered

_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True, slots=True)
class Toolset:
    """Tools that come and go together.

    Args:
        name: of the group, unique in its catalog.
        tools: whatever a registry takes.
        prefix: put before each id with a `-`; None leaves the ids as they are.
    """

    name: str
    tools: tuple[Any, ...]
    prefix: str | None = None

    def __init__(self, name: str, tools: Iterable[Any], *, prefix: str | None = None) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "tools", tuple(tools))
        object.__setattr__(self, "prefix", prefix)
        if not name:
            raise RegistrationError("a toolset needs a name")
        if prefix is not None and not _PREFIX.fullmatch(prefix):
            raise RegistrationError(
                f"toolset {name!r}: the prefix {prefix[:60]!r} is no name",
                hint="use letters, digits, _, - and .",
            )

    def entries(self) -> list[RegisteredTool]:
        """The tools in the form in which a registry keeps them, under their full ids.

        Raises:
            RegistrationError: for a tool that can't work.
        """
        entries = [registered(tool) for tool in self.tools]
        return entries if self.prefix is None else [_prefixed(entry, self.prefix) for entry in entries]


def _prefixed(entry: RegisteredTool, prefix: str) -> RegisteredTool:
    """The entry under its full id; a limit of its own is of that id, too."""
    full = f"{prefix}-{entry.id}"
    return replace(entry, id=full, turn=None if entry.turn is None else entry.turn.of(entry.id, full))
