"""Step 7 of the gate: what is kept of a result, what the model sees of a large one, and progress."""

import logging
from dataclasses import replace
from itertools import count
from time import time_ns
from typing import Any

from pydantic_core import to_json

from callboard.calls.ports import Ports, ReadableBlobs
from callboard.conversation import ContentPart, Text
from callboard.events import CallProgress
from callboard.tools import RegisteredTool
from callboard.types import ExecutionOptions, Redaction

MAX_CONTENT = 100_000  # characters of one result that a model sees
MAX_RECORD = 4_000_000  # characters of one result that a record keeps without a blob store
_SIMULATED_JSON = '{"ok":true,"simulated":true,"unvalidated":true}'
_log = logging.getLogger("callboard.calls")

_progress = count(1)


def placeholder(_: Any) -> tuple[Any, str, str]:
    """The whole answer of a simulated write that brings no simulation."""
    return {"ok": True, "simulated": True, "unvalidated": True}, _SIMULATED_JSON, _SIMULATED_JSON


def kept(
    ports: Ports,
    redaction: Redaction | None,
    result: str,
    content: str | tuple[ContentPart, ...],
) -> tuple[str, str | tuple[ContentPart, ...]]:
    """Both without any secret; head and tail for the model, all of it for the record or the host's blobs."""
    if redaction is not None:
        same = content is result  # what the model sees is the JSON text, and stays JSON
        result = redaction.json(result)
        content = result if same else redaction.content(content)
    if len(result) <= MAX_CONTENT:
        return result, content
    recorded, more = _kept(ports, result)
    return recorded, _shown(content, more)


def _kept(ports: Ports, result: str) -> tuple[str, str]:
    """What the record keeps, and how the model reads what it is not shown: empty where it can't."""
    if ports.blobs is not None:
        try:
            handle = ports.blobs.put(result)
            more = ports.blobs.reading(handle) if isinstance(ports.blobs, ReadableBlobs) else ""
            return to_json({"blob": handle, "length": len(result)}).decode(), more
        except Exception:  # noqa: BLE001 - logged: the call succeeded, whatever the store does
            _log.exception("a result of %d characters could not be stored as a blob", len(result))
    if len(result) <= MAX_RECORD:
        return result, ""
    cut = head_and_tail(result, MAX_RECORD)
    return to_json({"truncated": cut, "length": len(result)}).decode(), ""


def _shown(content: str | tuple[ContentPart, ...], more: str) -> str | tuple[ContentPart, ...]:
    """Text is bounded, in parts by their sum; what is no text is the provider's to bound."""
    if isinstance(content, str):
        return head_and_tail(content, MAX_CONTENT, more)
    room = MAX_CONTENT
    parts: list[ContentPart] = []
    for part in content:
        if isinstance(part, Text):
            parts.append(replace(part, text=head_and_tail(part.text, room, more)))
            room = max(0, room - len(part.text))
        else:
            parts.append(part)
    return tuple(parts)


def head_and_tail(text: str, room: int, more: str = "") -> str:
    """The text itself, or its two ends with a note of what is missing between them, and of how to get it."""
    if len(text) <= room:
        return text
    half = room // 2
    tail = text[-half:] if half else ""
    note = f"showing {2 * half} of {len(text)} characters" + (f"; {more}" if more else "")
    return f"{text[:half]}\n[... {note} ...]\n{tail}"


def report(
    ports: Ports,
    call_id: str,
    tool: RegisteredTool,
    options: ExecutionOptions,
    value: Any,
    redaction: Redaction | None = None,
) -> None:
    """Tell observers what a running tool reported; what is no JSON is shown as text, and nothing fails."""
    try:
        text = to_json(value, fallback=repr, inf_nan_mode="strings").decode()
    except Exception:  # noqa: BLE001 - surrogates, cycles, a bad repr: progress never fails its tool
        text = to_json(f"a {type(value).__name__} that can't be shown").decode()
    redaction = redaction or options.redaction
    shown = head_and_tail(text if redaction is None else redaction.json(text), MAX_CONTENT)
    ports.emit(CallProgress(call_id, tool.id, tool.kind, next(_progress), time_ns(), shown), options)
