"""Typed parts of a tool's result, in the order in which the tool gave them."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text."""

    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any], kw_only=True)
    type: Literal["text"] = field(default="text", init=False)


@dataclass(frozen=True, slots=True)
class Image:
    """An image: its bytes and their media type, such as ``image/png``."""

    data: bytes
    media_type: str = "image/png"
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any], kw_only=True)
    type: Literal["image"] = field(default="image", init=False)


@dataclass(frozen=True, slots=True)
class Audio:
    """A sound: its bytes and their media type, such as ``audio/wav``."""

    data: bytes
    media_type: str = "audio/wav"
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any], kw_only=True)
    type: Literal["audio"] = field(default="audio", init=False)


@dataclass(frozen=True, slots=True)
class Resource:
    """Something that has an address; `text` or `data` where its content came along."""

    uri: str
    media_type: str | None = None
    text: str | None = None
    data: bytes | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any], kw_only=True)
    type: Literal["resource"] = field(default="resource", init=False)


ContentPart = Text | Image | Audio | Resource


def part_to_json(part: ContentPart) -> dict[str, Any]:
    """A part as JSON; bytes travel as base64."""
    made: dict[str, Any] = {"type": part.type}
    if isinstance(part, Text):
        made["text"] = part.text
    elif isinstance(part, Resource):
        made["uri"] = part.uri
        if part.media_type is not None:
            made["media_type"] = part.media_type
        if part.text is not None:
            made["text"] = part.text
        if part.data is not None:
            made["data"] = base64.b64encode(part.data).decode()
    else:
        made["media_type"] = part.media_type
        made["data"] = base64.b64encode(part.data).decode()
    if part.metadata:
        made["metadata"] = dict(part.metadata)
    return made


def part_from_json(made: Mapping[str, Any]) -> ContentPart:
    """The part that `part_to_json` wrote.

    Raises:
        ValueError: for an unknown type.
        KeyError: where a field is missing.
    """
    metadata: dict[str, Any] = dict(made.get("metadata", {}))
    kind = made["type"]
    if kind == "text":
        return Text(made["text"], metadata=metadata)
    data = base64.b64decode(made["data"]) if "data" in made else None
    if kind == "resource":
        return Resource(made["uri"], made.get("media_type"), made.get("text"), data, metadata=metadata)
    if kind in {"image", "audio"} and data is not None:
        return (Image if kind == "image" else Audio)(data, made["media_type"], metadata=metadata)
    raise ValueError(f"no such content part: {kind!r}")


def text_of(parts: Sequence[ContentPart]) -> str:
    """The parts for a reader of text only: what is no text becomes a handle, in its place."""
    return "\n".join(_text(part) for part in parts)


def _text(part: ContentPart) -> str:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Resource):
        return part.text if part.text is not None else f"[resource {part.uri}]"
    return f"[{part.type} {part.media_type}, {len(part.data)} bytes]"
