"""What a forked child makes new: threads do not cross a fork, and what they held would be held for ever."""

import os
import weakref
from typing import Protocol


class Renewable(Protocol):
    """Something with threads or locks."""

    def renew(self) -> None:
        """Start afresh; only the forking thread is there."""
        ...


_known: "weakref.WeakSet[Renewable]" = weakref.WeakSet()


def renewed_after_fork(thing: Renewable) -> None:
    """Have `thing` renewed in every forked child."""
    _known.add(thing)


def _renew() -> None:
    for thing in list(_known):
        thing.renew()


os.register_at_fork(after_in_child=_renew)
