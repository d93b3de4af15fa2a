"""Printing for the commands that answer and end: JSON, tables, text, and errors."""

import contextlib
import json
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from callboard.cli.visible import visible

_BESIDE = 24  # characters that the last column of a table has on a terminal, beside the others


def to_line(value: Any) -> str:
    """A value as JSON in one line of ASCII: a lone surrogate can't break the output."""
    return json.dumps(value, separators=(",", ":"), default=_plain)


def print_json(value: Any) -> None:
    """A value as indented JSON on standard output."""
    sys.stdout.write(json.dumps(value, indent=2, default=_plain) + "\n")


def _plain(value: Any) -> Any:
    """What JSON does not know: mappings and tuples of other types as what they hold."""
    if hasattr(value, "items"):
        return dict(value)
    if isinstance(value, frozenset | set | tuple):
        return list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - any element
    return str(value)


def print_text(text: str) -> None:
    """Text of whatever origin on standard output."""
    sys.stdout.write(visible(text, keep="\n\t") + "\n")


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table: fitted to the terminal; whole lines in columns where it is piped."""
    cleaned = [[visible(cell, "").strip() for cell in row] for row in rows]
    if sys.stdout.isatty():
        _print_fitted([list(headings), *cleaned])
        return
    widths = [max(map(len, column)) for column in zip(headings, *cleaned, strict=True)]
    for row in (headings, *cleaned):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(line.rstrip() + "\n")


def _print_fitted(rows: Sequence[list[str]]) -> None:
    """Only the last column is cut to the terminal; with too little room for it, it stands below."""
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415 - not needed where the output is piped
    from rich.console import Console  # noqa: PLC0415 - same
    from rich.text import Text  # noqa: PLC0415 - same

    console = Console()
    widths = [max(map(cell_len, column)) for column in zip(*(row[:-1] for row in rows), strict=True)]
    room = console.width - sum(width + 2 for width in widths)
    below = room < min(_BESIDE, max(cell_len(row[-1]) for row in rows))
    for number, (*cells, last) in enumerate(rows):
        style = "" if number else "bold"
        front = "".join(set_cell_size(cell, width) + "  " for cell, width in zip(cells, widths, strict=True))
        rest = Text(last, style)
        rest.truncate(console.width - 2 if below else room, overflow="ellipsis")
        parts = [Text(front.rstrip(), style), Text("  ") + rest] if below else [Text(front, style) + rest]
        for line in parts:
            line.rstrip()
            if line.plain:
                console.print(line, soft_wrap=True)


def when(seconds: float | None) -> str:
    """Unix time as the local time of a person."""
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def print_error(error: BaseException | str, hint: str | None = None) -> None:
    """An error in a readable line on standard error; with CALLBOARD_DEBUG its traceback before it."""
    if isinstance(error, BaseException):
        print_traceback(error)
        hint = hint or getattr(error, "hint", None)
        text = str(error) or type(error).__name__
    else:
        text = error
    with contextlib.suppress(OSError):  # where it can't be written, nobody is there to read it
        sys.stderr.write(f"error: {visible(text)}\n")
        if hint:
            sys.stderr.write(f"hint: {visible(hint)}\n")
        sys.stderr.flush()


def print_traceback(error: BaseException) -> None:
    """Where an error came from, on standard error, where CALLBOARD_DEBUG asks for it."""
    if debugging():
        traceback.print_exception(error)


def print_note(text: str) -> None:
    """Something to know that is no error, in a line on standard error."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"note: {visible(text)}\n")


def show_log() -> None:
    """Have what Callboard logs written to standard error."""
    logging.basicConfig(stream=sys.stderr, format="%(name)s: %(levelname)s: %(message)s")


def debugging() -> bool:
    """Whether CALLBOARD_DEBUG asks for tracebacks and for the log."""
    return os.environ.get("CALLBOARD_DEBUG", "") not in {"", "0"}
