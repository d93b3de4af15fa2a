"""Events of a run: one envelope, a closed set of types, an identity that survives a resume.

The whole contract, with the data of each type, is docs/contracts/events.md.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

RunEventType = Literal[
    "run.started",
    "run.finished",
    "node.started",
    "node.finished",
    "child.started",
    "child.finished",
    "model.started",
    "model.finished",
    "text.delta",
    "call.requested",
    "call.started",
    "call.progress",
    "call.finished",
    "call.answered",
    "approval.asked",
    "approval.answered",
    "budget.exhausted",
    "notice",
]
RUN_EVENT_TYPES: frozenset[str] = frozenset(get_args(RunEventType))
VERSION = 1


class RunEvent(NamedTuple):
    """One fact of a run.

    `(run, path, n)` is its identity: drawn like a step id, so an event that is emitted again at a resume is
    known and dropped. `n` is 0 for transient events (text deltas), which are never stored. `seq` is only the
    position in the log that was read, 0 before it was stored. `at` is Unix time in seconds.
    """

    run: str
    path: str
    n: int
    type: RunEventType
    at: float
    data: Mapping[str, Any]
    seq: int = 0
    v: int = VERSION

    def to_json(self) -> dict[str, Any]:
        """The event as a flat JSON object; the envelope's keys are never taken by `data`."""
        return {
            "v": self.v,
            "seq": self.seq,
            "run": self.run,
            "path": self.path,
            "n": self.n,
            "type": self.type,
            "at": self.at,
            "data": dict(self.data),
        }
