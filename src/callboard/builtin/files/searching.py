"""Searching files for text: bounded in time, in what is read and in what is answered."""

import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import StringConstraints, TypeAdapter
from pydantic_core import SchemaError

from callboard.builtin.files.guard import Guard
from callboard.builtin.files.paths import Parts, counted, joined, shown, visible
from callboard.builtin.files.reading import decoded, read_bytes
from callboard.builtin.files.walking import Walk
from callboard.builtin.files.workspace import Workspace
from callboard.errors import ToolError

MAX_HITS = 100
MAX_FILE = 4 * 1024 * 1024  # bytes of a file; larger ones are passed over, and counted
MAX_SECONDS = 5.0
MAX_WIDTH = 200  # characters of a line that are shown
MAX_REGEX_LINE = 10_000  # characters of a line that a regular expression looks at
MAX_REGEX = 500


@dataclass(frozen=True, slots=True)
class Finder:
    """How lines are looked at."""

    find: Callable[[str], int | None]
    """From a line to the position of the match, or None."""
    reach: int | None = None
    """Characters of a line that are looked at; None for all."""


@dataclass(slots=True)
class _Search:
    """One search: what was found, what was passed over, and why it ended before its time."""

    finder: Finder
    until: float
    hits: list[str] = field(default_factory=list[str])
    files: int = 0
    skipped: int = 0
    long_lines: int = 0
    stopped: str | None = None

    def file(self, guard: Guard, parent: int, parts: Parts) -> None:
        """Look through one file of a walk; one that is held, gone or can't be opened is passed over."""
        try:
            fd = guard.file(parent, parts[-1], joined(parts))
        except ToolError as error:
            self.skipped += error.code != "file.protected"  # what is held is no part of what is searched
            return
        try:
            self.opened(fd, joined(parts))
        finally:
            os.close(fd)

    def opened(self, fd: int, path: str) -> None:
        """Look through an open file; what is no text or too large is passed over."""
        try:
            data = read_bytes(fd, MAX_FILE)
            text = decoded(data, path)
        except (ToolError, OSError):
            self.skipped += 1
            return
        if len(data) > MAX_FILE:
            self.skipped += 1
            return
        self.files += 1
        self._lines(shown(path), text)

    def _lines(self, path: str, text: str) -> None:
        reach = self.finder.reach
        for number, line in enumerate(text.split("\n"), start=1):
            if self.is_late():
                return
            at = self.finder.find(line[:reach])
            if at is None:
                self.long_lines += reach is not None and len(line) > reach
                continue
            if len(self.hits) == MAX_HITS:
                self.stopped = f"stopped after {MAX_HITS} matches"
                return
            self.hits.append(f"{path}:{number}: {_cut(line, at)}")

    def is_late(self) -> bool:
        """Whether the time is used up."""
        if time.monotonic() > self.until:
            self.stopped = f"stopped after {MAX_SECONDS:g} seconds"
        return self.stopped is not None

    def notes(self) -> list[str]:
        """What a reader must know about what is missing, a sentence each."""
        notes: list[str] = []
        if self.skipped:
            notes.append(f"{counted(self.skipped, 'file')} left out: no text, too large or not ours to read")
        if self.long_lines:
            notes.append(f"{counted(self.long_lines, 'line')} looked at up to character {self.finder.reach}")
        if self.stopped:
            notes.append(f"{self.stopped}: name a folder, or search for something rarer")
        return notes


def search(workspace: Workspace, text: str, *, regex: bool = False, path: str = ".") -> str:
    """All lines that contain a text, as `path:line: text`, sorted by path.

    Args:
        workspace: where to look.
        text: the text, upper and lower case alike; or a regular expression, which tells case apart unless it
            begins with `(?i)`.
        regex: whether `text` is a regular expression. The engine never goes back: its time grows linearly
            with the line, whatever the expression. It looks at the first 10,000 characters of a line.
        path: a folder or one file.

    Returns:
        The hits, a line each, and in parentheses what was left out.

    Raises:
        ToolError: `search.bad_text`, `search.bad_regex`, or what opening `path` refuses.
    """
    parts = workspace.parts(path)
    found = _Search(_by_regex(text) if regex else _by_text(text), until=time.monotonic() + MAX_SECONDS)
    walk = Walk(workspace)
    try:
        with closing(walk.below(parts)) as entries:
            for entry in entries:
                if entry.is_file:
                    found.file(walk.guard, entry.parent, entry.parts)
                if found.is_late():
                    break
    except ToolError as error:
        if error.code != "file.not_a_folder":
            raise
        with workspace.file(parts, walk.guard) as fd:
            found.opened(fd, joined(parts))
    lines = found.hits or [f"no match for {shown(text)} in {counted(found.files, 'file')}"]
    return "\n".join([*lines, *(f"({note})" for note in [*found.notes(), *walk.left_out()])])


def _by_text(text: str) -> Finder:
    if not text.strip() or "\n" in text:
        raise ToolError(
            "the text to search for is empty" if not text.strip() else "a search looks at one line at a time",
            code="search.bad_text",
            hint="give some words that stand in one line",
        )
    wanted = text.casefold()

    def find(line: str) -> int | None:
        at = line.casefold().find(wanted)
        return None if at < 0 else at

    return Finder(find)


def _by_regex(pattern: str) -> Finder:
    if not pattern or len(pattern) > MAX_REGEX:
        raise _bad_regex(pattern, f"it has {len(pattern)} characters, and 1 to {MAX_REGEX} are possible")
    # pydantic matches strings by Rust's regex engine: linear in time, and bounded in what it compiles.
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(Annotated[str, StringConstraints(pattern=pattern)])
    except SchemaError as error:
        raise _bad_regex(pattern, str(error).strip().rsplit("\n", 1)[-1]) from error
    matches = adapter.validator.isinstance_python

    def find(line: str) -> int | None:
        return 0 if matches(line.rstrip("\r")) else None

    return Finder(find, MAX_REGEX_LINE)


def _bad_regex(pattern: str, reason: str) -> ToolError:
    return ToolError(
        f"{shown(pattern)} is no usable regular expression: {shown(reason.removeprefix('error: ').strip())}",
        code="search.bad_regex",
        hint="no look-around, no back-references; set regex to false to search for the text as it is",
    )


def _cut(line: str, at: int) -> str:
    """The part of a line around a match."""
    start = max(0, min(at, len(line) - 1) - MAX_WIDTH // 2) if len(line) > MAX_WIDTH else 0
    return ("…" if start else "") + visible(line[start:], MAX_WIDTH).strip()
