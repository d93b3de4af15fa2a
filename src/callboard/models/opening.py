"""From a name to a model: what is missing is found here, before anything is loaded or sent."""

import os
from collections.abc import Mapping
from importlib.util import find_spec

from callboard.config import ModelConfig
from callboard.errors import ModelError
from callboard.models.model import Model
from callboard.models.names import ModelName, parse
from callboard.models.remote import ProviderModel
from callboard.models.services import SERVICES, Service
from callboard.models.target import Target


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
    service = SERVICES[parsed.provider]
    base_url = config.base_url or parsed.base_url or _address(parsed, service, environment)
    if config.base_url and service.address_as is None:
        raise ModelError(
            f"{name} takes no base_url: {service.name} has no other address",
            code="model.no_address",
            hint="take base_url away, or use openai-compatible:NAME with it",
        )
    options = _options(name, config, service, environment)
    key = _key(name, service, config, environment)
    for module in service.modules:
        if not _is_here(module):
            raise ModelError(
                f"{name} needs the package {module}, which is not installed",
                code="model.missing_extra",
                hint=f"pip install 'callboard[{service.extra}]'",
            )
    settings = {**service.settings, **config.settings}
    return ProviderModel(Target(name, service.name, parsed.model, base_url, key, settings, options))


def _key(name: str, service: Service, config: ModelConfig, environ: Mapping[str, str]) -> str | None:
    """The key; None for a server that needs none, or gets none: at another address it is named first."""
    if config.api_key_env:
        variables, needed = (config.api_key_env,), True
    else:
        variables, needed = (() if config.base_url else service.keys), service.needs_key
    for variable in variables:
        if environ.get(variable):
            return environ[variable]
    if not variables or not needed:
        return None
    raise ModelError(
        f"{name} needs a key: the environment variable {' or '.join(variables)} is not set",
        code="model.no_key",
        hint=f"export {variables[0]}=..., or choose another model with --model, such as local",
    )


def _address(parsed: ModelName, service: Service, environ: Mapping[str, str]) -> str | None:
    """Where the provider listens; None is its own default."""
    address = environ.get(service.address or "") or service.default_address
    if address or not service.needs_address:
        return address
    one = f"{parsed.provider}:{parsed.model}"
    way = f"{one}@http://HOST:PORT/v1" if service.address is None else f"export {service.address}=..."
    raise ModelError(
        f"{one} needs an address",
        code="model.no_address",
        hint=f"{way}, or base_url in [models.NAME]",
    )


def _options(name: str, config: ModelConfig, service: Service, environ: Mapping[str, str]) -> dict[str, str]:
    made: dict[str, str] = {}
    for parameter, variables, needed in service.options:
        value = next((environ[variable] for variable in variables if environ.get(variable)), None)
        if value is not None:
            made[parameter] = value
        elif needed and not config.base_url:
            raise ModelError(
                f"{name} needs the environment variable {' or '.join(variables)}, which is not set",
                code="model.no_address",
                hint=f"export {variables[0]}=...",
            )
    return made


def _is_here(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # its package is not there, or stands for nothing
        return False
