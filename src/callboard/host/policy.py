"""The host's own policy: `[policy]` of the configuration, and a profile's `writes` for its runs."""

from typing import Literal

from callboard.config import Policy
from callboard.policy import CallView, Decision, ModePolicy

Writes = Literal["ask", "allow"]


class HostPolicy:
    """By mode. A profile's `writes` takes the place of `[policy] write`, unless that denies."""

    __slots__ = ("_by_writes", "_plain")

    def __init__(self, policy: Policy) -> None:
        self._plain = ModePolicy(policy.read, policy.write, source="[policy]")
        self._by_writes: dict[Writes, ModePolicy] = {
            writes: ModePolicy(
                policy.read,
                policy.write if policy.write == "deny" else writes,
                source="[policy]" if policy.write == "deny" else "the profile's writes",
            )
            for writes in ("ask", "allow")
        }

    def __call__(self, view: CallView) -> Decision:
        """Decide about a call of a run, or of the host's registry."""
        writes: Writes | None = getattr(view.options.context, "writes", None)
        chosen = self._plain if writes is None else self._by_writes[writes]
        return chosen(view)
