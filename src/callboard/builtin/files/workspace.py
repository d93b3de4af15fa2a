"""The workspace: one folder, held open, below which everything happens."""

import errno
import os
import stat
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from callboard.builtin.files.paths import Parts, is_internal, joined, refusal, shown, split
from callboard.errors import ConfigError, ToolError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


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
        protected: files and folders, relative to `root`, that no tool may write, beside `.git` and
            `.callboard` at any depth.

    Raises:
        ConfigError: `root` is no folder that can be opened.
    """

    def __init__(self, root: str | os.PathLike[str], *, protected: Iterable[str] = ()) -> None:
        self.root = Path(root).absolute()
        self._protected = [split(path.casefold(), str(self.root)) for path in protected]
        try:
            self._fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise ConfigError(
                f"the workspace {shown(str(self.root))} can't be opened: {error.strerror}",
                hint="name a folder that exists and that this user may read",
            ) from error
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
            ToolError: `file.outside` or `file.bad_path`.
        """
        return split(path, str(self.root))

    def writable_parts(self, path: str) -> Parts:
        """The components of a path that may be written.

        Raises:
            ToolError: `file.protected`, or what `parts` raises.
        """
        parts = self.parts(path)
        if not parts:
            raise ToolError("the workspace folder itself is no file", code="file.is_folder")
        if any(is_internal(part) for part in parts) or self._is_protected(parts):
            raise ToolError(
                f"{shown(path)} is protected: no tool writes it",
                code="file.protected",
                hint="a person can change it outside of Callboard",
            )
        return parts

    def _is_protected(self, parts: Parts) -> bool:
        folded = tuple(part.casefold() for part in parts)  # some file systems tell no case apart
        return any(folded[: len(held)] == held for held in self._protected)

    @contextmanager
    def folder(self, parts: Parts, *, create: bool = False) -> Generator[int]:
        """Hold a folder of the workspace open.

        Args:
            parts: the folder's components; none for the workspace itself.
            create: make the folders that are missing.

        Yields:
            A descriptor of the folder, closed afterwards.

        Raises:
            ToolError: a component is missing, a link, no folder, or may not be opened.
        """
        fd = self._root_fd()
        try:
            for depth, part in enumerate(parts):
                below = _enter(fd, part, joined(parts[: depth + 1]), create=create)
                os.close(fd)
                fd = below
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def file(self, parts: Parts) -> Generator[int]:
        """Hold a regular file of the workspace open for reading.

        Yields:
            A descriptor of the file, closed afterwards.

        Raises:
            ToolError: as `folder`, or it is no regular file.
        """
        if not parts:
            raise refusal(errno.EISDIR, ".")
        with self.folder(parts[:-1]) as parent:
            fd = open_regular(parent, parts[-1], joined(parts))
        try:
            yield fd
        finally:
            os.close(fd)


def _enter(parent: int, name: str, path: str, *, create: bool) -> int:
    try:
        if create:
            make_folder(parent, name)
        return os.open(name, _FOLDER, dir_fd=parent)
    except OSError as error:
        raise told(error, parent, name, path) from error


def make_folder(parent: int, name: str) -> None:
    """Make a folder unless something of that name is there."""
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        return


def open_folder(parent: int, name: str, path: str) -> int:
    """Open a folder right below `parent`; never a link.

    Raises:
        ToolError: it is gone, a link, no folder, or may not be opened.
    """
    return _enter(parent, name, path, create=False)


def open_regular(parent: int, name: str, path: str) -> int:
    """Open a regular file right below `parent` for reading; never a link, never waiting for a pipe.

    Raises:
        ToolError: it is gone, a link, a folder, a device, pipe or socket, or may not be opened.
    """
    try:
        fd = os.open(name, _FILE, dir_fd=parent)
    except OSError as error:
        raise told(error, parent, name, path) from error
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return fd
    os.close(fd)
    if stat.S_ISDIR(mode):
        raise refusal(errno.EISDIR, path)
    raise refusal(errno.ENXIO, path)


def told(error: OSError, parent: int, name: str, path: str) -> ToolError:
    """The refusal of an open. Looks again only to name a link: the kernel may say ENOTDIR for one."""
    try:
        if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            return refusal(errno.ELOOP, path)
    except OSError:
        pass  # gone meanwhile: the first answer stands
    return refusal(error.errno, path)
