"""The temporary files of writes: their names, and the removal of those whose write was killed."""

import os
import re
import secrets
import stat
import time
from contextlib import suppress
from itertools import islice

MAX_AGE = 600.0  # seconds; no write takes that long, so whoever made an older one is gone

_MAX_LOOKED_AT = 10_000
_OURS = re.compile(r"\.[0-9a-f]{16}\.callboard-tmp")


def temporary_name() -> str:
    """A name for the new content of a file, beside the old one; nobody can guess it."""
    return f".{secrets.token_hex(8)}.callboard-tmp"


def remove_leftovers(folder: int) -> None:
    """Remove what killed writes left in an open folder.

    Only regular files of this user with such a name, without another link, and unchanged for `MAX_AGE`
    seconds. A folder that can't be looked through is left as it is: this never makes a write fail.
    """
    oldest = time.time() - MAX_AGE
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in islice(entries, _MAX_LOOKED_AT):
            if _OURS.fullmatch(entry.name):
                _remove(folder, entry.name, oldest)


def _remove(folder: int, name: str, oldest: float) -> None:
    with suppress(OSError):  # gone meanwhile, or not ours to remove
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        mine = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and status.st_nlink == 1
        if mine and status.st_mtime < oldest:
            os.unlink(name, dir_fd=folder)
