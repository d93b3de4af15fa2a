"""What a person reads before a call runs: all of it, nothing hidden."""

import json
from dataclasses import dataclass
from typing import Any, cast

from rich.text import Text

from callboard.cli.visible import pieces
from callboard.types import ApprovalRequest

LIMIT = 6_000  # characters of exact arguments that are shown at once
_BLOCK = 30  # lines of one argument
_CHOICES = "allow (a) / deny (d or Enter) / deny with a reason (d REASON)"


@dataclass(frozen=True, slots=True)
class Question:
    """The text of a question; `whole` is False where arguments had to be shortened to fit."""

    text: Text
    whole: bool


def question(request: ApprovalRequest, *, everything: bool = False) -> Question:
    """Tool, agent, reasons, the arguments to read, and exactly the JSON text that would run."""
    text = Text()
    _row(text, "", Text.assemble(_shown(request.tool_id, "bold"), " wants to run"), mark="?")
    caller = f", called by {request.agent}" if request.agent else ""
    _row(text, "tool", _shown(f"{request.tool_id} ({request.kind}){caller}"))
    if request.principal is not None:
        _row(text, "for", _shown(" of ".join(part for part in request.principal if part)))
    if request.description:
        _row(text, "what", _shown(request.description.split("\n\n")[0].replace("\n", " ")))
    if request.reasons:
        _row(text, "why", _shown("; ".join(request.reasons)))
    for name, value in _readable(request.arguments):
        _argument(text, name, value, everything=everything)
    exact, whole = request.arguments, True
    if len(exact) > LIMIT and not everything:
        left_out = len(exact) - LIMIT
        exact = (
            f"{exact[: LIMIT * 2 // 3]} [... {left_out} characters are not shown ...] {exact[-LIMIT // 3 :]}"
        )
        whole = False
    _row(text, "exactly", _shown(exact))
    _row(text, "", Text(_CHOICES if whole else f"{_CHOICES} / show all (v), needed before it can be allowed"))
    return Question(text, whole)


def _row(text: Text, label: str, value: Text, mark: str = " ") -> None:
    text.append(f"{mark} ", "bold yellow")
    text.append(f"{label:<10}" if label else "", "dim")
    text.append_text(value)
    text.append("\n")


def _shown(value: str, style: str = "") -> Text:
    made = Text(style=style)
    for piece, hidden in pieces(value, keep=""):
        made.append(piece, "reverse" if hidden else "")
    return made


def _readable(arguments: str) -> list[tuple[str, Any]]:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return []
    return list(cast("dict[str, Any]", value).items()) if isinstance(value, dict) else []


def _argument(text: Text, name: str, value: Any, *, everything: bool) -> None:
    label = _shown(f"{name} ")
    if isinstance(value, str) and "\n" in value:
        lines = value.split("\n")
        _row(text, "", Text.assemble("  ", label, (f"({len(lines)} lines)", "dim")))
        shown = lines if everything else lines[:_BLOCK]
        for line in shown:
            _row(text, "", Text.assemble("    ", ("| ", "dim"), _shown(line)))
        if len(shown) < len(lines):
            _row(
                text, "", Text(f"    ... {len(lines) - len(shown)} more lines, all in the exact text", "dim")
            )
        return
    one_line = json.dumps(value, ensure_ascii=False)
    if len(one_line) > LIMIT and not everything:
        one_line = f"{one_line[:200]}... ({len(one_line)} characters, all in the exact text)"
    _row(text, "", Text.assemble("  ", label, _shown(one_line)))
