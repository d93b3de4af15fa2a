"""Reading text, a whole file or some of its lines: exactly what is there, or an error that says why not."""

import codecs
import os
from collections.abc import Iterator
from typing import IO

from callboard.builtin.files.paths import counted, joined, shown
from callboard.builtin.files.workspace import Workspace
from callboard.errors import ToolError

MAX_TEXT = 256 * 1024  # bytes of text that one call returns
MAX_SCAN = 64 * 1024 * 1024  # bytes that one call reads on its way to a line

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_text(
    workspace: Workspace, path: str, start_line: int | None = None, end_line: int | None = None
) -> str:
    """The text of a file, or of the lines from `start_line` to `end_line`, both included and counted from 1.

    Line ends stay as they are; a UTF-8 byte order mark is left out. An `end_line` behind the last line means
    the last line.

    Raises:
        ToolError: `file.too_large`, `file.not_text`, `file.no_such_line`, `file.bad_range`, or what opening
            the file refuses.
    """
    _check_range(start_line, end_line)
    parts = workspace.parts(path)
    name = joined(parts)
    with workspace.file(parts, workspace.for_reading()) as fd:
        if start_line is None and end_line is None:
            return decoded(_whole(fd, name), name)
        with os.fdopen(fd, "rb", closefd=False) as stream:
            return _lines(stream, name, start_line or 1, end_line)


def _check_range(start_line: int | None, end_line: int | None) -> None:
    first = 1 if start_line is None else start_line
    if first < 1 or (end_line is not None and end_line < first):
        raise ToolError(
            f"lines {start_line} to {end_line} are no range",
            code="file.bad_range",
            hint="lines count from 1, and end_line is not before start_line",
        )


def read_bytes(fd: int, limit: int) -> bytes:
    """All bytes of an open file, but at most `limit` and one: that many mean that there are too many."""
    chunks: list[bytes] = []
    left = limit + 1
    while left > 0 and (chunk := os.read(fd, min(left, 1 << 20))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def _whole(fd: int, name: str) -> bytes:
    data = read_bytes(fd, MAX_TEXT)
    if len(data) > MAX_TEXT:
        raise ToolError(
            f"{shown(name)} has {os.fstat(fd).st_size} bytes; one call reads at most {MAX_TEXT}",
            code="file.too_large",
            hint="read it in parts with start_line and end_line, or search it",
        )
    return data


def _lines(stream: IO[bytes], name: str, first: int, last: int | None) -> str:
    """The lines asked for; what lies before them is counted and dropped."""
    taken: list[bytes] = []
    size = number = 0
    for number, line in enumerate(_bounded(stream, name), start=1):
        if number < first:
            continue
        size += len(line)
        if size > MAX_TEXT:
            raise ToolError(
                f"lines {first} to {number} of {shown(name)} have more than {MAX_TEXT} bytes",
                code="file.too_large",
                hint="ask for fewer lines" if number > first else "this line is too long to be read",
            )
        taken.append(line)
        if number == last:
            break
    if number < first and first > 1:
        raise ToolError(
            f"{shown(name)} has {counted(number, 'line')}; there is no line {first}",
            code="file.no_such_line",
            hint=f"start_line is at most {number}" if number else "the file is empty",
        )
    return decoded(b"".join(taken), name)


def _bounded(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """The lines of a stream, none longer than what can be shown, and no more than one call may scan."""
    scanned = 0
    while line := stream.readline(MAX_TEXT + 1):
        whole = line
        scanned += len(line)
        while len(line) > MAX_TEXT and not line.endswith(b"\n"):
            line = stream.readline(MAX_TEXT + 1)  # the rest of a line that is too long: counted, not kept
            scanned += len(line)
            _check_scan(scanned, name)
        _check_scan(scanned, name)
        yield whole


def _check_scan(scanned: int, name: str) -> None:
    if scanned > MAX_SCAN:
        raise ToolError(
            f"those lines of {shown(name)} lie behind its first {MAX_SCAN} bytes",
            code="file.too_large",
            hint="search_files finds text in large files",
        )


def decoded(data: bytes, name: str) -> str:
    """The text in these bytes: UTF-8, without a byte order mark.

    Raises:
        ToolError: `file.not_text`, saying what is in the way.
    """
    if data.startswith(_UTF16):
        raise _no_text(name, "it is UTF-16")
    zero = data.find(b"\0")
    if zero >= 0:
        raise _no_text(name, f"there is a NUL at byte {zero}")
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise _no_text(name, f"byte 0x{data[error.start]:02x} is no UTF-8") from error


def _no_text(name: str, reason: str) -> ToolError:
    return ToolError(
        f"{shown(name)} is not UTF-8 text: {reason}",
        code="file.not_text",
        hint="only text files can be read",
    )
