"""Messages and answers, from ours to pydantic-ai's and back: ids and argument texts stay what they are."""

import json
from collections.abc import Iterable, Sequence

from pydantic_ai import messages as theirs

from callboard.conversation import (
    AssistantMessage,
    Image,
    Message,
    ToolCall,
    ToolMessage,
    part_from_json,
    text_of,
)
from callboard.models.model import ModelAnswer
from callboard.models.thoughts import kept_of, restored


def messages_for(
    messages: Iterable[Message], provider: str, *, instructs_anywhere: bool
) -> list[theirs.ModelMessage]:
    """The conversation for the provider; what stands between two answers becomes one request.

    Where a provider knows instructions only at the start, later ones are said by the user, in their place.
    """
    made: list[theirs.ModelMessage] = []
    parts: list[theirs.ModelRequestPart] = []
    for message in messages:
        if message["role"] == "system" and made and not instructs_anywhere:
            parts.append(theirs.UserPromptPart(message["content"]))
            continue
        if message["role"] != "assistant":
            parts.append(_request_part(message))
            continue
        if parts:
            made.append(theirs.ModelRequest(parts=parts))
            parts = []
        made.append(restored(message, provider) or theirs.ModelResponse(parts=_response_parts(message)))
    if parts:
        made.append(theirs.ModelRequest(parts=parts))
    return made


def _request_part(message: Message) -> theirs.ModelRequestPart:
    if message["role"] == "system":
        return theirs.SystemPromptPart(message["content"])
    if message["role"] == "tool":
        return theirs.ToolReturnPart(message["name"], _result(message), message["call_id"])
    if message["role"] == "user":
        return theirs.UserPromptPart(message["content"])
    raise TypeError("an assistant's message is no part of a request")


def _result(message: ToolMessage) -> theirs.ToolReturnContent:
    """The text of a result; where it has images, text and images in their order."""
    parts = [part_from_json(part) for part in message.get("parts", ())]
    if not any(isinstance(part, Image) for part in parts):
        return message["content"]
    return [
        theirs.BinaryContent(part.data, media_type=part.media_type)
        if isinstance(part, Image)
        else text_of([part])  # sound and other bytes are named: few models hear, and the others refuse all
        for part in parts
    ]


def _response_parts(message: AssistantMessage) -> list[theirs.ModelResponsePart]:
    said: list[theirs.ModelResponsePart] = [theirs.TextPart(message["content"])] if message["content"] else []
    calls = [theirs.ToolCallPart(call["name"], call["arguments"], call["id"]) for call in message["calls"]]
    return [*said, *calls]


def answer_of(response: theirs.ModelResponse, before: Sequence[Message]) -> ModelAnswer:
    """The provider's answer. A call without an id, or with one that was used before, gets a new one."""
    text = "".join(part.content for part in response.parts if isinstance(part, theirs.TextPart))
    taken = {call["id"] for message in before if message["role"] == "assistant" for call in message["calls"]}
    calls = tuple(
        ToolCall(id=_free(part.tool_call_id, taken), name=part.tool_name, arguments=_text(part))
        for part in response.parts
        if isinstance(part, theirs.ToolCallPart)
    )
    counts = {name: count for name, count in vars(response.usage).items() if isinstance(count, int) and count}
    ended = response.finish_reason
    if calls and ended == "stop":  # not every provider tells the two apart
        ended = "tool_call"
    return ModelAnswer(text, calls, counts, ended, response.model_name or "", kept_of(response))


def _free(key: str, taken: set[str]) -> str:
    wanted, number = key or "call", 1
    free = wanted if key else "call_1"
    while free in taken:
        number += 1
        free = f"{wanted}_{number}"
    taken.add(free)
    return free


def _text(part: theirs.ToolCallPart) -> str:
    if isinstance(part.args, str):
        return part.args
    return json.dumps(part.args or {}, ensure_ascii=False)
