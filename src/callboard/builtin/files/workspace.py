"""The workspace: one folder, held open, below which everything happens."""

import errno
import os
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Self

from callboard.builtin.files.guard import Guard, reading, writing
from callboard.builtin.files.paths import (
    Parts,
    folded,
    is_internal,
    joined,
    protection,
    refusal,
    shown,
    split,
)
from callboard.errors import ConfigError, ToolError


class Workspace:
    """A folder that file tools can't leave.

    The folder is opened once; every later path is opened relative to that descriptor, component by component
    and never through a symbolic link. Nothing is looked at first and opened by name afterwards, so it does
    not matter what other processes rename or replace meanwhile. When the folder itself is moved, the
    workspace moves with it.

    A hard link to a file outside can't be told from a file inside: it can be read. A write replaces the link
    and does not reach the file outside.

    Args:
        root: the folder; links in this path are followed, once.
        protected: files and folders, absolute or relative to `root`, that no tool may write, by whatever name
            they can be reached. They need not exist. `.git` and `.callboard` are neither read nor written,
            at any depth.
        private: likewise, what no tool may read either. It is not even opened.

    Raises:
        ConfigError: `root` is no folder that can be opened.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        protected: Iterable[str] = (),
        private: Iterable[str] = (),
    ) -> None:
        self.root = Path(root).absolute()
        try:
            self._fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise ConfigError(
                f"the workspace {shown(str(self.root))} can't be opened: {error.strerror}",
                hint="name a folder that exists and that this user may read",
            ) from error
        self._private = tuple(private)
        self._protected = (*self._private, *protected)
        real = os.path.realpath(root)
        self._never_read = frozenset(_held(real, self._private))
        self._never_written = frozenset(_held(real, self._protected))
        self._lock = threading.Lock()
        status = os.fstat(self._fd)
        self.lock_name = f"files:{status.st_dev}:{status.st_ino}"
        """Name of the lock that writes share: the same for every workspace on the same folder."""

    async def __aenter__(self) -> Self:
        """The workspace itself."""
        return self

    async def __aexit__(self, *_exc: object) -> None:
        """Close the folder."""
        self.close()

    def close(self) -> None:
        """Let go of the folder. Operations in progress end well, later ones raise `file.closed`."""
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
            self._fd = -1

    def _root_fd(self) -> int:
        # A copy, so that a close in another thread can't give this number to another folder meanwhile.
        with self._lock:
            if self._fd < 0:
                raise ToolError("the workspace is closed", code="file.closed")
            return os.dup(self._fd)

    def parts(self, path: str) -> Parts:
        """The components of a path, checked by text alone.

        Raises:
            ToolError: `file.outside`, `file.bad_path`, or `file.protected` for `.git`, `.callboard` and what
                is private.
        """
        parts = split(path, str(self.root))
        if any(is_internal(part) for part in parts) or _is_below(parts, self._never_read):
            raise protection(path, "reads or writes it")
        return parts

    def writable_parts(self, path: str) -> Parts:
        """The components of a path that may be written, checked by text alone.

        Raises:
            ToolError: `file.protected`, or what `parts` raises.
        """
        parts = self.parts(path)
        if not parts:
            raise ToolError("the workspace folder itself is no file", code="file.is_folder")
        if _is_below(parts, self._never_written):
            raise protection(path, "writes it")
        return parts

    def for_reading(self) -> Guard:
        """What one call that reads leaves alone."""
        with self._opened_root() as root:
            return reading(root, self._private)

    def for_writing(self) -> Guard:
        """What one call that writes leaves alone."""
        with self._opened_root() as root:
            return writing(root, self._protected)

    @contextmanager
    def _opened_root(self) -> Generator[int]:
        fd = self._root_fd()
        try:
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def folder(self, parts: Parts, guard: Guard, *, create: bool = False) -> Generator[int]:
        """Hold a folder of the workspace open.

        Args:
            parts: the folder's components; none for the workspace itself.
            guard: what the call leaves alone.
            create: make the folders that are missing.

        Yields:
            A descriptor of the folder, closed afterwards.

        Raises:
            ToolError: a component is missing, held, a link, no folder, or may not be opened.
        """
        enter = guard.made_folder if create else guard.folder
        fd = self._root_fd()
        try:
            for depth, part in enumerate(parts):
                below = enter(fd, part, joined(parts[: depth + 1]))
                os.close(fd)
                fd = below
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def file(self, parts: Parts, guard: Guard) -> Generator[int]:
        """Hold a regular file of the workspace open for reading.

        Yields:
            A descriptor of the file, closed afterwards.

        Raises:
            ToolError: as `folder`, or it is no regular file.
        """
        if not parts:
            raise refusal(errno.EISDIR, ".")
        with self.folder(parts[:-1], guard) as parent:
            fd = guard.file(parent, parts[-1], joined(parts))
        try:
            yield fd
        finally:
            os.close(fd)


def _is_below(parts: Parts, held: frozenset[Parts]) -> bool:
    names = tuple(folded(part) for part in parts)
    return any(names[:depth] in held for depth in range(len(names) + 1))


def _held(root: str, paths: Iterable[str]) -> Iterator[Parts]:
    """The components that lead from the root to these paths, links at their end followed and not.

    Text stands in for identity where nothing is there yet, not even the folder. None of them is all of it.
    """

    @cache
    def real(path: str) -> str:
        return os.path.realpath(path)

    for path in paths:
        folder, name = os.path.split(os.path.join(root, path))  # noqa: PTH118 - pathlib would drop what a link makes of `..`
        place = os.path.join(real(folder), name)  # noqa: PTH118
        for each in {place, real(place)} if name == ".." or os.path.islink(place) else {place}:  # noqa: PTH114
            if Path(each).is_relative_to(root):
                yield tuple(folded(part) for part in Path(each).relative_to(root).parts)
            elif Path(root).is_relative_to(each):
                yield ()
