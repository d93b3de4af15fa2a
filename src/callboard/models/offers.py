"""Which models could be used here, and what is missing for the others."""

from collections.abc import Mapping
from dataclasses import dataclass

from callboard.config import ModelConfig
from callboard.errors import ModelError
from callboard.models.opening import open_model
from callboard.models.services import SERVICES


@dataclass(frozen=True, slots=True)
class Offer:
    """A model, or all of a provider.

    Attributes:
        name: as `--model` takes it; ``NAME`` stands for the provider's own name of a model.
        code: why it can't be used, such as `model.no_key`; None where it can.
        missing: the same for a person.
        hint: the next step, or what is not known without asking.
    """

    name: str
    code: str | None = None
    missing: str = ""
    hint: str | None = None


def offers(named: Mapping[str, ModelConfig], environ: Mapping[str, str]) -> list[Offer]:
    """The configured models, the embedded one, and the providers; nothing is loaded or asked."""
    names = [*named, "local", *(f"{service}:NAME" for service in sorted(SERVICES))]
    return [_offer(name, named, environ) for name in names]


def _offer(name: str, named: Mapping[str, ModelConfig], environ: Mapping[str, str]) -> Offer:
    try:
        open_model(name, named, environ)
    except ModelError as error:
        return Offer(name, error.code, str(error).removeprefix(f"{name} "), error.hint)
    service = SERVICES.get(name.partition(":")[0])
    unsure = service is not None and service.finds_credentials
    return Offer(name, hint="if its library finds credentials" if unsure else None)
