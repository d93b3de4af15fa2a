"""Going through the folders of the workspace: in a fixed order, bounded, and saying what was left out."""

import os
from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import islice

from callboard.builtin.files.guard import Guard
from callboard.builtin.files.paths import Parts, counted, is_internal, joined, shown
from callboard.builtin.files.workspace import Workspace
from callboard.errors import ToolError

MAX_ENTRIES = 20_000  # entries that one call looks at
MAX_DEPTH = 40  # folders inside each other that one call goes down


@dataclass(frozen=True, slots=True)
class Found:
    """One entry of a folder that is held open while the caller looks at it."""

    parts: Parts
    parent: int  # descriptor of the folder it is in
    is_folder: bool
    is_file: bool
    is_link: bool

    @property
    def name(self) -> str:
        """The last component."""
        return self.parts[-1]

    def line(self) -> str:
        """The entry as a line of a list: folders end with `/`, what can't be read says so."""
        path = shown(joined(self.parts))
        if self.is_folder:
            return path + "/"
        if self.is_file:
            return path
        return f"{path} ({'link' if self.is_link else 'no file'})"


@dataclass(slots=True)
class Walk:
    """One way through the workspace, and what was left out on it."""

    workspace: Workspace
    guard: Guard = field(init=False)
    looked_at: int = field(default=0, init=False)
    full: bool = field(default=False, init=False)
    too_deep: int = field(default=0, init=False)
    not_opened: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Look once at what this walk leaves alone."""
        self.guard = self.workspace.for_reading()

    def entries(self, parts: Parts) -> list[Found]:
        """The entries of one folder, sorted by name. Their folder is not held open.

        Raises:
            ToolError: what opening the folder refuses.
        """
        with self.workspace.folder(parts, self.guard) as fd:
            return list(self._counted(fd, parts))

    def below(self, parts: Parts) -> Generator[Found]:
        """Everything below a folder, depth first, sorted by name; never through a link, never into `.git`.

        Raises:
            ToolError: what opening the folder refuses; folders below it are passed over.
        """
        with self.workspace.folder(parts, self.guard) as fd:
            yield from self._below(fd, parts, MAX_DEPTH)

    def left_out(self) -> list[str]:
        """What a reader must know about what is missing, a sentence each."""
        notes = [f"stopped after {MAX_ENTRIES} entries: name a folder below"] if self.full else []
        if self.too_deep:
            left_out = f"{counted(self.too_deep, 'folder')} more than {MAX_DEPTH} levels down left out"
            notes.append(f"{left_out}: name one of them")
        if self.not_opened:
            notes.append(
                f"{counted(self.not_opened, 'folder')} left out: this user may not open what is there"
            )
        return notes

    def _below(self, fd: int, parts: Parts, depth: int) -> Generator[Found]:
        for found in self._counted(fd, parts):
            if is_internal(found.name):
                continue
            yield found
            if not found.is_folder:
                continue
            if depth == 0:
                self.too_deep += 1
                continue
            try:
                below = self.guard.folder(fd, found.name, joined(found.parts))
            except ToolError as error:  # otherwise gone, replaced by a link, or held
                self.not_opened += error.code == "file.no_permission"
                continue
            try:
                yield from self._below(below, found.parts, depth - 1)
            finally:
                os.close(below)

    def _counted(self, fd: int, parts: Parts) -> Generator[Found]:
        """The entries of an open folder, until this walk has looked at enough."""
        for found in _sorted(fd, parts):
            self.full = self.full or self.looked_at >= MAX_ENTRIES
            if self.full:
                return
            self.looked_at += 1
            yield found


def _sorted(fd: int, parts: Parts) -> list[Found]:
    with os.scandir(fd) as entries:
        found = [
            Found(
                parts=(*parts, entry.name),
                parent=fd,
                is_folder=entry.is_dir(follow_symlinks=False),
                is_file=entry.is_file(follow_symlinks=False),
                is_link=entry.is_symlink(),
            )
            for entry in islice(entries, MAX_ENTRIES + 1)
        ]
    found.sort(key=lambda each: each.parts)
    return found
