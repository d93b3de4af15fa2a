"""A model server on loopback that gives the answers a test wrote down, byte for byte."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Reply:
    """One HTTP answer; the body leaves in pieces of `cut` bytes."""

    body: bytes
    status: int = 200
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict[str, str])
    cut: int = 1 << 16
    drop: int | None = None  # after so many bytes the connection is closed
    hold: asyncio.Event | None = None  # the second half waits for it
    pause: bool = False  # after the first piece the reader gets its turn


@dataclass
class Asked:
    """One request that came."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Server:
    """What came, and where it listens."""

    port: int = 0
    asked: list[Asked] = field(default_factory=list[Asked])
    half_sent: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def serving(replies: Sequence[Reply]) -> AsyncGenerator[Server]:
    server, left = Server(), list(replies)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        server.asked.append(Asked(head[0].split(" ")[1], headers, json.loads(body) if body else None))
        await send(writer, left.pop(0))

    async def send(writer: asyncio.StreamWriter, reply: Reply) -> None:
        sent = {"content-type": reply.content_type, "connection": "close", **reply.headers}
        lines = [f"HTTP/1.1 {reply.status} OK", *(f"{name}: {value}" for name, value in sent.items())]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        body = reply.body[: reply.drop]
        for at in range(0, len(body), reply.cut):
            if reply.hold is not None and at >= len(reply.body) // 2:
                server.half_sent.set()
                await reply.hold.wait()
            writer.write(body[at : at + reply.cut])
            await writer.drain()
            for _ in range(5 if reply.pause and at == 0 else 0):
                await asyncio.sleep(0)
        writer.close()

    listening = await asyncio.start_server(handle, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        await listening.wait_closed()


def problem(status: int, message: str, **more: str) -> Reply:
    """An error as both providers' libraries read it."""
    body = {"type": "error", "error": {"message": message, "type": more.get("type", "some_error"), **more}}
    return Reply(json.dumps(body).encode(), status, "application/json")


def chat(*deltas: dict[str, Any], finish: str | None = "stop", cut: int = 1 << 16) -> Reply:
    """A streamed chat completion: the deltas, then the reason, then the usage."""
    base: dict[str, Any] = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "tiny-1"}
    said: list[dict[str, Any]] = [{"role": "assistant"}, *deltas]
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in said]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    chunks = [base | {"choices": [choice]} for choice in choices]
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    chunks.append(base | {"choices": [], "usage": usage})
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
    return Reply("".join([*lines, "data: [DONE]\n\n"]).encode(), cut=cut)


def chat_call(index: int, key: str | None, name: str, *pieces: str) -> list[dict[str, Any]]:
    """The deltas of one call, its arguments in pieces."""
    first: dict[str, Any] = {"index": index, "type": "function", "function": {"name": name, "arguments": ""}}
    if key is not None:
        first["id"] = key
    rest = [{"index": index, "function": {"arguments": piece}} for piece in pieces]
    return [{"tool_calls": [one]} for one in (first, *rest)]


def claude(
    *blocks: tuple[dict[str, Any], list[dict[str, Any]]], stop: str = "end_turn", cut: int = 1 << 16
) -> Reply:
    """A streamed message of Anthropic's: each block with its deltas."""
    usage = {"input_tokens": 7, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "claude-1",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": stop, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 5}})
    events.append({"type": "message_stop"})
    lines = [f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events]
    return Reply("".join(lines).encode(), cut=cut)


def claude_text(*pieces: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block of text."""
    return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]


def claude_call(key: str, name: str, *pieces: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block with a call, its arguments in pieces."""
    block: dict[str, Any] = {"type": "tool_use", "id": key, "name": name, "input": {}}
    return block, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


def responses(*items: tuple[dict[str, Any], list[dict[str, Any]]], cut: int = 1 << 16) -> Reply:
    """A streamed response of OpenAI's Responses API: each item with the events in its middle."""
    base: dict[str, Any] = {
        "id": "r1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-1",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "status": "in_progress",
    }
    events: list[dict[str, Any]] = [{"type": "response.created", "response": base}]
    for index, (item, middle) in enumerate(items):
        place = {"output_index": index, "item_id": item["id"]}
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        events += [event | place for event in middle]
        done = item | {"status": "completed"}
        events.append({"type": "response.output_item.done", "output_index": index, "item": done})
    usage = {
        "input_tokens": 7,
        "output_tokens": 5,
        "total_tokens": 12,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    finished = base | {"status": "completed", "usage": usage}
    events.append({"type": "response.completed", "response": finished})
    numbered = [event | {"sequence_number": number} for number, event in enumerate(events)]
    lines = [
        f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n" for event in numbered
    ]
    return Reply("".join(lines).encode(), cut=cut)


def responses_text(*pieces: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """An item of text."""
    item: dict[str, Any] = {
        "type": "message",
        "id": "msg1",
        "role": "assistant",
        "status": "in_progress",
        "content": [],
    }
    part: dict[str, Any] = {"type": "output_text", "text": "", "annotations": []}
    start: dict[str, Any] = {"type": "response.content_part.added", "content_index": 0, "part": part}
    deltas: list[dict[str, Any]] = [
        {"type": "response.output_text.delta", "content_index": 0, "delta": piece, "logprobs": []}
        for piece in pieces
    ]
    return item, [start, *deltas]


def responses_call(key: str, name: str, *pieces: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """An item with a call, its arguments in pieces."""
    arguments = "".join(pieces)
    item = {"type": "function_call", "id": f"fc_{key}", "call_id": key, "name": name, "arguments": ""}
    deltas = [{"type": "response.function_call_arguments.delta", "delta": piece} for piece in pieces]
    done = {"type": "response.function_call_arguments.done", "name": name, "arguments": arguments}
    return item, [*deltas, done]


def gemini(*parts: dict[str, Any], finish: str | None = "STOP", cut: int = 1 << 16) -> Reply:
    """A streamed answer of the Gemini API: one chunk for each part, the reason and the usage in the last."""
    usage = {"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12}
    ended: dict[str, Any] = {"content": {"role": "model", "parts": [{"text": ""}]}, "index": 0}
    if finish is not None:
        ended["finishReason"] = finish
    candidates = [{"content": {"role": "model", "parts": [part]}, "index": 0} for part in parts]
    base: dict[str, Any] = {"modelVersion": "gemini-1", "responseId": "r1"}
    chunks: list[dict[str, Any]] = [base | {"candidates": [candidate]} for candidate in candidates]
    chunks.append(base | {"candidates": [ended], "usageMetadata": usage})
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\r\n\r\n" for chunk in chunks]
    return Reply("".join(lines).encode(), cut=cut)


def gemini_call(key: str | None, name: str, **more: Any) -> dict[str, Any]:
    """A part with a call; `args` is an object, or is not there."""
    made: dict[str, Any] = {"name": name, **more}
    if key is not None:
        made["id"] = key
    return {"functionCall": made}
