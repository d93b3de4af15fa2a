"""Talking to providers: pydantic-ai's model layer does it, none of its agent loop is used."""

from collections.abc import Sequence
from typing import Any, cast

from pydantic_ai import direct
from pydantic_ai.messages import (
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import Model as PydanticModel
from pydantic_ai.models import ModelRequestParameters, StreamedResponse, infer_model
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition as PydanticToolDefinition

from callboard.errors import ModelError
from callboard.models.failures import failed
from callboard.models.model import Dialect, ModelAnswer, ModelRequest, OnDelta, ToolDefinition
from callboard.models.target import Target
from callboard.models.translation import answer_of, messages_for

_SECONDS = 600.0  # one whole request, where the settings say nothing else
MAX_ANSWER = 4_000_000  # characters of one answer: prose, thoughts and arguments


class Connection:
    """A provider's model, over pydantic-ai's class for it."""

    def __init__(self, target: Target) -> None:
        """Make the provider's client; nothing is sent yet.

        Raises:
            ModelError: when the provider's library does not take what it is given.
        """
        self._target = target
        self._entered = False
        try:
            self._model = _model_of(target)
        except Exception as error:  # each provider's library has errors of its own
            raise failed(error, target.name, target.base_url, target.secrets) from error

    async def answer(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        """Ask for one turn, streamed.

        Raises:
            ModelError: when the provider can't be reached, refuses, or answers what can't be read.
        """
        if not self._entered:
            self._entered = True
            await self._model.__aenter__()
        target = self._target
        try:
            async with direct.model_request_stream(
                self._model,
                messages_for(
                    request.messages,
                    self._model.system,
                    instructs_anywhere=target.service.instructs_anywhere,
                ),
                model_settings=_settings(target, request),
                model_request_parameters=_parameters(request.tools, target.dialect),
            ) as stream:
                await _listen(stream, on_delta)
                return answer_of(_whole(stream.get(), target), request.messages)
        except ModelError:
            raise
        except Exception as error:  # each provider's library has errors of its own
            raise failed(
                error, target.name, target.base_url or self._model.base_url, target.secrets
            ) from error

    async def close(self) -> None:
        """Close the connections."""
        if self._entered:
            self._entered = False
            await self._model.__aexit__(None, None, None)


def _model_of(target: Target) -> PydanticModel:
    """Pydantic-ai's model for a provider, whose own library has to be installed."""
    kind = target.service.inferred_as
    return infer_model(f"{kind}:{target.model}", lambda _: _provider_of(target))


def _provider_of(target: Target) -> Provider[Any]:
    """Pydantic-ai's provider, told all that was found: what it is not told it looks up by itself."""
    service, address = target.service, target.base_url
    if service.name == "openai-compatible":
        return _compatible(target)
    arguments: dict[str, Any] = dict(target.options)
    if target.key is not None or not service.finds_credentials:
        arguments[service.key_as] = target.key or "none"
    if service.address_as not in {None, "client"} and address is not None:
        arguments[str(service.address_as)] = address
    made = infer_provider_class(service.inferred_as)(**arguments)
    if service.address_as == "client" and address is not None:
        made.client.base_url = address
    return made


def _compatible(target: Target) -> Provider[Any]:
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415 - a library

    plain = OpenAIModelProfile(
        openai_supports_strict_tool_definition=False
    )  # many servers don't know the word
    return OpenAICompatibleProvider(
        target.provider, base_url=target.base_url or "", api_key=target.key, profile=plain
    )


async def _listen(stream: StreamedResponse, on_delta: OnDelta) -> None:
    length = 0
    async for event in stream:
        text, other = _pieces(event)
        length += len(text) + len(other)
        if length > MAX_ANSWER:
            raise ModelError(
                f"the answer is longer than {MAX_ANSWER:,} characters",
                code="model.bad_answer",
                hint="set max_tokens in the model's settings",
            )
        if text:
            on_delta(text)


def _pieces(event: ModelResponseStreamEvent) -> tuple[str, str]:
    """What an event adds to the answer: prose, and what nobody is shown yet."""
    said = (
        event.part
        if isinstance(event, PartStartEvent)
        else (event.delta if isinstance(event, PartDeltaEvent) else None)
    )
    match said:
        case TextPart(content=text) | TextPartDelta(content_delta=text):
            return text, ""
        case ThinkingPart(content=text) | ThinkingPartDelta(content_delta=text):
            return "", text or ""
        case ToolCallPart(args=arguments) | ToolCallPartDelta(args_delta=arguments):
            return "", str(arguments or "")
        case _:
            return "", ""


def _whole(response: ModelResponse, target: Target) -> ModelResponse:
    """The answer, if the model said that it had ended: the library takes a cut stream for a whole one.

    Raises:
        ModelError: the stream ended without a word about why.
    """
    if (response.provider_details or {}).get("finish_reason") or response.finish_reason == "content_filter":
        return response
    if target.service.ends_silently and response.finish_reason:
        return response
    raise ModelError(
        f"{target.name}: its answer was cut off: the stream ended without a finish reason",
        code="model.bad_answer",
        hint="try again; a proxy or server between may be closing long answers",
    )


def _settings(target: Target, request: ModelRequest) -> ModelSettings:
    """Ours as theirs: `timeout` is for the whole request here, for one wait on the network there."""
    made = {**target.settings, **request.settings}
    if target.is_on_this_machine:
        made.setdefault("max_retries", 0)  # a server that does not run is not waited for
    made["request_timeout"] = made.pop("timeout", _SECONDS)
    return cast("ModelSettings", made)


def _parameters(tools: Sequence[ToolDefinition], dialect: Dialect) -> ModelRequestParameters:
    return ModelRequestParameters(
        function_tools=[
            PydanticToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.parameters),
                # None would let the other classes rewrite the schema; Google's asks for what fits it
                strict=None if dialect == "gemini" else bool(tool.strict),
            )
            for tool in tools
        ]
    )
