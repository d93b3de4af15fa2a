"""What a surface shows of a run."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Phase = Literal["pending", "waiting", "running", "done"]
HEAD = 2_000  # characters of a text that a surface shows; the whole is in the record


def shortened(text: str, limit: int = HEAD) -> str:
    """The text, or its beginning with the number of characters that are left out."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text) - limit} more characters)"


@dataclass(slots=True, eq=False)
class Card:
    """One call.

    Attributes:
        run: the run, or child of a run, that made it.
        phase: pending (the model asked for it), waiting (for a person), running, done.
        status: how it ended: a status of its record; None while it has not.
        arguments: JSON text, shortened.
        result: of a call that succeeded: JSON text, shortened.
        reasons: why it was allowed, asked for or denied.
        depth: how many calls are around it.
        started_at, finished_at: Unix seconds.
        step: the recorded step that it is; another attempt at it is another card.
    """

    run: str
    tool: str
    agent: str | None = None
    kind: str | None = None
    phase: Phase = "pending"
    status: str | None = None
    arguments: str = ""
    result: str | None = None
    error: str | None = None
    code: str | None = None
    hint: str | None = None
    progress: str | None = None
    reasons: tuple[str, ...] = ()
    simulated: bool = False
    repaired: bool = False
    depth: int = 0
    started_at: float = 0.0
    finished_at: float | None = None
    seconds: float | None = None
    invocation_id: str | None = None
    step: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """What an agent said, whole."""

    agent: str
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should know; `code` is stable."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Heading:
    """A part of the run that begins, such as a stage or a child."""

    text: str


Entry = Card | Said | Notice | Heading


@dataclass(slots=True)
class Footer:
    """How the run stands.

    Attributes:
        calls: how many have ended.
        unsuccessful: how many of them ended otherwise than `ok`, by status.
    """

    status: str = "running"
    reason: str | None = None
    message: str | None = None
    rounds: int = 0
    usage: dict[str, int] = field(default_factory=dict[str, int])
    calls: int = 0
    unsuccessful: dict[str, int] = field(default_factory=dict[str, int])
    started_at: float | None = None
    finished_at: float | None = None


@dataclass(slots=True)
class RunState:
    """The state of a surface that shows one run and its children.

    Attributes:
        id: the run's id; events of its children have ids that begin with it and a slash.
        about: what `run.started` said.
        history: what is finished, in the order in which it finished: each entry is shown once.
        open: calls that are not done, oldest first.
        speaking: text that an agent is saying just now, by (run, agent).
        thinking: since when a model is being waited for, by (run, agent).
        value: the beginning of what the run delivered.
    """

    id: str
    about: Mapping[str, object] = field(default_factory=dict[str, object])
    history: list[Entry] = field(default_factory=list[Entry])
    open: list[Card] = field(default_factory=list[Card])
    speaking: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    thinking: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    footer: Footer = field(default_factory=Footer)
    value: str | None = None
    # how facts find their card
    requested: dict[tuple[str, str], Card] = field(default_factory=dict[tuple[str, str], Card])
    invoked: dict[str, Card] = field(default_factory=dict[str, Card])
    known: set[tuple[str, str, int]] = field(default_factory=set[tuple[str, str, int]])
    unbound: dict[tuple[str, str], deque[Card]] = field(
        default_factory=dict[tuple[str, str], "deque[Card]"],
    )
