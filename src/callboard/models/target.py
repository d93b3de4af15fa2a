"""Where a provider's model is, and how it is asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from callboard.models.model import Dialect
from callboard.models.services import SERVICES, Service


@dataclass(frozen=True, slots=True)
class Target:
    """Which model, and where.

    Attributes:
        name: the name by which it was chosen.
        provider: one of ours, such as `openai`.
        model: the provider's own name for it.
        base_url: where the provider listens; None is its own default.
        key: what it wants to see; None where it wants nothing.
        settings: sent with each request; those of a request win.
        options: what else the provider is told, such as a region.
    """

    name: str
    provider: str
    model: str
    base_url: str | None = None
    key: str | None = field(default=None, repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    options: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def service(self) -> Service:
        """What the provider needs."""
        return SERVICES[self.provider]

    @property
    def dialect(self) -> Dialect:
        """How tools are described to it."""
        return self.service.dialect

    @property
    def is_on_this_machine(self) -> bool:
        """Whether the address is a loopback one: no network is in between, so nothing passes by itself."""
        try:
            host = urlsplit(self.base_url or "").hostname or ""
            return host == "localhost" or ip_address(host).is_loopback
        except ValueError:  # a name, or no address at all
            return False

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no error may show."""
        return () if self.key is None else (self.key,)
