"""The embedded local model behind `Model`: small, offline, picks one of a few tools, writes no prose."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from callboard.conversation import Message, ToolCall
from callboard.errors import ModelError
from callboard.models.child import Child
from callboard.models.engine import Engine, installed
from callboard.models.model import Dialect, ModelAnswer, ModelRequest, OnDelta, ToolDefinition

MAX_TEXT = 2000  # characters of one request: the engine reads some 100 tokens per second
_MAX_TOKENS = 512
_SECONDS = 120.0


class LocalModel:
    """The embedded model. Its process starts with the first request, and serves one at a time.

    It sees the last thing that the user said, and the tools. It can't read results: after them its answer is
    empty, and the host shows the results themselves. What a tool returned never reaches it.
    """

    name = "local"
    dialect: Dialect = "openai"
    finishes_with_text = False

    def __init__(self, engine: Engine | None = None) -> None:
        """Take the engine.

        Args:
            engine: its files; None: the installed ones.

        Raises:
            ModelError: when there is none, or not for this machine.
        """
        self._engine = engine or installed()
        self._child: Child | None = None
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The id of its process; None while none runs."""
        return None if self._child is None else self._child.pid

    async def answer(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:  # noqa: ARG002 - no prose
        """The calls that the model makes for the last thing the user said; none after results.

        Raises:
            ModelError: when the model can't be started or confined, or gave no answer that can be used.
        """
        text = _question(request.messages)
        if text is None or not request.tools:
            return ModelAnswer("", finish_reason="stop", model=self.name)
        if len(text) > MAX_TEXT:
            raise ModelError(
                f"the request has {len(text)} characters; the embedded model reads {MAX_TEXT}",
                code="model.too_long",
                hint="ask for less at once, or choose another model with --model",
            )
        asked = {
            "tools": shown(request.tools),
            "text": text,
            "max_tokens": min(int(request.settings.get("max_tokens", _MAX_TOKENS)), _MAX_TOKENS),
        }
        async with self._turn:
            message = await self._ask(asked, float(request.settings.get("timeout", _SECONDS)))
        calls = emitted(message.get("answer"), first=_calls_before(request.messages) + 1)
        return ModelAnswer("", calls, finish_reason="tool_call" if calls else "stop", model=self.name)

    async def close(self) -> None:
        """End the process; a request that it is answering fails."""
        if self._child is not None:
            self._child.kill()
        async with self._turn:
            await self._drop()

    async def _ask(self, asked: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        if self._child is None:
            self._child = await Child.start(self._engine)
        try:
            return await self._child.ask(asked, seconds)
        except BaseException:
            await self._drop()  # cancelled or failed: it may still be computing, the next request starts anew
            raise

    async def _drop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.stop()


def _question(messages: Sequence[Message]) -> str | None:
    """The last thing the user said; None where calls were answered since."""
    for message in reversed(messages):
        if message["role"] == "tool":
            return None
        if message["role"] == "user":
            return message["content"]
    return None


def _calls_before(messages: Sequence[Message]) -> int:
    return sum(len(message["calls"]) for message in messages if message["role"] == "assistant")


def shown(tools: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    """The tools as the engine reads them best: those with least to fill in first, in their plainest form."""
    made = [
        {"name": tool.name, "description": tool.description, "parameters": _object(tool.parameters)}
        for tool in tools
    ]
    return sorted(made, key=lambda tool: len(tool["parameters"].get("required", ())))


def _object(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Without optional switches, which are only filled in by mistake."""
    required = list(schema.get("required", ()))
    properties = {name: _plain(parameter) for name, parameter in schema.get("properties", {}).items()}
    kept = {
        name: parameter
        for name, parameter in properties.items()
        if name in required or parameter.get("type") != "boolean"
    }
    rest = {key: schema[key] for key in ("additionalProperties", "$defs") if key in schema}
    return {"type": "object", "properties": kept, "required": required, **rest}


def _plain(parameter: Mapping[str, Any]) -> dict[str, Any]:
    """Without title and default; of a union with null only the other side."""
    others = [other for other in parameter.get("anyOf", ()) if other.get("type") != "null"]
    if len(others) == 1:
        parameter = {**others[0], **{key: value for key, value in parameter.items() if key != "anyOf"}}
    dropped = {"title", "default", "examples", "description"}
    made = {key: value for key, value in parameter.items() if key not in dropped}
    if "description" in parameter:
        made["description"] = parameter["description"]
    return made


def emitted(answer: object, first: int) -> tuple[ToolCall, ...]:
    """The calls that the engine emitted; those that it withheld are no calls.

    Args:
        answer: the engine's answer, as JSON text.
        first: the number of the first call, for its id.

    Raises:
        ModelError: for an answer of another shape.
    """
    try:
        made = json.loads(str(answer))["function_calls"]
        return tuple(_call(call, f"call_{first + index}") for index, call in enumerate(made))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ModelError(
            f"the embedded model gave an answer that can't be used: {type(error).__name__}: {error}",
            code="model.bad_answer",
            hint="ask again in other words",
        ) from error


def _call(call: Mapping[str, Any], key: str) -> ToolCall:
    name = call["name"]
    if not isinstance(name, str):
        raise TypeError("a tool's name is no text")
    return ToolCall(
        id=key, name=name, arguments=json.dumps(call["arguments"], ensure_ascii=False, allow_nan=False)
    )
