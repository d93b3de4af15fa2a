"""Where a host keeps its secrets."""

from collections.abc import Awaitable
from typing import Protocol

from callboard.types.principal import Principal


class Secrets(Protocol):
    """Finds the secret of a name; a function or a coroutine function of this form serves."""

    def __call__(self, name: str, principal: Principal | None, /) -> Awaitable[str | None] | str | None:
        """The secret for calls of that principal; None where there is none.

        A sync one gets a thread where it would block an event loop. Raising fails the call: of a ToolError
        the text is told, of anything else the class.
        """
        ...
