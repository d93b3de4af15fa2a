"""Writing: a change is planned from what is there, shown, and then made in one step or not at all."""

import codecs
import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile

from callboard.builtin.files.guard import Guard
from callboard.builtin.files.leftovers import remove_leftovers, temporary_name
from callboard.builtin.files.paths import Parts, counted, joined, refusal, shown, visible
from callboard.builtin.files.reading import decoded, read_bytes
from callboard.builtin.files.workspace import Workspace
from callboard.errors import ToolError

MAX_WRITE = 1024 * 1024  # bytes of a file that a tool writes
MAX_DIFF = 10  # lines that go, and lines that come, that are shown of a change

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Before:
    """The file as it was when the change was planned; another identity means that somebody else wrote it."""

    identity: tuple[int, ...]
    mode: int
    size: int


@dataclass(frozen=True, slots=True)
class Change:
    """One planned change of one file. Nothing has been touched yet."""

    parts: Parts
    data: bytes
    before: Before | None
    summary: str
    diff: tuple[str, ...]


def plan_write(workspace: Workspace, path: str, content: str) -> Change:
    """Plan to create a file, or to replace all of its content.

    Raises:
        ToolError: `file.protected`, `file.too_large`, `file.not_text`, or what opening the file refuses.
    """
    parts = workspace.writable_parts(path)
    name = joined(parts)
    data = _encoded(content, name)
    before, old = _look(workspace, parts)
    if before is None:
        return Change(
            parts, data, None, f"create {shown(name)} ({counted(len(data), 'byte')})", _diff("", content)
        )
    summary = f"replace {shown(name)} ({counted(len(data), 'byte')}, before {before.size})"
    return Change(parts, data, before, summary, _diff_from(old, content, name))


def plan_edit(workspace: Workspace, path: str, old_text: str, new_text: str) -> Change:
    """Plan to replace the only place where `old_text` stands by `new_text`.

    In a file whose line ends are all CRLF, plain line feeds in both texts stand for them. A byte order mark
    stays.

    Raises:
        ToolError: `edit.empty`, `edit.no_change`, `edit.not_found`, `edit.ambiguous`, or as `plan_write`.
    """
    parts = workspace.writable_parts(path)
    name = joined(parts)
    if not old_text or old_text == new_text:
        raise _no_edit(old_text)
    before, data = _look(workspace, parts)
    if before is None:
        raise refusal(errno.ENOENT, name)
    if len(data) > MAX_WRITE:
        raise _too_large(name, before.size)
    text = decoded(data, name)
    if "\r" not in old_text and text.count("\n") == text.count("\r\n"):
        old_text, new_text = (
            part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old_text, new_text)
        )
    at = _only_place(text, old_text, name)
    edited = text[:at] + new_text + text[at + len(old_text) :]
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    return Change(
        parts,
        mark + _encoded(edited, name),
        before,
        f"edit {shown(name)} at line {_line(text, at)}",
        _diff(text, edited),
    )


def preview(change: Change) -> str:
    """What the change would do, with the first lines of the difference."""
    return "\n".join([f"would {change.summary}", *change.diff])


def apply(workspace: Workspace, change: Change) -> str:
    """Make the change: the file is there as planned, or as it was before.

    The new content goes to a file beside it, reaches the disk, and takes its place in one step. The file
    keeps its permission bits. Missing folders are made.

    Returns:
        What was done, in one line.

    Raises:
        ToolError: `file.changed` where somebody else wrote the file or moved its folder meanwhile,
            `file.no_space`, `file.no_permission` and the like; the file is untouched then.
    """
    name = joined(change.parts)
    temporary = temporary_name()
    guard = workspace.for_writing()
    with workspace.folder(change.parts[:-1], guard, create=change.before is None) as parent:
        guard.check_name(parent, change.parts[-1], name)
        remove_leftovers(parent)
        try:
            fd = os.open(temporary, _NEW, 0o666, dir_fd=parent)  # a new file gets what the umask leaves
            try:
                _fill(fd, change)
                _check_unchanged(workspace, guard, parent, change)
                os.rename(temporary, change.parts[-1], src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=parent)
                raise
            os.fsync(parent)
        except OSError as error:
            raise refusal(error.errno, name) from error
    verb, rest = change.summary.split(" ", 1)
    return f"{verb.removesuffix('e')}ed {rest}"


def _look(workspace: Workspace, parts: Parts) -> tuple[Before | None, bytes]:
    """The file as it is (None where there is none), and its content up to a byte more than can be written."""
    try:
        with workspace.file(parts, workspace.for_writing()) as fd:
            status = os.fstat(fd)
            data = read_bytes(fd, MAX_WRITE)
    except ToolError as error:
        if error.code == "file.not_found":
            return None, b""
        raise
    if not status.st_mode & 0o222:
        raise refusal(errno.EACCES, joined(parts))
    return Before(_identity(status), stat.S_IMODE(status.st_mode) & 0o777, status.st_size), data


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _check_unchanged(workspace: Workspace, guard: Guard, parent: int, change: Change) -> None:
    """Compare with the plan, right before the change is made; what is left is the time of one system call."""
    with workspace.folder(change.parts[:-1], guard) as again:
        moved = not os.path.samestat(os.fstat(again), os.fstat(parent))
    try:
        status = os.stat(change.parts[-1], dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        status = None
    expected = change.before and change.before.identity
    if moved or (status and _identity(status)) != expected:
        raise ToolError(
            f"{shown(joined(change.parts))} was changed by somebody else meanwhile; nothing was written",
            code="file.changed",
            hint="read it again, then repeat the change if it still makes sense",
        )


def _fill(fd: int, change: Change) -> None:
    with os.fdopen(fd, "wb") as stream:
        stream.write(change.data)
        stream.flush()
        if change.before is not None:
            os.fchmod(fd, change.before.mode)
        os.fsync(fd)


def _encoded(text: str, name: str) -> bytes:
    if "\0" in text:
        raise ToolError(f"the content for {shown(name)} contains a NUL", code="file.not_text")
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        reason = f"the content for {shown(name)} is not valid Unicode at character {error.start}"
        raise ToolError(reason, code="file.not_text") from None
    if len(data) > MAX_WRITE:
        raise _too_large(name, len(data))
    return data


def _too_large(name: str, size: int) -> ToolError:
    return ToolError(
        f"{shown(name)} has {size} bytes; a tool writes files of at most {MAX_WRITE}", code="file.too_large"
    )


def _no_edit(old_text: str) -> ToolError:
    if not old_text:
        return ToolError(
            "old_text is empty",
            code="edit.empty",
            hint="give the text to replace; write_file makes new files",
        )
    return ToolError("old_text and new_text are the same: nothing to do", code="edit.no_change")


def _only_place(text: str, wanted: str, name: str) -> int:
    at = text.find(wanted)
    if at < 0:
        raise ToolError(
            f"{shown(name)} does not contain old_text", code="edit.not_found", hint=_nearly(text, wanted)
        )
    places = [at]
    while len(places) < 5 and (again := text.find(wanted, places[-1] + 1)) >= 0:  # noqa: PLR2004 - five lines say enough
        places.append(again)
    if len(places) > 1:
        lines = ", ".join(str(_line(text, place)) for place in places)
        raise ToolError(
            f"old_text stands in {shown(name)} more than once: at lines {lines}",
            code="edit.ambiguous",
            hint="add the lines around the one you mean",
        )
    return at


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _nearly(text: str, wanted: str) -> str:
    """Where the first line of what was wanted stands with other white space, if it does."""
    first = " ".join(next((line for line in wanted.splitlines() if line.strip()), "").split())
    for number, line in enumerate(text.split("\n"), start=1):
        if first and " ".join(line.split()) == first:
            return f"line {number} is like its first line; copy the text exactly, white space included"
    return "read the file and copy the text exactly, white space included"


def _diff_from(old: bytes, new: str, name: str) -> tuple[str, ...]:
    if len(old) > MAX_WRITE:
        return ()
    try:
        return _diff(decoded(old, name), new)
    except ToolError:
        return ("(the old content is no text)",)


def _diff(old: str, new: str) -> tuple[str, ...]:
    """The lines that differ, without what both texts begin and end with; linear in their length."""
    gone, come = _lines(old), _lines(new)
    start = _common(gone, come)
    gone, come = gone[start:], come[start:]
    end = _common(reversed(gone), reversed(come))
    gone, come = gone[: len(gone) - end], come[: len(come) - end]
    return (f"@@ line {start + 1} @@", *_head("-", gone), *_head("+", come))


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _common(left: Iterable[str], right: Iterable[str]) -> int:
    pairs = zip(left, right, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _head(sign: str, lines: list[str]) -> list[str]:
    head = [sign + visible(line) for line in lines[:MAX_DIFF]]
    return (
        head if len(lines) <= MAX_DIFF else [*head, f"{sign} ({counted(len(lines) - MAX_DIFF, 'more line')})"]
    )
