"""The real libraries of the providers against servers on loopback."""

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from callboard.config import ModelConfig
from callboard.conversation import Message, ToolCall
from callboard.errors import ModelError
from callboard.models import Model, ModelAnswer, ModelRequest, ToolDefinition, open_model
from callboard.models.target import Target
from tests.models import server as scripted
from tests.models.server import Reply, Server, serving

KEY = "sk-test-1234567890abcdef"
ADD = ToolDefinition(
    "add",
    "Add two integers.",
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
)
ASKED: list[Message] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Ça va? 你好"},
]
BIG = '{"a": 9007199254740993, "b": 1915883588174806058}'
Calls = Sequence[tuple[str, str, Sequence[str]]]


def chat(text: Sequence[str], calls: Calls, cut: int = 1 << 16) -> Reply:
    made = [scripted.chat_call(index, key, name, *pieces) for index, (key, name, pieces) in enumerate(calls)]
    deltas = [{"content": piece} for piece in text] + list(itertools.chain.from_iterable(made))
    return scripted.chat(*deltas, finish="tool_calls" if calls else "stop", cut=cut)


def claude(text: Sequence[str], calls: Calls, cut: int = 1 << 16) -> Reply:
    blocks = [scripted.claude_call(key, name, *pieces) for key, name, pieces in calls]
    said = [scripted.claude_text(*text)] if text else []
    return scripted.claude(*said, *blocks, stop="tool_use" if calls else "end_turn", cut=cut)


def responses(text: Sequence[str], calls: Calls, cut: int = 1 << 16) -> Reply:
    items = [scripted.responses_call(key, name, *pieces) for key, name, pieces in calls]
    said = [scripted.responses_text(*text)] if text else []
    return scripted.responses(*said, *items, cut=cut)


SPEAKING: dict[str, Callable[..., Reply]] = {
    "openai-compatible:tiny": chat,
    "ollama:tiny": chat,
    "anthropic:claude-haiku-4-5": claude,
    "openai:gpt-5.6-luna": responses,
}
every_provider = pytest.mark.parametrize("model", list(SPEAKING))


@asynccontextmanager
async def talking(model: str, *replies: Reply) -> AsyncGenerator[tuple[Model, Server]]:
    """A model whose server gives these replies, without repeating what failed."""
    async with serving(replies) as server:
        address = server.url if model.startswith("anthropic") else f"{server.url}/v1"
        named = ModelConfig(model=model, base_url=address, api_key_env="KEY", settings={"max_retries": 0})
        opened = open_model("mine", {"mine": named}, {"KEY": KEY})
        try:
            async with asyncio.timeout(30):
                yield opened, server
        finally:
            await opened.close()


async def ask(
    model: Model, messages: list[Message] = ASKED, **settings: Any
) -> tuple[ModelAnswer, list[str]]:
    heard: list[str] = []
    answer = await model.answer(ModelRequest("main", messages, [ADD], settings), heard.append)
    return answer, heard


@every_provider
async def test_text_arrives_in_pieces_and_whole(model: str) -> None:
    async with talking(model, SPEAKING[model](["Très ", "bien, ", "你好!"], [])) as (opened, server):
        answer, heard = await ask(opened)
    assert heard == ["Très ", "bien, ", "你好!"]
    assert (answer.text, answer.calls, answer.finish_reason) == ("Très bien, 你好!", (), "stop")
    assert (answer.usage["input_tokens"], answer.usage["output_tokens"]) == (7, 5)
    assert answer.model.endswith("-1")
    assert "Ça va? 你好" in json.dumps(server.asked[0].body, ensure_ascii=False)


@every_provider
async def test_one_call_keeps_its_id_and_its_arguments_to_the_letter(model: str) -> None:
    async with talking(model, SPEAKING[model]([], [("k1", "add", [BIG])])) as (opened, _):
        answer, heard = await ask(opened)
    assert heard == []
    assert answer.calls == (ToolCall(id="k1", name="add", arguments=BIG),)
    assert answer.finish_reason == "tool_call"


@every_provider
async def test_parallel_calls_come_in_order_beside_the_text(model: str) -> None:
    calls = [
        ("k1", "add", ['{"a": 1,', ' "b": 2}']),
        ("k2", "add", ['{"a": 3, "b": 4}']),
        ("k3", "add", ["{}"]),
    ]
    async with talking(model, SPEAKING[model](["Both."], calls)) as (opened, _):
        answer, heard = await ask(opened)
    assert heard == ["Both."]
    assert [(call["id"], call["arguments"]) for call in answer.calls] == [
        ("k1", '{"a": 1, "b": 2}'),
        ("k2", '{"a": 3, "b": 4}'),
        ("k3", "{}"),
    ]


@every_provider
@pytest.mark.parametrize("cut", [1, 7])
async def test_arguments_may_be_cut_anywhere(model: str, cut: int) -> None:
    text = '{"a": 12, "b": "é\\"你}"}'
    pieces = [[text[:at], text[at:]] for at in range(1, len(text), 5)]
    calls = [(f"k{number}", "add", piece) for number, piece in enumerate([*pieces, list(text)])]
    async with talking(model, SPEAKING[model](["é你"], calls, cut=cut)) as (opened, _):
        answer, _ = await ask(opened)
    assert {call["arguments"] for call in answer.calls} == {text}
    assert len(answer.calls) == len(pieces) + 1


@pytest.mark.covers("B24")
@every_provider
async def test_a_call_without_arguments_has_none_or_an_empty_object(model: str) -> None:
    async with talking(model, SPEAKING[model]([], [("k1", "add", [])])) as (opened, _):
        answer, _ = await ask(opened)
    assert answer.calls[0]["arguments"] in {"", "{}"}


@pytest.mark.covers("B27")
@every_provider
async def test_history_goes_back_with_its_ids_and_its_big_integers(model: str) -> None:
    history: list[Message] = [
        *ASKED,
        {"role": "assistant", "content": "", "calls": [{"id": "k9", "name": "add", "arguments": BIG}]},
        {"role": "tool", "call_id": "k9", "name": "add", "content": '{"ok": true, "n": 1915883588174806058}'},
    ]
    async with talking(model, SPEAKING[model](["done"], [])) as (opened, server):
        await ask(opened, history)
    sent = json.dumps(server.asked[0].body)
    assert sent.count("k9") == 2
    assert "9007199254740993" in sent
    assert sent.count("1915883588174806058") == 2


@every_provider
async def test_arguments_that_are_no_json_and_silent_rounds_can_be_sent_back(model: str) -> None:
    history: list[Message] = [
        *ASKED,
        {
            "role": "assistant",
            "content": "Hm.",
            "calls": [{"id": "k9", "name": "add", "arguments": '{"a": 1'}],
        },
        {"role": "tool", "call_id": "k9", "name": "add", "content": '{"ok": false}'},
        {"role": "assistant", "content": "", "calls": []},
        {"role": "system", "content": "Call a tool."},
    ]
    async with talking(model, SPEAKING[model](["done"], [])) as (opened, server):
        answer, _ = await ask(opened, history)
    assert answer.text == "done"
    body = server.asked[0].body
    last = (body["messages"] if "messages" in body else body["input"])[-1]
    assert "Call a tool." in json.dumps(last)
    assert last["role"] in {"user", "system"}


@every_provider
async def test_the_tools_schema_arrives_as_it_was_given(model: str) -> None:
    async with talking(model, SPEAKING[model](["ok"], [])) as (opened, server):
        await ask(opened)
    (sent,) = server.asked[0].body["tools"]
    sent = sent.get("function", sent)
    assert sent["name"] == "add"
    assert sent.get("parameters", sent.get("input_schema")) == dict(ADD.parameters)
    assert sent.get("strict") in {None, False}


@every_provider
async def test_settings_reach_the_provider_those_of_the_request_first(model: str) -> None:
    async with talking(model, SPEAKING[model](["ok"], [])) as (opened, server):
        await ask(opened, max_tokens=77)
    body = server.asked[0].body
    assert 77 in {body.get(key) for key in ("max_tokens", "max_output_tokens", "max_completion_tokens")}
    assert body["model"] == model.split(":")[1]


@every_provider
async def test_an_image_of_a_result_is_sent_and_a_sound_is_named(model: str) -> None:
    parts = [
        {"type": "text", "text": "see"},
        {"type": "image", "media_type": "image/png", "data": "aW1hZ2U="},
        {"type": "audio", "media_type": "audio/wav", "data": "c291bmQ="},
    ]
    history: list[Message] = [
        *ASKED,
        {"role": "assistant", "content": "", "calls": [{"id": "k9", "name": "add", "arguments": "{}"}]},
        {"role": "tool", "call_id": "k9", "name": "add", "content": "see [image] [audio]", "parts": parts},
    ]
    async with talking(model, SPEAKING[model](["ok"], [])) as (opened, server):
        await ask(opened, history)
    sent = json.dumps(server.asked[0].body)
    assert "aW1hZ2U=" in sent
    assert "[audio audio/wav, 5 bytes]" in sent
    assert "c291bmQ=" not in sent


async def test_a_result_without_images_is_sent_as_its_text() -> None:
    history: list[Message] = [
        *ASKED,
        {"role": "assistant", "content": "", "calls": [{"id": "k9", "name": "add", "arguments": "{}"}]},
        {
            "role": "tool",
            "call_id": "k9",
            "name": "add",
            "content": "a\nb",
            "parts": [{"type": "text", "text": "a"}],
        },
    ]
    async with talking("openai-compatible:tiny", chat(["ok"], [])) as (opened, server):
        await ask(opened, history)
    assert server.asked[0].body["messages"][-1]["content"] == "a\nb"


CUT = {
    "openai-compatible:tiny": lambda: scripted.chat(
        *scripted.chat_call(0, "k1", "add", '{"a": 1'), finish="length"
    ),
    "anthropic:claude-haiku-4-5": lambda: scripted.claude(
        scripted.claude_call("k1", "add", '{"a": 1'), stop="max_tokens"
    ),
}


@pytest.mark.parametrize("model", list(CUT))
async def test_an_answer_that_was_cut_off_says_so_and_keeps_what_came(model: str) -> None:
    async with talking(model, CUT[model]()) as (opened, _):
        answer, _ = await ask(opened)
    assert answer.truncated
    assert answer.calls[0]["arguments"] == '{"a": 1'


async def test_a_call_without_an_id_gets_one_that_pairs_with_its_result() -> None:
    deltas = scripted.chat_call(0, None, "add", "{}")
    async with talking("openai-compatible:tiny", scripted.chat(*deltas), chat(["ok"], [])) as (
        opened,
        server,
    ):
        answer, _ = await ask(opened)
        key = answer.calls[0]["id"]
        await ask(
            opened,
            [
                *ASKED,
                {"role": "assistant", "content": "", "calls": list(answer.calls)},
                {"role": "tool", "call_id": key, "name": "add", "content": "3"},
            ],
        )
    assert key
    *_, called, result = server.asked[1].body["messages"]
    assert called["tool_calls"][0]["id"] == result["tool_call_id"] == key


async def test_ids_that_a_server_uses_again_are_told_apart() -> None:
    twice = [("call_0", "add", ["{}"]), ("call_0", "add", ["{}"])]
    history: list[Message] = [
        *ASKED,
        {"role": "assistant", "content": "", "calls": [{"id": "call_0", "name": "add", "arguments": "{}"}]},
        {"role": "tool", "call_id": "call_0", "name": "add", "content": "3"},
    ]
    async with talking("openai-compatible:tiny", chat([], twice)) as (opened, _):
        answer, _ = await ask(opened, history)
    assert [call["id"] for call in answer.calls] == ["call_0_2", "call_0_3"]


ERRORS = [
    (401, "model.unauthorized", "the key was refused (HTTP 401)"),
    (404, "model.unknown", "it has no such model (HTTP 404)"),
    (400, "model.refused", "it refused the request (HTTP 400): Incorrect value, key *** at http://***@host"),
    (429, "model.rate_limited", "too many requests (HTTP 429)"),
    (500, "model.unavailable", "it failed (HTTP 500)"),
    (503, "model.unavailable", "it is overloaded or down (HTTP 503)"),
]


@pytest.mark.parametrize("model", ["openai-compatible:tiny", "anthropic:claude-haiku-4-5"])
@pytest.mark.parametrize(("status", "code", "message"), ERRORS)
async def test_a_refusal_has_a_code_a_reason_without_secrets_and_a_next_step(
    model: str, status: int, code: str, message: str
) -> None:
    reply = scripted.problem(status, f"Incorrect value, key {KEY} at http://user:pw@host")
    async with talking(model, reply) as (opened, _):
        with pytest.raises(ModelError) as caught:
            await ask(opened)
    assert caught.value.code == code
    assert str(caught.value).startswith(f"mine: {message}")
    assert caught.value.hint
    assert KEY not in f"{caught.value} {caught.value.hint}"


async def test_a_rate_limit_says_how_long_to_wait() -> None:
    reply = scripted.problem(429, "slow down")
    reply.headers["retry-after"] = "17"
    async with talking("openai-compatible:tiny", reply) as (opened, _):
        with pytest.raises(ModelError, match="slow down") as caught:
            await ask(opened)
    assert caught.value.hint == "wait 17 seconds, then try again"


async def test_a_quota_that_is_used_up_is_no_rate_limit() -> None:
    reply = scripted.problem(429, "no money", code="insufficient_quota")
    async with talking("openai-compatible:tiny", reply) as (opened, _):
        with pytest.raises(ModelError) as caught:
            await ask(opened)
    assert caught.value.code == "model.quota"


async def test_a_failure_that_passes_is_tried_again_by_the_providers_library() -> None:
    replies = [scripted.problem(503, "later"), chat(["ok"], [])]
    replies[0].headers["retry-after-ms"] = "1"
    async with talking("openai-compatible:tiny", *replies) as (opened, server):
        answer, _ = await ask(opened, max_retries=1)
    assert (answer.text, len(server.asked)) == ("ok", 2)


async def test_a_server_that_is_not_there_is_named_with_its_address() -> None:
    async with serving([]) as server:
        address = f"{server.url}/v1"
    opened = open_model("ollama:tiny", environ={"OLLAMA_BASE_URL": address})
    with pytest.raises(ModelError, match="ollama:tiny: it can't be reached at ") as caught:
        await ask(opened)
    await opened.close()
    assert caught.value.code == "model.unreachable"
    assert address in str(caught.value)
    assert str(caught.value).endswith(": Connection refused")
    assert "is the server running?" in (caught.value.hint or "")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_server_on_this_machine_is_asked_again_only_on_demand(host: str) -> None:
    replies = [scripted.problem(503, "later") for _ in range(3)]
    for reply in replies:
        reply.headers["retry-after-ms"] = "1"
    async with serving(replies) as server:
        opened = open_model(f"openai-compatible:tiny@http://{host}:{server.port}/v1", environ={})
        with pytest.raises(ModelError, match="later"):
            await ask(opened)
        assert len(server.asked) == 1
        with pytest.raises(ModelError, match="later"):
            await ask(opened, max_retries=1)
        assert len(server.asked) == 3
        await opened.close()


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"<html>hello</html>", content_type="text/html"),
        Reply(b"data: {oops\n\n"),
        Reply(b'data: {"choices": 7}\n\n'),
        Reply(b""),
    ],
    ids=["html", "broken json", "other json", "nothing"],
)
async def test_a_server_that_is_no_model_server_gives_one_of_our_errors(reply: Reply) -> None:
    async with talking("openai-compatible:tiny", reply) as (opened, _):
        with pytest.raises(ModelError, match="mine: ") as caught:
            await ask(opened)
    assert caught.value.code.startswith("model.")


ERROR_INSIDE = {
    "openai-compatible:tiny": b'data: {"error": {"message": "too much", "code": "rate_limit_exceeded"}}\n\n',
    "anthropic:claude-haiku-4-5": (
        b"event: error\n"
        b'data: {"type": "error", "error": {"type": "rate_limit_error", "message": "too much"}}\n\n'
    ),
}


@pytest.mark.parametrize("model", list(ERROR_INSIDE))
async def test_an_error_inside_a_stream_is_the_same_error(model: str) -> None:
    started = SPEAKING[model](["one "], []).body.split(b"\n\n")[:2]
    reply = Reply(b"\n\n".join([*started, ERROR_INSIDE[model]]))
    async with talking(model, reply) as (opened, _):
        with pytest.raises(ModelError, match="too much") as caught:
            await ask(opened)
    assert caught.value.code == "model.rate_limited"


@pytest.mark.parametrize("model", ["openai:gpt-5.6-luna", "anthropic:claude-haiku-4-5"])
async def test_strict_tools_are_strict_where_the_provider_knows_it(model: str) -> None:
    async with talking(model, SPEAKING[model](["ok"], [])) as (opened, server):
        request = ModelRequest("main", ASKED, [replace(ADD, strict=True)])
        await opened.answer(request, lambda _piece: None)
    assert server.asked[0].body["tools"][0]["strict"] is True


async def test_an_address_that_is_none_is_an_error_of_ours() -> None:
    config = ModelConfig(model="openai-compatible:tiny@http://[oops", settings={"max_retries": 0})
    opened = open_model("mine", {"mine": config}, {})
    with pytest.raises(ModelError, match="mine: ") as caught:
        await ask(opened)
    assert caught.value.code.startswith("model.")


def test_a_key_is_not_shown_with_its_model() -> None:
    assert KEY not in repr(Target("mine", "openai", "gpt-1", key=KEY))


async def test_agents_may_ask_at_once() -> None:
    replies = [chat([str(number)], []) for number in range(4)]
    async with talking("openai-compatible:tiny", *replies) as (opened, server):
        answers = await asyncio.gather(*(ask(opened) for _ in replies))
    assert {answer.text for answer, _ in answers} == {"0", "1", "2", "3"}
    assert len(server.asked) == 4


async def test_a_stream_that_stops_in_its_middle_is_an_error() -> None:
    whole = chat(["one ", "two"], [])
    half = Reply(whole.body[: len(whole.body) // 2], headers={"content-length": str(len(whole.body))})
    async with talking("openai-compatible:tiny", half) as (opened, _):
        with pytest.raises(ModelError) as caught:
            await ask(opened)
    assert caught.value.code == "model.unreachable"


async def test_a_request_that_takes_too_long_is_an_error() -> None:
    reply = chat(["one ", "two"], [], cut=8)
    reply.hold = asyncio.Event()
    async with talking("openai-compatible:tiny", reply) as (opened, _):
        with pytest.raises(ModelError, match="did not answer in time") as caught:
            await ask(opened, timeout=0.2)
        reply.hold.set()
    assert caught.value.code == "model.timeout"


async def test_a_cancelled_request_stays_cancelled() -> None:
    reply = chat(["one ", "two"], [], cut=8)
    reply.hold = asyncio.Event()
    async with talking("openai-compatible:tiny", reply) as (opened, server):
        task = asyncio.create_task(ask(opened))
        await server.half_sent.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        reply.hold.set()


async def test_closing_before_and_after_use_is_harmless() -> None:
    async with talking("openai-compatible:tiny", chat(["ok"], [])) as (opened, _):
        await opened.close()
        await ask(opened)
        await opened.close()
        await opened.close()
    assert opened.finishes_with_text


# What stands in a stream where the model's own end begins, by provider.
ENDS = {
    "openai-compatible:tiny": b'"finish_reason": "',
    "ollama:tiny": b'"finish_reason": "',
    "anthropic:claude-haiku-4-5": b"event: message_delta",
    "openai:gpt-5.6-luna": b"event: response.completed",
}


@every_provider
@pytest.mark.parametrize("calls", [[], [("k1", "add", ['{"a": 1, "b": 2}'])]])
async def test_a_stream_that_was_cut_is_no_answer(model: str, calls: Calls) -> None:
    reply = SPEAKING[model](["Both."], calls)
    cut = reply.body.index(ENDS[model])
    reply = replace(reply, drop=reply.body.rindex(b"\n\n", 0, cut) + 2)
    async with talking(model, reply) as (opened, _):
        with pytest.raises(ModelError, match="cut off") as caught:
            await ask(opened)
    assert caught.value.code == "model.bad_answer"


@every_provider
async def test_an_answer_without_end_is_given_up(model: str) -> None:
    piece = "x" * 100_000
    async with talking(model, SPEAKING[model]([piece] * 60, [])) as (opened, _):
        with pytest.raises(ModelError, match="longer than 4,000,000 characters") as caught:
            await ask(opened)
    assert caught.value.code == "model.bad_answer"
