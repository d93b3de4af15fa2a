"""Names on the wire: what model providers accept, and the way back to the tool's id."""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping

WIRE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")  # the same for all providers: a run may change models
_ILLEGAL = re.compile(r"[^A-Za-z0-9-]+")
_LENGTH = 64
_DIGEST = 10


class WireNames(Mapping[str, str]):
    """From tool ids to the names a model sees, both ways; no two ids share a name.

    A legal id is its own name. Any other is made legal, or shortened, and ends in a hash of the whole id, so
    its name depends neither on the order of the tools nor on which others there are.
    """

    __slots__ = ("_ids", "_names")

    def __init__(self, tool_ids: Iterable[str]) -> None:
        ids = sorted(set(tool_ids))
        self._ids = {tool_id: tool_id for tool_id in ids if WIRE_NAME.fullmatch(tool_id)}
        self._names = dict(self._ids)
        for tool_id in ids:
            if tool_id not in self._names:
                self._add(tool_id)

    def _add(self, tool_id: str) -> None:
        salt = ""
        while (name := wire_name(tool_id, salt)) in self._ids:
            salt += "+"  # somebody registered exactly this name
        self._ids[name] = tool_id
        self._names[tool_id] = name

    def __getitem__(self, tool_id: str) -> str:
        return self._names[tool_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def tool_id(self, name: str) -> str | None:
        """The id behind a name on the wire; None for a name that was never given."""
        return self._ids.get(name)


def wire_name(tool_id: str, salt: str = "") -> str:
    """A legal name for an id that is none itself.

    Args:
        tool_id: the id.
        salt: goes into the hash, for the case that the name is taken.
    """
    digest = hashlib.sha256(f"{salt}{tool_id}".encode()).digest()
    tail = base64.b32encode(digest).decode().lower()[:_DIGEST]
    kept = _ILLEGAL.sub("_", tool_id).strip("_-")
    if not kept[:1].isalpha():
        kept = f"tool_{kept}"
    return f"{kept[: _LENGTH - _DIGEST - 1].rstrip('_-')}_{tail}"
