"""What the tools of a catalog share by name, and that they mean the same by it."""

from collections.abc import Iterable, Mapping

from callboard.errors import RegistrationError
from callboard.tools import RegisteredTool
from callboard.tools.limits import OWN, Pace, Places, said

# From each shared name, once for places and once for paces, to what it means and the tool that said so.
Shared = Mapping[tuple[type, str], tuple[Places | Pace, str]]


def agreed(known: Shared, tools: Iterable[RegisteredTool]) -> Shared:
    """What is known with what these tools bring.

    Raises:
        RegistrationError: a tool means something else by a name that another one uses.
    """
    found: dict[tuple[type, str], tuple[Places | Pace, str]] = {}
    for tool in tools:
        for part in () if tool.turn is None else tool.turn:
            if part is None or part.name.startswith(OWN):
                continue
            key = (type(part), part.name)
            other, by = found.get(key) or known.get(key) or (part, tool.id)
            if part != other:
                raise RegistrationError(
                    f"tool {tool.id!r} has {said(part)}, and tool {by!r} has {said(other)}",
                    code="tool.limit_differs",
                    hint="give both the same limit, or another name to one",
                )
            found[key] = (other, by)
    return {**known, **found} if found else known
