"""The history that an agent's state holds: how it starts and grows, in a form that providers take."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from callboard.conversation import AssistantMessage, Message, ToolCall, ToolMessage
from callboard.errors import InvalidArguments
from callboard.tools import canonical
from callboard.tools.reading import read_json, text_of
from callboard.workflow import Json

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_NAME = 64  # characters of a name that providers take
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLACE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_INTERRUPTED = {
    "ok": False,
    "error": "the call was interrupted: nobody knows whether it happened",
    "code": "call.interrupted",
    "hint": "look at what it would have changed before you call it again",
}


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call of the newest answer that has no result yet.

    Attributes:
        call: as it stands in the history.
        raw: the arguments as the model sent them; these run, not their canonical form.
        tool: the id of the tool, or the name that was called where there is none of it.
        control: whether the engine itself answers it.
        read: whether it may run beside its neighbours.
        own_parser: whether the tool's parser takes a value, and not JSON text.
        refused: what is wrong with the answer, so that the call is not made.
    """

    call: ToolCall
    raw: str
    tool: str
    control: bool = False
    read: bool = False
    own_parser: bool = False
    refused: Mapping[str, Json] | None = None

    @property
    def given(self) -> Json:
        """What the tool gets: the model's text, or what it holds; text that is no JSON stays as it came."""
        if not self.own_parser:
            return self.raw
        try:
            return read_json(text_of(self.raw)) if self.raw.strip() else {}
        except InvalidArguments:
            return self.raw


def sound(value: Json) -> Json:
    """JSON whose texts can be written down: half a character, as streams break them, becomes U+FFFD.

    A lone surrogate that got into the history would end every later request of the conversation.
    """
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        fields = cast("Mapping[Json, Json]", value)
        return {sound(name): sound(held) for name, held in fields.items()}
    if isinstance(value, list | tuple):
        return [sound(item) for item in cast("Sequence[Json]", value)]
    return value


def start(prompt: str, goal: str, history: Sequence[Message] = ()) -> tuple[Message, ...]:
    """The messages before the first request; an empty prompt is none."""
    head: tuple[Message, ...] = ({"role": "system", "content": prompt},) if prompt else ()
    said: tuple[Message, ...] = (*head, *closed(history), {"role": "user", "content": goal})
    return tuple(sound(message) for message in said)


def closed(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages, with exactly one answer to every call, right after the message that made it.

    Calls that were left open when a process ended are answered as interrupted, and answers to no call are
    left out: providers refuse either, and one such place would lose the whole conversation.
    """
    made: list[Message] = []
    open_: dict[str, ToolCall] = {}
    for message in messages:
        if message["role"] == "tool":
            if open_.pop(message["call_id"], None) is not None:
                made.append(message)
            continue
        made += _interrupted(open_)
        open_ = {call["id"]: call for call in message["calls"]} if message["role"] == "assistant" else {}
        made.append(message)
    return (*made, *_interrupted(open_))


def _interrupted(open_: Mapping[str, ToolCall]) -> list[ToolMessage]:
    return [tool_message(call, failure(_INTERRUPTED)) for call in open_.values()]


def failure(told: Mapping[str, Json]) -> dict[str, Json]:
    """The envelope of a call that never came to the gate."""
    return {**told, "text": json.dumps(told, ensure_ascii=False), "status": "failed"}


def tool_message(call: ToolCall, envelope: Mapping[str, Json]) -> ToolMessage:
    """The answer to a call, as the model sees it."""
    made: ToolMessage = {
        "role": "tool",
        "call_id": call["id"],
        "name": call["name"],
        "content": envelope["text"],
    }
    if "parts" in envelope:
        made["parts"] = envelope["parts"]
    return made


def said(
    text: str, calls: Sequence[ToolCall], kept: Mapping[str, Any] | None = None
) -> tuple[AssistantMessage, ...]:
    """What the model answered; nothing where it said nothing, as providers refuse an empty message."""
    if not text and not calls:
        return ()
    message: AssistantMessage = {"role": "assistant", "content": text, "calls": list(calls)}
    if kept is not None:
        message["kept"] = dict(kept)
    return (message,)


def well_formed(calls: Sequence[ToolCall], used: Collection[str], round_: int) -> list[tuple[ToolCall, str]]:
    """The calls that have a name, in order, each with its raw arguments.

    Ids are made where the stream brought none, or one that is used already; arguments get their canonical
    spelling, so that equal calls look equal; an invented name becomes one that providers take.
    """
    taken = set(used)
    made: list[tuple[ToolCall, str]] = []
    for place, call in enumerate(calls):
        name, id_ = call["name"].strip(), call["id"].strip()
        if not name:
            continue
        if not id_ or id_ in taken:
            id_ = _free(f"call-{round_}-{place + 1}", taken)
        taken.add(id_)
        name = _ILLEGAL.sub("_", name)[:_NAME]
        made.append(({"id": id_, "name": name, "arguments": spelled(call["arguments"])}, call["arguments"]))
    return made


def _free(id_: str, taken: Collection[str]) -> str:
    while id_ in taken:
        id_ += "x"
    return id_


def call_ids(messages: Iterable[Message]) -> set[str]:
    """The ids of all calls in the history."""
    return {call["id"] for message in messages if message["role"] == "assistant" for call in message["calls"]}


def spelled(arguments: str) -> str:
    """Arguments in one spelling; what is no JSON, or would be half a character without its escape, stays."""
    if not arguments.strip():
        return "{}"
    try:
        made = canonical(arguments)
    except (ValueError, RecursionError):
        return arguments
    return arguments if _SURROGATE.search(made) else made


def is_json(arguments: str) -> bool:
    """Whether the arguments are whole."""
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return True


def digest(before: str, messages: Sequence[Message]) -> str:
    """A rolling digest: tells requests apart without reading the whole conversation for each."""
    new: Any = json.dumps([before, *messages], sort_keys=True)
    return hashlib.sha256(new.encode()).hexdigest()


def fill(template: str, values: Mapping[str, str]) -> str:
    """Fill ``{{name}}`` in a single pass: what a value contains is never expanded; unknown names stay."""
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), template)
