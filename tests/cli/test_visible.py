"""Text of strangers can't move the cursor, hide, or reorder what a person reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard.cli.visible import pieces, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, ümläut, 日本, 🎉", "plain text, ümläut, 日本, 🎉"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("over\rwritten\b\x07", r"over\x0dwritten\x08\x07"),
        ("abc\u202egnp.exe", r"abc\u202egnp.exe"),
        ("\u2066\u2069\u200f\u061c", r"\u2066\u2069\u200f\u061c"),
        ("zero\u200bwidth\ufeff\u00ad", r"zero\u200bwidth\ufeff\xad"),
        ("a\u00a0b\u3000c", r"a\xa0b\u3000c"),
        ("line\u2028para\u2029\x85", r"line\u2028para\u2029\x85"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("\ud800", r"\ud800"),
        ("x\ufe0f\u3164", r"x\ufe0f\u3164"),
        ("two\nlines\tand a tab", "two\nlines\\x09and a tab"),
    ],
)
def test_what_cant_be_seen_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_what_is_to_be_kept_stays() -> None:
    assert visible("a\n\tb", keep="") == r"a\x0a\x09b"
    assert visible("a\n\tb", keep="\n\t") == "a\n\tb"


@given(st.text())
def test_no_text_brings_a_control_character_to_the_terminal(text: str) -> None:
    shown = visible(text, keep="")
    assert shown.isprintable()
    assert "".join(piece for piece, hidden in pieces(text, keep="") if not hidden).isprintable()
