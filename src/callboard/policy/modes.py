"""The host's default policy: by the tool's mode."""

from typing import Literal

from callboard.policy.decisions import CallView, Decision

Rule = Literal["allow", "ask", "deny"]


class ModePolicy:
    """A read runs, a write asks; anything that is not a read counts as a write.

    Args:
        read: what happens to reads.
        write: what happens to writes; a profile's `writes` sets it for its runs.
        source: who said so, for the chain of reasons.
    """

    __slots__ = ("_read", "_simulated", "_write")

    def __init__(self, read: Rule = "allow", write: Rule = "ask", *, source: str = "default policy") -> None:
        self._read = Decision(read, (f"{source}: read = {read}",))
        self._write = Decision(write, (f"{source}: write = {write}",))
        self._simulated = Decision("allow", (f"{source}: a simulated write touches nothing",))

    def __call__(self, view: CallView) -> Decision:
        """Decide by mode; a simulated write needs no person, a denied one stays denied."""
        if view.tool.kind == "read":
            return self._read
        if view.options.simulate and self._write.verdict == "ask":
            return self._simulated
        return self._write
