"""What a provider wants to see again with its own answer: thoughts, and signatures on text and calls.

Anthropic refuses a history whose thoughts are missing beside the calls they led to, Gemini reasons worse
without its signatures, and others want their reasoning back. It stays opaque: nobody else reads it.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from pydantic_ai import messages as theirs

from callboard.conversation import AssistantMessage

_FACTS = ("provider_name", "provider_url", "provider_response_id", "model_name")


def kept_of(response: theirs.ModelResponse) -> dict[str, Any] | None:
    """The answer as JSON, if it holds what must go back with it; calls without what stands in ours anyway."""
    if not any(isinstance(part, theirs.ThinkingPart) or _signed(part) for part in response.parts):
        return None
    made = cast("list[dict[str, Any]]", theirs.ModelMessagesTypeAdapter.dump_python([response], mode="json"))
    parts = [part for part in made[0]["parts"] if part["part_kind"] in {"text", "thinking", "tool-call"}]
    for part in parts:
        if part["part_kind"] == "tool-call":
            part["args"], part["tool_call_id"] = None, ""
    return {"parts": parts, **{name: made[0][name] for name in _FACTS}}


def restored(message: AssistantMessage, provider: str) -> theirs.ModelResponse | None:
    """The provider's own answer, with the ids, names and arguments of the message; None where it has none.

    What another provider kept, or what no longer fits the message's calls, is left away.
    """
    kept = message.get("kept")
    if kept is None or kept.get("provider_name") != provider:
        return None
    parts = [dict(part) for part in kept["parts"]]
    made = [part for part in parts if part["part_kind"] == "tool-call"]
    if len(made) != len(message["calls"]):
        return None
    for part, call in zip(made, message["calls"], strict=True):
        part |= {"args": call["arguments"], "tool_call_id": call["id"], "tool_name": call["name"]}
    response: Mapping[str, Any] = {**kept, "kind": "response", "parts": parts}
    (whole,) = theirs.ModelMessagesTypeAdapter.validate_json(json.dumps([response]))
    return cast("theirs.ModelResponse", whole)


def _signed(part: theirs.ModelResponsePart) -> bool:
    return isinstance(part, theirs.TextPart | theirs.ToolCallPart) and bool(part.provider_details)
