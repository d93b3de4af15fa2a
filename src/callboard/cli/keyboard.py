"""Reading a line that a person types, without a thread that can't be stopped."""

import asyncio
import contextlib
import os
import sys
from typing import IO, Any

_CHUNK = 4096


class Keyboard:
    """Lines from a terminal, awaited. What was typed before a question was shown does not answer it."""

    def __init__(self, stream: IO[Any] | None = None) -> None:
        self._stream = stream or sys.stdin

    @property
    def usable(self) -> bool:
        """Whether a person can be asked here: a terminal, on a system whose event loop can wait for it."""
        with contextlib.suppress(OSError, ValueError):
            return self._stream.isatty() and os.name == "posix"
        return False

    async def line(self) -> str | None:
        """The next line, without its end; None where the input ended before the line did."""
        loop = asyncio.get_running_loop()
        descriptor = self._stream.fileno()
        typed = bytearray()
        done: asyncio.Future[None] = loop.create_future()

        def read() -> None:
            try:
                chunk = os.read(descriptor, _CHUNK)
            except OSError:
                chunk = b""
            typed.extend(chunk)
            if (not chunk or b"\n" in chunk or b"\r" in chunk) and not done.done():
                done.set_result(None)

        loop.add_reader(descriptor, read)
        try:
            await done
        finally:
            loop.remove_reader(descriptor)
        whole = b"\n" in typed or b"\r" in typed
        return typed.decode("utf-8", "replace").strip() if whole else None

    def forget(self) -> None:
        """Throw away what was typed so far."""
        import termios  # noqa: PLC0415 - POSIX only, as `usable`

        with contextlib.suppress(termios.error, OSError):
            termios.tcflush(self._stream.fileno(), termios.TCIFLUSH)
