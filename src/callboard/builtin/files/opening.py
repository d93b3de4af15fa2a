"""Opening what is right below an open folder: never through a link, never waiting."""

import errno
import os
import stat

from callboard.builtin.files.paths import refusal
from callboard.errors import ToolError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def make_folder(parent: int, name: str, path: str) -> None:
    """Make a folder unless something of that name is there.

    Raises:
        ToolError: this user may not, or the file system can't.
    """
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        return
    except OSError as error:
        raise _told(error, parent, name, path) from error


def open_folder(parent: int, name: str, path: str) -> int:
    """Open a folder right below `parent`; never a link.

    Raises:
        ToolError: it is gone, a link, no folder, or may not be opened.
    """
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except OSError as error:
        raise _told(error, parent, name, path) from error


def open_regular(parent: int, name: str, path: str) -> int:
    """Open a regular file right below `parent` for reading; never a link, never waiting for a pipe.

    Raises:
        ToolError: it is gone, a link, a folder, a device, pipe or socket, or may not be opened.
    """
    try:
        fd = os.open(name, _FILE, dir_fd=parent)
    except OSError as error:
        raise _told(error, parent, name, path) from error
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return fd
    os.close(fd)
    raise refusal(errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO, path)


def _told(error: OSError, parent: int, name: str, path: str) -> ToolError:
    """The refusal of a call. Looks again only to name a link: the kernel may say ENOTDIR for one."""
    try:
        if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            return refusal(errno.ELOOP, path)
    except OSError:
        pass  # gone meanwhile: the first answer stands
    return refusal(error.errno, path)
