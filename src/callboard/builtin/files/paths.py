"""Paths as a model writes them: split, checked and shown. Nothing here touches the disk."""

import errno
import json
import os
import unicodedata
from collections.abc import Iterable

from callboard.errors import ToolError

Parts = tuple[str, ...]

MAX_PATH = 4096  # bytes, as in PATH_MAX
# Neither read nor written: Callboard's records of other runs, and the history of the folder with its tokens.
INTERNAL = frozenset({".callboard", ".git"})

_REASONS = {
    errno.ENOENT: ("file.not_found", "does not exist"),
    errno.ENOTDIR: ("file.not_a_folder", "is not a folder"),
    errno.EISDIR: ("file.is_folder", "is a folder"),
    errno.EACCES: ("file.no_permission", "may not be opened by this user"),
    errno.EPERM: ("file.no_permission", "may not be changed by this user"),
    errno.EROFS: ("file.no_permission", "is on a read-only file system"),
    errno.ENAMETOOLONG: ("file.bad_path", "is too long a name"),
    errno.EILSEQ: ("file.bad_path", "is no name that this file system can hold"),
    errno.EINVAL: ("file.bad_path", "is no name that this file system can hold"),
    errno.ELOOP: ("file.link", "is a symbolic link, and links are not followed"),
    errno.ENXIO: ("file.not_regular", "is a device, pipe or socket, not a file"),
    errno.ENOSPC: ("file.no_space", "could not be written: the disk is full"),
    errno.EDQUOT: ("file.no_space", "could not be written: the quota is used up"),
}


def split(path: str, root: str) -> Parts:
    """Split a path into its components below the workspace; `.` and empty components vanish.

    Args:
        path: what the model wrote: relative to the workspace, `/` between components.
        root: the workspace's own absolute path, for the hint only.

    Raises:
        ToolError: `file.outside` for an absolute path or one with `..`, `file.bad_path` for what can't name
            a file.
    """
    if path.startswith("/"):
        inside = path.startswith(root.rstrip("/") + "/")
        example = path[len(root.rstrip("/")) + 1 :] if inside else path.lstrip("/")
        raise ToolError(
            f"{shown(path)} is an absolute path; paths start at the workspace folder",
            code="file.outside",
            hint=f"write {shown(example or '.')} instead",
        )
    parts = tuple(part for part in path.split("/") if part not in {"", "."})
    if ".." in parts:
        raise ToolError(
            f"{shown(path)} contains '..'; paths only go down from the workspace folder",
            code="file.outside",
            hint="name the file by its path from the workspace folder, such as docs/plan.md",
        )
    _check_encoding(path)
    return parts


def _check_encoding(path: str) -> None:
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        raise ToolError(f"{shown(path)} is not valid Unicode", code="file.bad_path") from None
    if "\0" in path:
        raise ToolError(f"{shown(path)} contains a NUL character", code="file.bad_path")
    if length > MAX_PATH:
        raise ToolError(f"the path has {length} bytes; at most {MAX_PATH} are possible", code="file.bad_path")


def joined(parts: Iterable[str]) -> str:
    """The path of these components, `.` for the workspace itself."""
    return "/".join(parts) or "."


def shown(text: str, limit: int = 200) -> str:
    """Text as part of a message or a list: one line, no control characters, of bounded length."""
    cut = text if len(text) <= limit else text[:limit] + "…"
    return cut if cut.isprintable() else json.dumps(cut)


def visible(text: str, limit: int = 200) -> str:
    """A line of a file as it can be printed: cut, control characters but tabs as dots."""
    line = text.rstrip("\r")
    cut = line if len(line) <= limit else line[:limit] + "…"
    return "".join(char if char.isprintable() or char == "\t" else "·" for char in cut)


def counted(number: int, noun: str) -> str:
    """A number of things, in words: `1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def folded(name: str) -> str:
    """A component as the most forgiving file system compares it.

    Some tell no case apart, some take composed and decomposed letters for the same, some ignore characters
    that nobody sees, and some drop dots and spaces at the end.
    """
    seen = "".join(char for char in name if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold()).rstrip(". ")


def is_internal(name: str) -> bool:
    """Whether this component is one of those that tools leave alone, on any file system."""
    return folded(name) in INTERNAL


def protection(path: str, deed: str) -> ToolError:
    """What the model is told about something that is held; `deed` is what no tool does, as in `writes it`."""
    return ToolError(
        f"{shown(path)} is protected: no tool {deed}",
        code="file.protected",
        hint="records, history and what Callboard loads or is configured by are for people, outside of it",
    )


def refusal(number: int | None, path: str) -> ToolError:
    """What the model is told about a refused system call (its errno): the path, the reason, a stable code."""
    code, reason = _REASONS.get(number or 0, ("file.failed", f"can't be used: {os.strerror(number or 0)}"))
    return ToolError(f"{shown(path)} {reason}", code=code, hint=_HINTS.get(code))


_HINTS = {
    "file.not_found": "list_files shows what is there",
    "file.not_a_folder": "list_files shows what is there",
    "file.is_folder": "list_files shows what is in it",
    "file.link": "use the path of the file that the link points to, if it is in the workspace",
}
