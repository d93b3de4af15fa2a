"""What a call leaves alone, by whatever name it is called.

Names are not enough: a file system may tell no case apart, hold one folder under two paths, or store names in
a form of its own. So what has been opened is also compared by its identity with what is held.
"""

import os
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass

from callboard.builtin.files.opening import make_folder, open_folder, open_regular
from callboard.builtin.files.paths import INTERNAL, folded, is_internal, protection
from callboard.errors import ToolError

Identity = tuple[int, int]  # device and inode


@dataclass(frozen=True, slots=True)
class Guard:
    """Opens what is below a folder, and refuses what is held; made anew for each call."""

    deed: str
    """What no tool does with what is held, for the message: `writes it`."""
    things: frozenset[Identity]
    """What is there and held."""
    places: frozenset[tuple[Identity, str]]
    """Names that are held in a folder, whether something is there or not."""

    def folder(self, parent: int, name: str, path: str) -> int:
        """A descriptor of a folder right below `parent`.

        Raises:
            ToolError: `file.protected`, or what opening it refuses.
        """
        return self._checked(open_folder(parent, name, path), parent, name, path)

    def made_folder(self, parent: int, name: str, path: str) -> int:
        """As `folder`; makes it where it is missing."""
        self.check_name(parent, name, path)
        make_folder(parent, name, path)
        return self.folder(parent, name, path)

    def file(self, parent: int, name: str, path: str) -> int:
        """A descriptor of a regular file right below `parent`, for reading.

        Raises:
            ToolError: `file.protected`, or what opening it refuses.
        """
        return self._checked(open_regular(parent, name, path), parent, name, path)

    def check_name(self, parent: int, name: str, path: str) -> None:
        """Refuse a name that is held in this folder, also where nothing has it yet.

        Raises:
            ToolError: `file.protected`.
        """
        if is_internal(name) or (_identity(os.fstat(parent)), folded(name)) in self.places:
            raise protection(path, self.deed)

    def _checked(self, fd: int, parent: int, name: str, path: str) -> int:
        try:
            self.check_name(parent, name, path)
            found = _identity(os.fstat(fd))
            if found in self.things or found in set(_there(parent, INTERNAL)):
                raise protection(path, self.deed)
        except ToolError:
            os.close(fd)
            raise
        return fd


def reading(root: int) -> Guard:
    """What is not even read: the records of Callboard and the history of the folder."""
    return Guard("reads or writes it", frozenset(_there(root, INTERNAL)), frozenset())


def writing(root: int, protected: Iterable[str]) -> Guard:
    """What is not written: what is not read, and these paths, relative to the root or absolute."""
    # A host protects hundreds of paths in few folders, so each folder is looked at once.
    names: dict[str, list[str]] = {}
    for path in protected:
        folder, name = os.path.split(path)
        names.setdefault(folder or ".", []).append(name)
    things = set(_there(root, INTERNAL))
    places: set[tuple[Identity, str]] = set()
    for folder, inside in names.items():
        for identity in _there(root, [folder]):
            places.update((identity, folded(name)) for name in inside)
            things.update(_there(root, (f"{folder}/{name}" for name in inside)))
    return Guard("writes it", frozenset(things), frozenset(places))


def _there(folder: int, paths: Iterable[str]) -> Generator[Identity]:
    """The identities of what these paths lead to, links followed; of those that lead somewhere."""
    for path in paths:
        with suppress(OSError, ValueError):
            yield _identity(os.stat(path, dir_fd=folder))


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino
