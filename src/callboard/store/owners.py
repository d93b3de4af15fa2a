"""Who runs a run: the opened store, known by a file that it holds locked for as long as it lives."""

import fcntl
import os
import secrets
import threading
from pathlib import Path

from callboard.errors import StoreError


class Owners:
    """One file per open store. The system lets go of its lock when the process ends, however it ends.

    A lock tells where a process number can't: from another container, after a restart, when numbers repeat.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._once = threading.Lock()
        self._held: tuple[str, int] | None = None

    def this(self) -> str:
        """The name of this owner; its file is made and locked at the first look.

        Raises:
            StoreError: if the file can't be made.
        """
        with self._once:
            if self._held is None:
                try:
                    self._held = self._hold()
                except OSError as error:
                    raise StoreError(
                        f"{self._folder} can't be written: {error.strerror}",
                        hint="check who owns the folder, or set [state] folder to another place",
                    ) from error
            return self._held[0]

    def alive(self, owner: str) -> bool:
        """Whether that owner still lives. The file of one that does not is removed."""
        if not owner.isalnum():
            return False  # no name of ours
        path = self._folder / owner
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError:
            return True  # who can't look does not judge
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def release(self) -> None:
        """Live no longer."""
        with self._once:
            if self._held is not None:
                name, descriptor = self._held
                self._held = None
                (self._folder / name).unlink(missing_ok=True)
                os.close(descriptor)

    def _hold(self) -> tuple[str, int]:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        while True:
            name = secrets.token_hex(8)
            descriptor = os.open(
                self._folder / name, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600
            )
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:  # else somebody took it for a dead one's, just before
                return name, descriptor
            os.close(descriptor)
