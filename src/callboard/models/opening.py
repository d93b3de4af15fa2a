"""From a name to a model: what is missing is found here, before anything is loaded or sent."""

import os
from collections.abc import Mapping
from importlib.util import find_spec

from callboard.config import ModelConfig
from callboard.errors import ModelError
from callboard.models.model import Model
from callboard.models.names import ModelName, parse
from callboard.models.remote import ProviderModel
from callboard.models.target import Target

_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_OLLAMA = "http://127.0.0.1:11434/v1"


def open_model(
    name: str, named: Mapping[str, ModelConfig] | None = None, environ: Mapping[str, str] | None = None
) -> Model:
    """Open a model by its name.

    Args:
        name: as in `callboard.models.names`.
        named: the configuration's own models.
        environ: where keys and addresses are looked up; None: this process's environment.

    Raises:
        ModelError: `model.unknown_name`, `model.no_key`, `model.no_address`, `model.missing_extra` or
            `model.local_unsupported`, each with the next step.
    """
    environment = os.environ if environ is None else environ
    config = (named or {}).get(name) or ModelConfig(model=name)
    parsed = parse(config.model, named or ())
    if parsed.provider == "local":
        from callboard.models.local import LocalModel  # noqa: PLC0415 - a run with a provider needs none of it

        return LocalModel()
    base_url = config.base_url or parsed.base_url or _address(parsed, environment)
    key = _key(name, parsed, config, environment)
    package = "anthropic" if parsed.provider == "anthropic" else "openai"
    if find_spec(package) is None:
        raise ModelError(
            f"{name} needs the package {package}, which is not installed",
            code="model.missing_extra",
            hint=f"pip install 'callboard[{package}]'",
        )
    return ProviderModel(Target(name, parsed.provider, parsed.model, base_url, key, config.settings))


def _key(name: str, parsed: ModelName, config: ModelConfig, environ: Mapping[str, str]) -> str | None:
    """The key; None for a server that needs none."""
    variable = config.api_key_env or (None if config.base_url else _KEYS.get(parsed.provider))
    if variable is None:
        return None
    key = environ.get(variable)
    if not key:
        raise ModelError(
            f"{name} needs a key: the environment variable {variable} is not set",
            code="model.no_key",
            hint=f"export {variable}=..., or choose another model with --model, such as local",
        )
    return key


def _address(parsed: ModelName, environ: Mapping[str, str]) -> str | None:
    """Where the provider listens; None is its own default."""
    if parsed.provider == "ollama":
        return environ.get("OLLAMA_BASE_URL") or _OLLAMA
    if parsed.provider != "openai-compatible":
        return environ.get(f"{parsed.provider.upper()}_BASE_URL") or None
    raise ModelError(
        f"openai-compatible:{parsed.model} needs an address",
        code="model.no_address",
        hint=f"openai-compatible:{parsed.model}@http://HOST:PORT/v1, or base_url in [models.NAME]",
    )
