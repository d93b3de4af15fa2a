"""What a model thought before it called goes back to its provider, and to nobody else."""

import json
from pathlib import Path
from typing import Any

import pytest

from callboard.conversation import AssistantMessage, Message
from callboard.models import ModelAnswer
from tests.models import server
from tests.models.server import Reply
from tests.models.test_providers import ask
from tests.models.test_providers import talking as asking
from tests.models.test_wire import WIRES, Wire, folder, talking

__all__ = ["folder"]

SIGNATURE = "c2lnbmVk"
SIGNED_CALL = {
    "functionCall": {"id": "k1", "name": "add", "args": {"a": 1, "b": 2}},
    "thoughtSignature": SIGNATURE,
}


def _claude() -> Reply:
    thinking: dict[str, Any] = {"type": "thinking", "thinking": "", "signature": ""}
    deltas = [
        {"type": "thinking_delta", "thinking": "They want "},
        {"type": "thinking_delta", "thinking": "a sum."},
        {"type": "signature_delta", "signature": SIGNATURE},
    ]
    call = server.claude_call("k1", "add", '{"a": 1, "b": 2}')
    return server.claude((thinking, deltas), server.claude_text("So."), call, stop="tool_use")


def _responses() -> Reply:
    reasoning: dict[str, Any] = {
        "type": "reasoning",
        "id": "rs1",
        "summary": [],
        "encrypted_content": SIGNATURE,
    }
    return server.responses((reasoning, []), server.responses_call("k1", "add", '{"a": 1, "b": 2}'))


def _gemini() -> Reply:
    return server.gemini({"text": "They want a sum.", "thought": True}, SIGNED_CALL)


def _chat() -> Reply:
    call = server.chat_call(0, "k1", "add", '{"a": 1, "b": 2}')
    return server.chat({"reasoning_content": SIGNATURE}, *call, finish="tool_calls")


THINKING = {"claude": _claude, "responses": _responses, "gemini": _gemini}


@pytest.mark.parametrize("name", list(THINKING))
async def test_signed_thoughts_go_back_before_the_call_they_led_to(name: str, folder: Path) -> None:
    wire: Wire = WIRES[name]
    async with talking(wire, folder, THINKING[name](), wire.reply("3", [], "done")) as talk:
        result = await talk.run()
        told = str(list(talk.host.store.events.of(result.id)))
    assert (result.status, result.text) == ("completed", "3")
    sent = json.dumps(talk.server.asked[1].body)
    assert sent.count(SIGNATURE) == 1
    assert sent.index(SIGNATURE) < sent.index('"k1"') or name == "gemini"
    assert [call.content for call in wire.calls(talk.server.asked[1].body)] == [{"a": 1, "b": 2}]
    assert [one.id for one in wire.results(talk.server.asked[1].body)] == ["k1"]
    assert SIGNATURE not in told  # events are for people


async def test_reasoning_of_a_service_that_wants_it_goes_back() -> None:
    async with asking("deepseek:deepseek-v4-pro", _chat(), server.chat({"content": "3"})) as (opened, talk):
        answer, heard = await ask(opened)
        assert heard == []
        await ask(opened, [*_history(answer)])
    (asked,) = [one for one in talk.asked[1].body["messages"] if one["role"] == "assistant"]
    assert asked["reasoning_content"] == SIGNATURE
    assert asked["tool_calls"][0]["id"] == "renamed"


@pytest.mark.parametrize("model", ["anthropic:claude-haiku-4-5", "openai-compatible:tiny"])
async def test_thoughts_of_one_provider_are_not_shown_to_another(model: str) -> None:
    async with asking("google:gemini-3.8-flash", _gemini()) as (opened, _):
        answer, _ = await ask(opened)
    reply = server.claude(server.claude_text("3")) if "claude" in model else server.chat({"content": "3"})
    async with asking(model, reply) as (opened, talk):
        await ask(opened, [*_history(answer)])
    sent = json.dumps(talk.asked[0].body)
    assert "They want a sum." not in sent
    assert SIGNATURE not in sent
    assert "renamed" in sent


async def test_thoughts_whose_calls_are_others_now_are_left_away() -> None:
    async with asking("anthropic:claude-haiku-4-5", _claude(), server.claude(server.claude_text("3"))) as (
        opened,
        talk,
    ):
        answer, _ = await ask(opened)
        fewer: AssistantMessage = {
            "role": "assistant",
            "content": "So.",
            "calls": [],
            "kept": dict(answer.kept or {}),
        }
        await ask(
            opened, [{"role": "user", "content": "1 + 2?"}, fewer, {"role": "user", "content": "Well?"}]
        )
    assert SIGNATURE not in json.dumps(talk.asked[1].body)


async def test_an_answer_without_thoughts_keeps_nothing() -> None:
    async with asking("openai-compatible:tiny", server.chat({"content": "3"})) as (opened, _):
        answer, _ = await ask(opened)
    assert answer.kept is None
    assert "kept" not in answer.to_json()


async def test_what_is_kept_survives_a_record() -> None:
    async with asking("anthropic:claude-haiku-4-5", _claude()) as (opened, _):
        answer, _ = await ask(opened)
    assert ModelAnswer.from_json(json.loads(json.dumps(answer.to_json()))) == answer


def _history(answer: ModelAnswer) -> list[Message]:
    (call,) = answer.calls
    again: AssistantMessage = {
        "role": "assistant",
        "content": answer.text,
        "calls": [{**call, "id": "renamed"}],
        "kept": dict(answer.kept or {}),
    }
    return [
        {"role": "user", "content": "1 + 2?"},
        again,
        {"role": "tool", "call_id": "renamed", "name": "add", "content": "3"},
    ]
