"""Tables on a terminal."""

import contextlib
import io
import re
from collections.abc import Sequence

import pytest

from callboard.cli.output import print_table

LONG = "approval.no_approver: nobody is there to ask  " + "x" * 200
HEADINGS = ("call", "started", "tool", "what")
ROWS = [
    ("3634de601ed74af0-1", "2026-11-30 16:15:48", "read_file", LONG),
    ("3634de601ed74af0-2", "-", "add", "{}"),
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(columns: int, headings: Sequence[str], *rows: Sequence[str]) -> str:
    """The table as a terminal of so many columns shows it, without its colours."""
    terminal = Terminal()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(terminal):
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("TERM", "xterm")
        print_table(headings, rows)
    return re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())


@pytest.mark.parametrize("columns", [40, 80, 100, 200])
def test_no_column_is_squeezed_by_a_long_last_one(columns: int) -> None:
    table = shown(columns, HEADINGS, *ROWS)

    assert "3634de601ed74af0-1  2026-11-30 16:15:48  read_file" in table
    assert "approval.no_approver" in table
    assert "…" in table


def test_what_has_room_stands_in_one_line() -> None:
    lines = shown(80, HEADINGS, *ROWS).splitlines()

    assert len(lines) == 3
    assert max(map(len, lines)) == 80


def test_what_has_no_room_stands_below() -> None:
    _, what, first, below, second, last = shown(60, HEADINGS, *ROWS).splitlines()

    assert (what, last) == ("  what", "  {}")
    assert first.startswith("3634de601ed74af0-1  2026-11-30 16:15:48")
    assert below.startswith("  approval.no_approver")
    assert len(below) == 60
    assert second.split() == ["3634de601ed74af0-2", "-", "add"]


def test_wide_characters_keep_the_columns_in_line() -> None:
    assert shown(80, ("a", "b"), ("日本", "x"), ("abcd", "y")).splitlines() == [
        "a     b",
        "日本  x",
        "abcd  y",
    ]
