"""An ordered, named group of tools with one owner."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from callboard.errors import RegistrationError
from callboard.tools import RegisteredTool, registered


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

    def entries(self) -> list[RegisteredTool]:
        """The tools in the form in which a registry keeps them, under their full ids.

        Raises:
            RegistrationError: for a tool that can't work.
        """
        entries = [registered(tool) for tool in self.tools]
        if self.prefix is None:
            return entries
        return [replace(entry, id=f"{self.prefix}-{entry.id}") for entry in entries]
