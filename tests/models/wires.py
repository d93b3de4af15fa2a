"""The wire formats of the providers, each in one form: what a server answers, and what it was sent."""

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.models import server
from tests.models.server import Reply


class Made(NamedTuple):
    """A call of an answer: its arguments in the pieces of the stream; None: none are sent at all."""

    id: str
    name: str
    pieces: Sequence[str] | None


class Sent(NamedTuple):
    """What stands in a request for a call or its result."""

    id: str
    name: str
    content: Any


@dataclass(frozen=True)
class Wire:
    """One format.

    Attributes:
        model: a model that speaks it.
        path: where the provider's own client is to ask.
        reply: an answer with text and calls; `finish` is how it ended: `done` or `length`.
        tools: the tools of a request: name, schema, and whether they are strict.
        calls: the calls of the history in a request.
        results: the results in a request.
        problem: an error of the provider.
    """

    model: str
    path: str
    reply: Callable[[str, Sequence[Made], str], Reply]
    tools: Callable[[Any], dict[str, tuple[Any, Any]]]
    calls: Callable[[Any], list[Sent]]
    results: Callable[[Any], list[Sent]]
    problem: Callable[[int, str], Reply]


def _chat(text: str, calls: Sequence[Made], finish: str) -> Reply:
    deltas: list[dict[str, Any]] = [{"content": text}] if text else []
    for index, (key, name, pieces) in enumerate(calls):
        deltas += server.chat_call(index, key, name, *(pieces or ()))
        if pieces is None:
            del deltas[-1]["tool_calls"][0]["function"]["arguments"]
    ended = "tool_calls" if calls else "stop"
    return server.chat(*deltas, finish="length" if finish == "length" else ended)


def _responses(text: str, calls: Sequence[Made], finish: str) -> Reply:
    items = [server.responses_call(key, name, *(pieces or ())) for key, name, pieces in calls]
    said = [server.responses_text(text)] if text else []
    reply = server.responses(*said, *items)
    if finish == "length":
        incomplete = b'"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}'
        head, _, tail = reply.body.rpartition(b'"status": "completed"')
        reply.body = (head + incomplete + tail).replace(b"response.completed", b"response.incomplete")
    return reply


def _claude(text: str, calls: Sequence[Made], finish: str) -> Reply:
    blocks = [server.claude_call(key, name, *(pieces or ())) for key, name, pieces in calls]
    said = [server.claude_text(text)] if text else []
    ended = "tool_use" if calls else "end_turn"
    return server.claude(*said, *blocks, stop="max_tokens" if finish == "length" else ended)


def _gemini(text: str, calls: Sequence[Made], finish: str) -> Reply:
    said: list[dict[str, Any]] = [{"text": text}] if text else []
    for key, name, pieces in calls:
        joined = None if pieces is None else "".join(pieces)
        args = {} if joined is None else {"args": json.loads(joined or "{}")}
        said.append(server.gemini_call(key, name, **args))
    return server.gemini(*said, finish="MAX_TOKENS" if finish == "length" else "STOP")


def _gemini_problem(status: int, message: str) -> Reply:
    body = {"error": {"code": status, "message": message, "status": "SOMETHING"}}
    return Reply(json.dumps(body).encode(), status, "application/json")


def _contents(body: Any, key: str) -> list[Any]:
    """The blocks of a kind, in the messages of a body."""
    lists = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    return [block for block in itertools.chain.from_iterable(lists) if block["type"] == key]


def _parts(body: Any, key: str) -> list[Any]:
    parts = itertools.chain.from_iterable(content["parts"] for content in body["contents"])
    return [part[key] for part in parts if key in part]


def _names(calls: Sequence[Sent]) -> dict[str, str]:
    return {call.id: call.name for call in calls}


def _chat_calls(body: Any) -> list[Sent]:
    made = itertools.chain.from_iterable(message.get("tool_calls") or () for message in body["messages"])
    return [
        Sent(one["id"], one["function"]["name"], json.loads(one["function"]["arguments"])) for one in made
    ]


def _chat_results(body: Any) -> list[Sent]:
    names = _names(_chat_calls(body))
    results = [message for message in body["messages"] if message["role"] == "tool"]
    return [Sent(one["tool_call_id"], names[one["tool_call_id"]], one["content"]) for one in results]


def _responses_calls(body: Any) -> list[Sent]:
    made = [item for item in body["input"] if item.get("type") == "function_call"]
    return [Sent(item["call_id"], item["name"], json.loads(item["arguments"])) for item in made]


def _responses_results(body: Any) -> list[Sent]:
    names = _names(_responses_calls(body))
    made = [item for item in body["input"] if item.get("type") == "function_call_output"]
    return [Sent(item["call_id"], names[item["call_id"]], item["output"]) for item in made]


def _claude_calls(body: Any) -> list[Sent]:
    return [Sent(block["id"], block["name"], block["input"]) for block in _contents(body, "tool_use")]


def _claude_results(body: Any) -> list[Sent]:
    names = _names(_claude_calls(body))
    results = _contents(body, "tool_result")
    return [
        Sent(one["tool_use_id"], names[one["tool_use_id"]], _claude_text(one["content"])) for one in results
    ]


def _claude_text(content: Any) -> Any:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def _gemini_tools(body: Any) -> dict[str, tuple[Any, Any]]:
    (tools,) = body["tools"]
    made = tools["functionDeclarations"]
    return {one["name"]: (one["parameters_json_schema"], one.get("strict")) for one in made}


CHAT = Wire(
    "openai-compatible:tiny",
    "/v1/chat/completions",
    _chat,
    lambda body: {
        one["function"]["name"]: (one["function"]["parameters"], one["function"].get("strict"))
        for one in body["tools"]
    },
    _chat_calls,
    _chat_results,
    server.problem,
)
RESPONSES = Wire(
    "openai:gpt-5.6-luna",
    "/v1/responses",
    _responses,
    lambda body: {one["name"]: (one["parameters"], one.get("strict")) for one in body["tools"]},
    _responses_calls,
    _responses_results,
    server.problem,
)
CLAUDE = Wire(
    "anthropic:claude-haiku-4-5",
    "/v1/messages",
    _claude,
    lambda body: {one["name"]: (one["input_schema"], one.get("strict")) for one in body["tools"]},
    _claude_calls,
    _claude_results,
    server.problem,
)
GEMINI = Wire(
    "google:gemini-3.8-flash",
    "/v1beta/models/gemini-3.8-flash:streamGenerateContent",
    _gemini,
    _gemini_tools,
    lambda body: [Sent(one["id"], one["name"], one["args"]) for one in _parts(body, "functionCall")],
    lambda body: [Sent(one["id"], one["name"], one["response"]) for one in _parts(body, "functionResponse")],
    _gemini_problem,
)
WIRES = {"chat": CHAT, "responses": RESPONSES, "claude": CLAUDE, "gemini": GEMINI}
