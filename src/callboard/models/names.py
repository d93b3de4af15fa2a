"""The names by which models are chosen: what they look like, and what is close to one that is wrong."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches

from callboard.errors import ModelError
from callboard.models.services import ALSO_CALLED, SERVICES

_SHOWN = ("openai", "anthropic", "ollama", "openai-compatible")
FORMS = (
    "local",
    "openai:NAME",
    "anthropic:NAME",
    "ollama:NAME",
    "openai-compatible:NAME@http://HOST:PORT/v1",
    "NAME of a [models.NAME] in callboard.toml",
    f"PROVIDER:NAME with PROVIDER {' | '.join(sorted(set(SERVICES).difference(_SHOWN)))}",
)
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
    if name == "local" or (provider in SERVICES and model):
        url = _AT_URL.fullmatch(model) if provider == "openai-compatible" else None
        return ModelName(provider, model) if url is None else ModelName(provider, url["model"], url["url"])
    close = _close(provider, named)
    meant = f"; close to it: {', '.join(close)}" if close else ""
    raise ModelError(
        f"no model is called {name[:100]!r}{meant}",
        code="model.unknown_name",
        hint="a model is one of: " + ", ".join(FORMS),
    )


def _close(provider: str, named: Collection[str]) -> list[str]:
    meant = ALSO_CALLED.get(provider.lower().replace("_", "-"))
    close = get_close_matches(provider, [*named, "local", *SERVICES], n=3, cutoff=0.6)
    return close if meant is None or meant in close else [meant, *close]
