"""A call of a tool as a step records it, and its two faces: seed 003's result, the model's envelope."""

import json
from collections.abc import Mapping
from typing import Any, cast

from msgspec.structs import asdict, replace
from pydantic_core import to_json, to_jsonable_python

from callboard import errors
from callboard.conversation import ContentPart, part_from_json, part_to_json, text_of
from callboard.errors import ToolError
from callboard.events import Failure, ToolCallRecord, call_event_to_json
from callboard.types import Redaction, ToolResult
from callboard.workflow.recorded import Json

# What a record keeps instead of a value that is too large for it.
_HANDLES = ({"blob", "length"}, {"truncated", "length"})
_KINDS = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, ToolError)
}


def succeeded(result: ToolResult[Any], redaction: Redaction) -> dict[str, Json]:
    """What is recorded of a call that gave a result, without what its run keeps out of records."""
    record = result.invocation
    value: Json = None if record.result is None else json.loads(record.result)
    if record.result is None or (
        isinstance(value, dict) and cast("dict[str, Json]", value).keys() in _HANDLES
    ):
        value = redaction.value(to_jsonable_python(result.value, serialize_unknown=True))
    content: Json = result.content
    if not isinstance(content, str):
        content = [part_to_json(part) for part in result.content if not isinstance(part, str)]
    made: dict[str, Json] = {"ok": True, "value": value, "record": _kept(replace(record, result=None))}
    return made if content == value else {**made, "content": content}


def failed(error: Exception) -> dict[str, Json]:
    """What is recorded of a call that raised."""
    record: Any = getattr(error, "invocation", None)
    if not isinstance(record, ToolCallRecord):
        record = None  # a host's own error that could not carry it
    failure = record.failure if record is not None else None
    if failure is None:
        code, hint = getattr(error, "code", None), getattr(error, "hint", None)
        failure = Failure(
            code if isinstance(code, str) else ToolError.code,
            str(error) or type(error).__name__,
            hint if isinstance(hint, str) else None,
        )
    return {"ok": False, "failure": asdict(failure), "record": None if record is None else _kept(record)}


def result_of(recorded: Mapping[str, Json]) -> ToolResult[Any]:
    """The result of a recorded call, the same in every life of the run.

    Raises:
        ToolError: the call did not succeed; of the class that its code belongs to, with its receipt.
    """
    kept = recorded["record"]
    if recorded["ok"]:
        value = recorded["value"]
        return ToolResult(value, _content(recorded), _receipt({**kept, "result": to_json(value).decode()}))
    failure = recorded["failure"]
    error = _KINDS.get(failure["code"], ToolError)(
        failure["message"], code=failure["code"], hint=failure["hint"]
    )
    if kept is not None:
        error.status = kept["status"]
        error.recorded(_receipt(kept))
    raise error


def envelope_of(recorded: Mapping[str, Json]) -> dict[str, Json]:
    """What a model is told of a recorded call, and what a surface needs beside it."""
    kept = recorded["record"] or {"status": "failed", "simulated": False, "invocation_id": None}
    facts = {name: kept[name] for name in ("status", "simulated", "invocation_id")}
    if not recorded["ok"]:
        failure = recorded["failure"]
        told = {"ok": False, "error": failure["message"], "code": failure["code"], "hint": failure["hint"]}
        return {**told, **facts, "text": to_json(told).decode()}
    made = {"ok": True, **facts, "value": recorded["value"]}
    content = _content(recorded)
    if isinstance(content, str):
        return {**made, "text": content}
    return {**made, "text": text_of(content), "parts": recorded.get("content", recorded["value"])}


def _content(recorded: Mapping[str, Json]) -> str | tuple[ContentPart, ...]:
    content: Json = recorded.get("content", recorded["value"])
    return content if isinstance(content, str) else tuple(part_from_json(part) for part in content)


def _kept(record: ToolCallRecord) -> dict[str, Json]:
    made = call_event_to_json(replace(record, debug_steps=None))
    del made["type"]
    return made


def _receipt(kept: Mapping[str, Json]) -> ToolCallRecord:
    made = dict(kept)
    made["parents"], made["reasons"] = tuple(made["parents"]), tuple(made["reasons"])
    if made["principal"] is not None:
        made["principal"] = tuple(made["principal"])
    if made["failure"] is not None:
        made["failure"] = Failure(**made["failure"])
    return ToolCallRecord(**made)
