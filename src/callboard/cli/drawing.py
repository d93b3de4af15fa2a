"""One line or block for each thing that a run shows, in words that read the same with and without colour."""

import json
from collections.abc import Iterator
from typing import Any, cast

from rich.text import Text

from callboard.cli.approver import NOBODY
from callboard.cli.visible import visible
from callboard.views import Card, Entry, Footer, Heading, Notice, Said

_STYLES = {
    "ok": "green",
    "failed": "red",
    "denied": "yellow",
    "cancelled": "yellow",
    "interrupted": "yellow",
    "unknown": "bold red",
    "pending": "dim",
    "waiting": "bold yellow",
    "running": "cyan",
    "completed": "green",
    "budget_exhausted": "yellow",
}
KEPT = "\n\t"  # of texts that are shown as blocks
_WIDTH = 11  # of the word in front of a card
_VALUE = 60  # characters of one argument
_LINES = 6  # lines of a result


def entry(shown: Entry) -> Text:
    """Something finished, as it stands in the scrollback."""
    match shown:
        case Card():
            return finished(shown)
        case Said():
            return Text("\n".join(said(shown.text, shown.agent)))
        case Notice():
            return Text.assemble(
                ("note".ljust(_WIDTH), "yellow"), visible(shown.text, ""), (f" [{shown.code}]", "dim")
            )
        case Heading():
            return Text(f"-- {visible(shown.text, '')}", "bold")


def said(text: str, agent: str = "main") -> Iterator[str]:
    """What a model or a person said, line by line, each after a bar: none passes for a line of ours."""
    who = "" if agent == "main" else f"{visible(agent, '')} "
    for line in visible(text, KEPT).split("\n"):
        yield f"{who}| {line}".rstrip()


def finished(card: Card) -> Text:
    """A call that is done: how it ended, what it was, and the beginning of what came of it."""
    status = card.status or "ok"
    line = _front(card, status)
    facts = [fact for fact, there in (("simulated", card.simulated), ("repaired", card.repaired)) if there]
    if card.seconds is not None:
        facts.append(seconds(card.seconds))
    line.append(f"  ({', '.join(facts)})" if facts else "", "dim")
    if card.error is not None:
        line.append(
            "\n" + _indented(f"{visible(card.error, KEPT)} [{visible(card.code or status, '')}]"), "red"
        )
        hint = step(card.code, card.error, card.hint)
        if hint:
            line.append("\n" + _indented(visible(hint, KEPT)), "dim")
    elif card.result is not None:
        line.append("\n" + _indented(visible(readable(card.result), KEPT)), "dim")
    return line


def step(code: str | None, error: str, hint: str | None) -> str | None:
    """The next step for a person: the hint of a denial speaks to the model that made the call."""
    if code == "injected.missing":
        return f"{hint}; the command line has none: there, the parameter needs a default"
    if code != "approval.denied":
        return hint
    return (
        "--yes allows every call that asks, --answers FILE those that it lists" if error == NOBODY else None
    )


def unfinished(card: Card, now: float) -> Text:
    """A call that is not done."""
    line = _front(card, card.phase)
    if card.phase == "running":
        line.append(f"  {seconds(max(0.0, now - card.started_at))}", "dim")
    if card.progress:
        line.append(f"  {visible(readable(card.progress), '')}", "dim")
    return line


def _front(card: Card, word: str) -> Text:
    line = Text("  " * card.depth)
    line.append(_first(word), _STYLES.get(word, ""))
    line.append(visible(card.tool, ""), "bold")
    if card.agent not in {None, "main"}:
        line.append(f" by {visible(str(card.agent), '')}", "dim")
    told = arguments(card.arguments)
    line.append(f" {told}" if told else "")
    return line


def _first(word: str) -> str:
    """The word at the beginning of a line, as a column where it fits."""
    return word.ljust(_WIDTH) if len(word) < _WIDTH else f"{word}  "


def arguments(text: str, width: int = _VALUE) -> str:
    """JSON arguments as ``name=value`` in one line, each value shortened."""
    try:
        value: Any = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return visible(_cut(text, 2 * width), "")
    pairs = cast("dict[str, Any]", value).items()
    return " ".join(
        visible(f"{name}={_cut(json.dumps(one, ensure_ascii=False), width)}", "") for name, one in pairs
    )


def readable(text: str) -> str:
    """JSON text for a person: a string as itself, anything else as it is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, str) else text


def seconds(value: float) -> str:
    """A duration in the unit that fits it."""
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 60:  # noqa: PLR2004 - a minute
        return f"{value:.1f} s"
    return f"{int(value // 60)} min {int(value % 60)} s"


def footer(state: Footer) -> Text:
    """How the run ended, in one line."""
    line = Text()
    line.append(_first(state.status.replace("_", " ")), f"bold {_STYLES.get(state.status, 'red')}")
    facts = [
        f"{state.rounds} round{'s' * (state.rounds != 1)}",
        f"{state.calls} call{'s' * (state.calls != 1)}{_unsuccessful(state)}",
    ]
    if state.started_at is not None and state.finished_at is not None:
        facts.append(seconds(max(0.0, state.finished_at - state.started_at)))
    facts += [f"{count} {_unit(name, count)}" for name, count in state.usage.items() if count]
    if state.reason:
        facts.insert(0, visible(state.reason, ""))
    line.append(", ".join(facts), "dim")
    if state.message:
        line.append("\n" + _indented(visible(state.message, KEPT)), "red")
    return line


def _unsuccessful(state: Footer) -> str:
    """How many calls did not succeed: a run completes with them all the same."""
    told = ", ".join(f"{count} {status}" for status, count in state.unsuccessful.items())
    return f" ({told})" if told else ""


def _unit(name: str, count: int) -> str:
    """A name such as `output_tokens`, as it is read after this count."""
    shown = visible(name, "").replace("_", " ")
    return shown.removesuffix("s") if count == 1 else shown


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _indented(text: str) -> str:
    lines = text.rstrip("\n").split("\n")
    shown = lines[:_LINES]
    if len(lines) > _LINES:
        shown.append(f"... {len(lines) - _LINES} more lines")
    return "\n".join(f"{'':{_WIDTH}}{line}" for line in shown)
