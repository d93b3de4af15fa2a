"""The names by which models are chosen: what they look like, and what is close to one that is wrong."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches

from callboard.errors import ModelError

FORMS = (
    "local",
    "openai:NAME",
    "anthropic:NAME",
    "ollama:NAME",
    "openai-compatible:NAME@http://HOST:PORT/v1",
    "NAME of a [models.NAME] in callboard.toml",
)
_PROVIDERS = ("openai", "anthropic", "ollama", "openai-compatible")
_AT_URL = re.compile(r"(?P<model>.+?)@(?P<url>https?://.+)")


@dataclass(frozen=True, slots=True)
class ModelName:
    """A name taken apart: `provider` is one of ours, `model` the provider's own name for it."""

    provider: str
    model: str
    base_url: str | None = None


def parse(name: str, named: Collection[str] = ()) -> ModelName:
    """Take a name apart.

    Args:
        name: such as ``openai:NAME``.
        named: the names that the configuration gives, for the error only.

    Raises:
        ModelError: `model.unknown_name`, with the legal forms and what is close.
    """
    provider, _, model = name.partition(":")
    if name == "local" or (provider in _PROVIDERS and model):
        url = _AT_URL.fullmatch(model) if provider == "openai-compatible" else None
        return ModelName(provider, model) if url is None else ModelName(provider, url["model"], url["url"])
    close = get_close_matches(provider, [*named, "local", *_PROVIDERS], n=3, cutoff=0.6)
    meant = f"; close to it: {', '.join(close)}" if close else ""
    raise ModelError(
        f"no model is called {name[:100]!r}{meant}",
        code="model.unknown_name",
        hint="a model is one of: " + ", ".join(FORMS),
    )
