"""Options that several commands share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

AsJson = Annotated[
    bool,
    Parameter(
        name="--json", negative="", show_default=False, help="Print JSON, as docs/terminal.md describes it."
    ),
]
ConfigPath = Annotated[
    Path | None,
    Parameter(name="--config", help="The configuration file; else callboard.toml of this folder."),
]
Limit = Annotated[int, Parameter(name="--limit", help="At most so many, newest first.")]
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


def split(status: str | None) -> tuple[str, ...]:
    """The words of ``--status a,b``."""
    return tuple(word.strip() for word in (status or "").split(",") if word.strip())
