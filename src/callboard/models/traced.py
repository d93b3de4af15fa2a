"""A model whose turns are spans: `chat {model}`, with what was used."""

from typing import TYPE_CHECKING, Any

from callboard.models.model import Dialect, Model, ModelAnswer, ModelRequest, OnDelta

if TYPE_CHECKING:
    from callboard.telemetry import Spans

# What the GenAI conventions call a service where that is not our name for it.
_PROVIDERS = {
    "local": "callboard",
    "openai-chat": "openai",
    "openai-compatible": "openai",
    "google": "gcp.gemini",
    "google-cloud": "gcp.vertex_ai",
    "bedrock": "aws.bedrock",
    "bedrock-mantle": "aws.bedrock",
    "azure": "azure.ai.openai",
    "azure-responses": "azure.ai.openai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
_USAGE = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
}


class TracedModel:
    """The same model, with a span around each turn.

    Args:
        model: what is asked.
        spans: how spans are opened.
        called: what it is called where its own name is one that the configuration gave it.
    """

    def __init__(self, model: Model, spans: "Spans", called: str | None = None) -> None:
        self._model = model
        self._spans = spans
        self._called = called or model.name

    @property
    def name(self) -> str:
        """See `Model.name`."""
        return self._model.name

    @property
    def dialect(self) -> Dialect:
        """See `Model.dialect`."""
        return self._model.dialect

    @property
    def finishes_with_text(self) -> bool:
        """See `Model.finishes_with_text`."""
        return self._model.finishes_with_text

    async def answer(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        """See `Model.answer`."""
        service, _, model = self._called.partition(":")
        attributes: dict[str, Any] = {
            "gen_ai.provider.name": _PROVIDERS.get(service, service),
            "gen_ai.request.model": model or service,
            "gen_ai.request.temperature": _number(request.settings.get("temperature")),
            "gen_ai.request.max_tokens": _number(request.settings.get("max_tokens")),
            "gen_ai.agent.name": request.agent,
        }
        with self._spans.open("chat", model or service, attributes, kind="client") as opened:
            answer = await self._model.answer(request, on_delta)
            told: dict[str, Any] = {attribute: answer.usage.get(name) for name, attribute in _USAGE.items()}
            told["gen_ai.response.model"] = answer.model or None
            if answer.finish_reason is not None:
                told["gen_ai.response.finish_reasons"] = (answer.finish_reason,)
            opened.set(told)
            return answer

    async def close(self) -> None:
        """See `Model.close`."""
        await self._model.close()


def _number(given: Any) -> float | int | None:
    return given if isinstance(given, int | float) else None
