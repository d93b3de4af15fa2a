"""A model of a provider. What talks to it is loaded with the first request, beside the event loop."""

import asyncio
from typing import TYPE_CHECKING

from callboard.models.model import Dialect, ModelAnswer, ModelRequest, OnDelta
from callboard.models.target import Target

if TYPE_CHECKING:
    from callboard.models.providers import Connection


class ProviderModel:
    """A model of OpenAI, Anthropic, or a server that speaks like OpenAI's."""

    finishes_with_text = True

    def __init__(self, target: Target) -> None:
        self.name = target.name
        self.dialect: Dialect = target.dialect
        self._target = target
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()

    async def answer(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        """Ask for one turn, streamed.

        Raises:
            ModelError: when the provider can't be reached, refuses, or answers what can't be read.
        """
        async with self._connecting:
            if self._connection is None:
                self._connection = await asyncio.to_thread(_connect, self._target)
        return await self._connection.answer(request, on_delta)

    async def close(self) -> None:
        """Close the connections."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


def _connect(target: Target) -> "Connection":
    from callboard.models.providers import Connection  # noqa: PLC0415 - 700 modules, seconds of work

    return Connection(target)
