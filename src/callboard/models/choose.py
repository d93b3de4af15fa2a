"""Which model is used, and why: the one asked for, the configured one, one with a key, the local one."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from callboard.models.names import parse
from callboard.models.services import SERVICES


class Choice(NamedTuple):
    """A model's name, and in one line why it is this one."""

    name: str
    reason: str

    def __str__(self) -> str:
        """The first line that a terminal shows."""
        return f"model: {self.name} ({self.reason})"


def choose(
    model: str | None, configured: str | None, environ: Mapping[str, str], named: Collection[str] = ()
) -> Choice:
    """Choose a model.

    Args:
        model: what was asked for, such as the terminal's `--model`.
        configured: what the profile or the configuration says.
        environ: the environment, in which keys of providers are looked for.
        named: the names of the configuration's own models.

    Raises:
        ModelError: `model.unknown_name`: no model is called so.
    """
    for name, reason in ((model, "asked for"), (configured, "configured")):
        if name is not None:
            if name not in named:
                parse(name, named)
            return Choice(name, reason)
    for service in SERVICES.values():
        if service.model and environ.get(service.keys[0]):
            return Choice(f"{service.name}:{service.model}", f"no model configured, {service.keys[0]} is set")
    return Choice("local", "no model configured, no provider key in the environment")
