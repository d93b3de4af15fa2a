"""What a call leaves alone, by whatever name it is called.

Names are not enough: a file system may tell no case apart, hold one folder under two paths, or store names in
a form of its own. So what is there is also compared by its identity with what is held, before it is opened: a
process that closes a database, however it came to open it, lets go of all its locks on it. What has been
opened is compared once more, for it may have been swapped in between.
"""

import os
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass

from callboard.builtin.files.opening import make_folder, open_folder, open_regular
from callboard.builtin.files.paths import INTERNAL, folded, is_internal, protection

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
        self._check(parent, name, path)
        return self._checked(open_folder(parent, name, path), parent, path)

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
        self._check(parent, name, path)
        return self._checked(open_regular(parent, name, path), parent, path)

    def check_name(self, parent: int, name: str, path: str) -> None:
        """Refuse a name that is held in this folder, also where nothing has it yet.

        Raises:
            ToolError: `file.protected`.
        """
        if is_internal(name) or (_identity(os.fstat(parent)), folded(name)) in self.places:
            raise protection(path, self.deed)

    def _check(self, parent: int, name: str, path: str) -> None:
        self.check_name(parent, name, path)
        with suppress(OSError):  # opening it says what is wrong
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if _identity(status) in self.things:
                raise protection(path, self.deed)

    def _checked(self, fd: int, parent: int, path: str) -> int:
        found = _identity(os.fstat(fd))
        if found in self.things or found in set(_there(parent, INTERNAL)):
            os.close(fd)
            raise protection(path, self.deed)
        return fd


def reading(root: int, private: Iterable[str]) -> Guard:
    """What is not even read: records, the history of the folder, and these paths, as for `writing`."""
    return _guard("reads or writes it", root, private)


def writing(root: int, held: Iterable[str]) -> Guard:
    """What is not written: records, history, and these paths, relative to the root or absolute."""
    return _guard("writes it", root, held)


def _guard(deed: str, root: int, held: Iterable[str]) -> Guard:
    # A host protects hundreds of paths in few folders, so each folder is looked at once.
    names: dict[str, list[str]] = {}
    for path in held:
        folder, name = os.path.split(path)
        names.setdefault(folder or ".", []).append(name)
    things = set(_there(root, INTERNAL))
    places: set[tuple[Identity, str]] = set()
    for folder, inside in names.items():
        for identity in _there(root, [folder]):
            places.update((identity, folded(name)) for name in inside)
            things.update(_there(root, (f"{folder}/{name}" for name in inside)))
    return Guard(deed, frozenset(things), frozenset(places))


def _there(folder: int, paths: Iterable[str]) -> Generator[Identity]:
    """The identities of what these paths lead to, links followed; of those that lead somewhere."""
    for path in paths:
        with suppress(OSError, ValueError):
            yield _identity(os.stat(path, dir_fd=folder))


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino
