"""Options that several commands share."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import CycloptsError, Parameter, validators

AsJson = Annotated[
    bool,
    Parameter(name="--json", negative="", show_default=False, help="Print JSON, for programs."),
]
ConfigPath = Annotated[
    Path | None,
    Parameter(name="--config", help="The configuration file; else callboard.toml of this folder."),
]
RUN_STATUSES = ("running", "completed", "failed", "cancelled", "budget_exhausted", "interrupted")
CALL_STATUSES = ("ok", "failed", "denied", "cancelled", "interrupted", "unknown")

Limit = Annotated[
    int,
    Parameter(
        name="--limit",
        validator=validators.Number(gte=1, lte=1_000_000),
        help="At most so many, newest first.",
    ),
]
Status = Annotated[
    str | None,
    Parameter(name="--status", help="Only those that ended so; several with commas between them."),
]


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Asking:
    """Who answers when a call asks.

    Attributes:
        yes: allow every call that asks.
        answers: a file that lists the exact calls that are allowed; all others are denied.
    """

    yes: Annotated[
        bool,
        Parameter(
            name="--yes",
            negative="",
            show_default=False,
            help="Allow every call that asks, in this command only.",
        ),
    ] = False
    answers: Annotated[
        Path | None,
        Parameter(name="--answers", help="A file with the exact calls to allow; others are denied."),
    ] = None


def split(status: str | None, legal: Sequence[str]) -> tuple[str, ...]:
    """The words of ``--status a,b``.

    Raises:
        CycloptsError: one of them is no status.
    """
    words = tuple(word.strip() for word in (status or "").split(",") if word.strip())
    for word in words:
        if word not in legal:
            raise CycloptsError(msg=f"there is no status {word!r} (there are {', '.join(legal)})")
    return words
