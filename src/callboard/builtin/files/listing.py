"""What is in the workspace: one folder's entries, or all that a pattern matches, in a fixed order."""

import fnmatch
import os
from collections.abc import Generator
from dataclasses import dataclass
from itertools import islice

from callboard.builtin.files.paths import Parts, is_internal, joined, shown
from callboard.builtin.files.workspace import Workspace, open_folder
from callboard.errors import ToolError

MAX_LISTED = 500  # lines of one answer
MAX_ENTRIES = 20_000  # entries that one call looks at
MAX_DEPTH = 40  # folders inside each other that one call goes down

_MAX_PATTERN = 200


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


def list_entries(workspace: Workspace, path: str = ".", pattern: str | None = None) -> str:
    """The entries of a folder, one path a line; with a pattern, all matching files below it.

    A pattern without `/` is compared with names at any depth, one with `/` with the path below `path`;
    `*` stays inside one component, `**` covers any number of them.

    Raises:
        ToolError: `list.bad_pattern`, or what opening the folder refuses.
    """
    parts = workspace.parts(path)
    if not pattern:  # small models give an empty text for an option that they do not use
        with workspace.folder(parts) as fd:
            lines = [found.line() for found in _entries(fd, parts, MAX_ENTRIES)]
        return _as_text(lines, f"{shown(joined(parts))} is empty")
    wanted = _components(pattern)
    lines = [
        found.line()
        for found in walk(workspace, parts)
        if not found.is_folder and _matches(wanted, found.parts[len(parts) :])
    ]
    return _as_text(lines, f"no file in {shown(joined(parts))} matches {shown(pattern)}")


def _as_text(lines: list[str], nothing: str) -> str:
    if not lines:
        return nothing
    left_out = len(lines) - MAX_LISTED
    if left_out > 0:
        lines = [*lines[:MAX_LISTED], f"({left_out} more: name a folder or a pattern)"]
    return "\n".join(lines)


def walk(workspace: Workspace, parts: Parts) -> Generator[Found]:
    """Everything below a folder, depth first, sorted by name; never through a link, never into `.git`.

    Ends silently after `MAX_ENTRIES` entries; folders that can't be opened and folders deeper than
    `MAX_DEPTH` are passed over.
    """
    with workspace.folder(parts) as fd:
        yield from islice(_below(fd, parts, MAX_DEPTH), MAX_ENTRIES)


def _below(fd: int, parts: Parts, depth: int) -> Generator[Found]:
    for found in _entries(fd, parts, MAX_ENTRIES):
        if found.is_folder and is_internal(found.name):
            continue
        yield found
        if not found.is_folder or depth == 0:
            continue
        try:
            below = open_folder(fd, found.name, joined(found.parts))
        except ToolError:
            continue  # gone, replaced by a link, or not ours to read
        try:
            yield from _below(below, found.parts, depth - 1)
        finally:
            os.close(below)


def _entries(fd: int, parts: Parts, limit: int) -> list[Found]:
    with os.scandir(fd) as entries:
        found = [
            Found(
                parts=(*parts, entry.name),
                parent=fd,
                is_folder=entry.is_dir(follow_symlinks=False),
                is_file=entry.is_file(follow_symlinks=False),
                is_link=entry.is_symlink(),
            )
            for entry in islice(entries, limit)
        ]
    found.sort(key=lambda each: each.parts)
    return found


def _components(pattern: str) -> Parts:
    parts = tuple(part for part in pattern.split("/") if part not in {"", "."})
    if not parts or len(pattern) > _MAX_PATTERN or "\0" in pattern:
        raise ToolError(
            f"{shown(pattern)} is no pattern that names files",
            code="list.bad_pattern",
            hint="such as *.md for names, or docs/**/*.md for paths",
        )
    return parts if len(parts) > 1 or pattern.startswith("/") else ("**", *parts)


def _matches(pattern: Parts, parts: Parts) -> bool:
    """Whether the components match; `reached` holds the positions in the pattern that they can lead to."""
    reached = _open({0}, pattern)
    for part in parts:
        step = {at for at in reached if at < len(pattern) and pattern[at] == "**"}
        step |= {at + 1 for at in reached if at < len(pattern) and fnmatch.fnmatchcase(part, pattern[at])}
        reached = _open(step, pattern)
    return len(pattern) in reached


def _open(reached: set[int], pattern: Parts) -> set[int]:
    """These positions, and those behind a `**` that covers nothing."""
    more = set(reached)
    for at in sorted(reached):
        position = at
        while position < len(pattern) and pattern[position] == "**":
            position += 1
            more.add(position)
    return more
