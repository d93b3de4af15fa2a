"""Step 7 of the gate: what is kept of a result, what the model sees of a large one, and progress."""

from itertools import count
from time import time_ns
from typing import Any

from pydantic_core import to_json

from callboard.calls.ports import Ports
from callboard.conversation import ContentPart
from callboard.events import CallProgress
from callboard.tools import RegisteredTool
from callboard.types import ExecutionOptions

MAX_CONTENT = 100_000  # characters of one result that a model sees
MAX_RECORD = 4_000_000  # characters of one result that a record keeps without a blob store
_SIMULATED: dict[str, Any] = {"ok": True, "simulated": True, "unvalidated": True}
_SIMULATED_JSON = '{"ok":true,"simulated":true,"unvalidated":true}'
PLACEHOLDER: tuple[Any, str, str] = (_SIMULATED, _SIMULATED_JSON, _SIMULATED_JSON)

_progress = count(1)


def capped(
    ports: Ports,
    result: str,
    content: str | tuple[ContentPart, ...],
) -> tuple[str, str | tuple[ContentPart, ...]]:
    """Head and tail for the model; the full copy stays in the record, or in the host's blobs."""
    kept = result
    if ports.blobs is not None:
        kept = to_json({"blob": ports.blobs.put(result), "length": len(result)}).decode()
    elif len(result) > MAX_RECORD:
        kept = to_json({"truncated": head_and_tail(result, MAX_RECORD), "length": len(result)}).decode()
    return kept, head_and_tail(content, MAX_CONTENT) if isinstance(content, str) else content


def head_and_tail(text: str, room: int) -> str:
    """The text itself, or its two ends with a note of what is missing between them."""
    if len(text) <= room:
        return text
    half = room // 2
    return f"{text[:half]}\n[... showing {2 * half} of {len(text)} characters ...]\n{text[-half:]}"


def report(ports: Ports, call_id: str, tool: RegisteredTool, options: ExecutionOptions, value: Any) -> None:
    """Tell observers what a running tool reported; what is no JSON is shown as text."""
    text = to_json(value, fallback=repr, inf_nan_mode="strings").decode()
    ports.emit(
        CallProgress(
            call_id, tool.id, tool.kind, next(_progress), time_ns(), head_and_tail(text, MAX_CONTENT)
        ),
        options,
    )
