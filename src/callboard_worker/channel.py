"""Messages between host and worker: four bytes of length, then a JSON object, over a pair of descriptors."""

import json
import os
import struct
from collections.abc import Mapping
from typing import Any

HEADER = struct.Struct(">I")
MAX_BYTES = 4 * 1024 * 1024


class ChannelError(Exception):
    """Raised for a message that is no message."""


def encode(message: Mapping[str, Any]) -> bytes:
    """A message as bytes, with its length in front.

    Raises:
        ChannelError: when it is longer than `MAX_BYTES`.
    """
    body = json.dumps(message, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
    if len(body) > MAX_BYTES:
        raise ChannelError(f"a message of {len(body)} bytes; {MAX_BYTES} are possible")
    return HEADER.pack(len(body)) + body


def decode(body: bytes) -> dict[str, Any]:
    """The message in a body.

    Raises:
        ChannelError: when it is not a JSON object.
    """
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ChannelError(f"a message is no JSON: {error}") from None
    if not isinstance(message, dict):
        raise ChannelError("a message is no JSON object")
    return message  # pyright: ignore[reportUnknownVariableType] - the keys of a JSON object are strings


def length(header: bytes) -> int:
    """The length that a header announces.

    Raises:
        ChannelError: when it is more than `MAX_BYTES`.
    """
    (announced,) = HEADER.unpack(header)
    if announced > MAX_BYTES:
        raise ChannelError(f"a message of {announced} bytes is announced; {MAX_BYTES} are possible")
    return announced


class Channel:
    """The worker's end: blocking, one message at a time."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = reading
        self._writing = writing

    def receive(self) -> dict[str, Any] | None:
        """The next message; None when the other side has closed.

        Raises:
            ChannelError: for what is no message.
        """
        header = self._exactly(HEADER.size)
        if header is None:
            return None
        body = self._exactly(length(header))
        return None if body is None else decode(body)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message.

        Raises:
            ChannelError: when it is too long.
            OSError: when the other side has closed.
        """
        left = memoryview(encode(message))
        while left:
            left = left[os.write(self._writing, left) :]

    def _exactly(self, size: int) -> bytes | None:
        pieces: list[bytes] = []
        while size:
            piece = os.read(self._reading, size)
            if not piece:
                return None
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)
