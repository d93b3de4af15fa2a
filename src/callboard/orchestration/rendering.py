"""The final text of a run whose model writes no prose: what its tools gave, for a person to read."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from callboard.conversation import Message, ToolCall

_NOTHING = (
    "The model called no tool, so there is no result to show. It only calls tools and writes no text of its "
    "own: ask for what a tool does, or choose another model with --model."
)
_INDENT = "  "
_WIDTH = 60  # characters of an argument in a headline
_DENIALS = ("permission.", "approval.")  # how codes of denials begin


def rendered(messages: Sequence[Message]) -> str:
    """The results of all calls, those of the newest turn first."""
    results = {message["call_id"]: message["content"] for message in messages if message["role"] == "tool"}
    turns = [message["calls"] for message in messages if message["role"] == "assistant" and message["calls"]]
    blocks = [
        f"{_headline(call)}\n{_indented(results[call['id']])}"
        for calls in reversed(turns)
        for call in calls
        if call["id"] in results
    ]
    return "\n\n".join(blocks) or _NOTHING


def _headline(call: ToolCall) -> str:
    try:
        arguments = json.loads(call["arguments"])
    except ValueError:
        return call["name"]
    if not isinstance(arguments, dict) or not arguments:
        return call["name"]
    given = cast("Mapping[str, Any]", arguments)
    return f"{call['name']} ({', '.join(f'{name}: {_short(value)}' for name, value in given.items())})"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


def _indented(content: str) -> str:
    try:
        value = json.loads(content)
    except ValueError:
        value = content
    return "\n".join(f"{_INDENT}{line}".rstrip() for line in _lines(value)) or f"{_INDENT}(empty)"


def _lines(value: Any) -> list[str]:
    """A value line by line: fields by name, items with a dash."""
    if isinstance(value, str):
        return value.splitlines()
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if fields.get("ok") is False and "error" in fields:
            return [f"{_ended(fields.get('code'))}: {fields['error']}"]
        return [line for name, held in fields.items() for line in _field(f"{name}:", held)]
    if isinstance(value, list):
        return [line for item in cast("list[Any]", value) for line in _field("-", item)]
    return [json.dumps(value)]


def _ended(code: Any) -> str:
    """How a call ended, by the code of its error: what was not allowed never ran, and has not failed."""
    return "denied" if str(code).startswith(_DENIALS) else "failed"


def _field(label: str, held: Any) -> list[str]:
    lines = _lines(held)
    if isinstance(held, dict | list):
        if not held:
            return [f"{label} none"]
        if label == "-":
            return [f"- {lines[0]}", *(f"{_INDENT}{line}" for line in lines[1:])]
    elif len(lines) == 1:
        return [f"{label} {lines[0]}"]
    return [label, *(f"{_INDENT}{line}" for line in lines)]
