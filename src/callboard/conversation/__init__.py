"""What is said between people, models and tools: messages, and the typed parts of a result."""

from callboard.conversation.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from callboard.conversation.parts import (
    Audio,
    ContentPart,
    Image,
    Resource,
    Text,
    part_from_json,
    part_to_json,
    text_of,
)

__all__ = [
    "AssistantMessage",
    "Audio",
    "ContentPart",
    "Image",
    "Message",
    "Resource",
    "SystemMessage",
    "Text",
    "ToolCall",
    "ToolMessage",
    "UserMessage",
    "part_from_json",
    "part_to_json",
    "text_of",
]
