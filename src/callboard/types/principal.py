"""On whose behalf a call is made."""

from typing import NamedTuple


class Principal(NamedTuple):
    """On whose behalf a call is made."""

    user: str
    tenant: str | None = None
