"""What is in the workspace: one folder's entries, or all that a pattern matches, in a fixed order."""

import fnmatch

from callboard.builtin.files.paths import Parts, joined, shown
from callboard.builtin.files.walking import Walk
from callboard.builtin.files.workspace import Workspace
from callboard.errors import ToolError

MAX_LISTED = 500  # lines of one answer

_MAX_PATTERN = 200


def list_entries(workspace: Workspace, path: str = ".", pattern: str | None = None) -> str:
    """The entries of a folder, one path a line; with a pattern, all matching files below it.

    A pattern without `/` is compared with names at any depth, one with `/` with the path below `path`;
    `*` stays inside one component, `**` covers any number of them. What was left out is said in parentheses.

    Raises:
        ToolError: `list.bad_pattern`, or what opening the folder refuses.
    """
    parts = workspace.parts(path)
    walk = Walk(workspace)
    if not pattern:  # small models give an empty text for an option that they do not use
        lines = [found.line() for found in walk.entries(parts)]
        return _as_text(lines, f"{shown(joined(parts))} is empty", walk)
    wanted = _components(pattern)
    lines = [
        found.line()
        for found in walk.below(parts)
        if not found.is_folder and _matches(wanted, found.parts[len(parts) :])
    ]
    return _as_text(lines, f"no file in {shown(joined(parts))} matches {shown(pattern)}", walk)


def _as_text(lines: list[str], nothing: str, walk: Walk) -> str:
    more = len(lines) - MAX_LISTED
    notes = [f"{more} more: name a folder or a pattern"] if more > 0 else []
    return "\n".join(
        [*(lines[:MAX_LISTED] or [nothing]), *(f"({note})" for note in [*notes, *walk.left_out()])]
    )


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
