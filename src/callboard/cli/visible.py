"""Showing text of strangers: nothing in it can move the cursor, hide, or reorder what a person reads."""

import unicodedata
from collections.abc import Iterator

# controls, formats (bidi, zero width, tags), surrogates, private, unassigned, line and paragraph separators
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# letters that look like nothing: Hangul fillers, Braille blank, Khmer inherent vowels, Mongolian separators
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800\u17b4\u17b5\u034f\u180b\u180c\u180d\u180f")
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))


def visible(text: str, keep: str = "\n") -> str:
    """The text, with an escape in the place of each character that can't be seen; `keep` stays as it is."""
    return "".join(piece for piece, _ in pieces(text, keep))


def pieces(text: str, keep: str = "\n") -> Iterator[tuple[str, bool]]:
    """The text in pieces: what may be shown as it is, and escapes (True) for what can't be seen."""
    start = 0
    for at, char in enumerate(text):
        if char in keep or not _unseen(char):
            continue
        if at > start:
            yield text[start:at], False
        yield escaped(char), True
        start = at + 1
    if start < len(text):
        yield text[start:], False


def escaped(char: str) -> str:
    """One character as Python and JSON would write it."""
    code = ord(char)
    if code < 0x100:  # noqa: PLR2004 - two hex digits
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004 - four hex digits


def _unseen(char: str) -> bool:
    if " " <= char <= "~":
        return False
    category = unicodedata.category(char)
    if category in _HIDDEN or char in _BLANK:
        return True
    if category == "Zs":
        return True  # a space that is not the space
    return any(ord(char) in selectors for selectors in _SELECTORS)
