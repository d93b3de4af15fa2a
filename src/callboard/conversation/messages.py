"""Messages of a conversation, JSON only: what an agent's state holds and a model request carries."""

from typing import Any, Literal, NotRequired, TypedDict


class ToolCall(TypedDict):
    """A call as the model made it; `arguments` is JSON text, or what the model sent instead of it."""

    id: str
    name: str
    arguments: str


class SystemMessage(TypedDict):
    """Instructions of the host."""

    role: Literal["system"]
    content: str


class UserMessage(TypedDict):
    """What the user said."""

    role: Literal["user"]
    content: str


class AssistantMessage(TypedDict):
    """What the model answered: prose, calls, or both.

    `kept` is what its provider wants to see again, such as signed thoughts; only that provider reads it.
    """

    role: Literal["assistant"]
    content: str
    calls: list[ToolCall]
    kept: NotRequired[dict[str, Any]]


class ToolMessage(TypedDict):
    """The answer to one call; `parts` holds typed parts as JSON where the result has any."""

    role: Literal["tool"]
    call_id: str
    name: str
    content: str
    parts: NotRequired[list[dict[str, Any]]]


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage
