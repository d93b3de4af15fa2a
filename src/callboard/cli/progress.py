"""A line that says how far long work is, on a terminal only."""

import sys
from time import monotonic
from typing import Self

_EVERY = 0.2  # seconds
_CLEAR = "\r\x1b[2K"


class Progress:
    """Shown on standard error while the block runs, and gone after it."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = sys.stderr.isatty()
        self._next = 0.0

    def tell(self, how_far: str) -> None:
        """Say how far it is; most of what comes too soon is not shown."""
        if self._shown and monotonic() >= self._next:
            sys.stderr.write(f"{_CLEAR}{self._what}: {how_far}")
            sys.stderr.flush()
            self._next = monotonic() + _EVERY

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown and self._next:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
