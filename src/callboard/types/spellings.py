"""How a secret may be spelled in a text: as it is, escaped, quoted for a URL, encoded."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

SHORTEST = 6  # characters of a secret: a shorter one stands everywhere by chance
LONGEST = 8_192  # of a longer one the search would be made for seconds, once, where the call is made
LONG_LINE = 16  # characters of a line, or of a text in JSON, that is looked for on its own

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
_LETTERS = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&(?:quot|#34);", "'": "&#(?:x27|39);"}
_PERCENT = "%(?:25){0,2}"
_SLASH = rf"(?:\\|{_PERCENT}5[Cc])"
_SLASHES = f"{_SLASH}{{1,8}}"  # of up to three escapings inside each other; bounded: the search stays linear
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_ODD = {"+": "(?:[+-]|%2[Bb])", "/": rf"(?:(?:{_SLASHES})?/|_|%2[Ff])"}


@lru_cache(maxsize=128)
def spellings(secret: str) -> tuple[re.Pattern[str], ...]:
    """What finds a secret, without the blanks around it, and each long part of it in a text."""
    whole = secret.strip()
    parts = [*(line.strip() for line in whole.splitlines()), *_texts_inside(whole)]
    data = whole.encode("utf-8", "surrogatepass")
    patterns = [_escaped(text) for text in (whole, *(part for part in parts if len(part) >= LONG_LINE))]
    patterns += [_hex(data), *(_base64(data, before) for before in range(3))]
    return tuple(re.compile(pattern) for pattern in dict.fromkeys(patterns))


def _texts_inside(secret: str) -> Iterator[str]:
    """The values of a secret that is JSON, such as the key in a service's credentials."""
    try:
        left: list[Any] = [json.loads(secret)] if secret[0] in "{[" else []
    except (ValueError, RecursionError):
        return
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value.strip()
        elif isinstance(value, dict):
            left += cast("dict[str, Any]", value).values()
        elif isinstance(value, list):
            left += cast("list[Any]", value)


def _escaped(text: str) -> str:
    """Each character as it is, or as JSON, Python, a URL or HTML writes it.

    Backslashes are counted by run: each escaping doubles them, and adds one before what follows.
    """
    made: list[str] = []
    run = 0
    for char in text:
        if char == "\\":
            run += 1
            continue
        made.append(_char(char) if not run else _run(run) + _char(char, slashes=""))
        run = 0
    if run:
        made.append(_run(run))
    return "".join(made)


def _run(length: int) -> str:
    return f"{_SLASH}{{{length},{8 * length + 8}}}"


def _char(char: str, slashes: str = _SLASHES) -> str:
    if char in _PLAIN:
        return re.escape(char)
    plain = re.escape(char)
    coded = "".join(_PERCENT + _digits(f"{byte:02x}") for byte in char.encode("utf-8", "surrogatepass"))
    forms = [plain, coded, f"{slashes}(?:{'|'.join([plain, coded, *_named(char)])})"]
    if char == " ":
        forms.append(r"\+")
    if char in _ENTITIES:
        forms.append(_ENTITIES[char])
    return f"(?:{'|'.join(forms)})"


def _named(char: str) -> list[str]:
    """What stands behind the backslashes."""
    code = ord(char)
    names = [_LETTERS[char]] if char in _LETTERS else []
    if char <= "\xff":
        names.append(f"x{_digits(f'{code:02x}')}")
    if char <= "\uffff":
        return [*names, f"u{_digits(f'{code:04x}')}"]
    high, low = 0xD800 + (code - 0x10000 >> 10), 0xDC00 + (code - 0x10000 & 0x3FF)
    pair = f"u{_digits(f'{high:04x}')}{_SLASHES}u{_digits(f'{low:04x}')}"
    return [f"U{_digits(f'{code:08x}')}", pair]


def _digits(text: str) -> str:
    """Hexadecimal digits in either case."""
    return "".join(digit if digit.isdigit() else f"[{digit}{digit.upper()}]" for digit in text)


def _hex(data: bytes) -> str:
    return _digits(data.hex())


def _base64(data: bytes, before: int) -> str:
    """The base64 of anything that holds `data` with `before` bytes before it, modulo 3.

    The characters at the edges mix its bits with those of its neighbours: there any of those that may stand.
    """
    bits = "".join(f"{byte:08b}" for byte in data)
    lead = -8 * before % 6  # bits of `data` that share a character with what stands before it
    first = _mixed(bits[:lead], at_end=True) if lead else ""
    bits = bits[lead:]
    full = len(bits) // 6 * 6
    middle = "".join(_six(_BASE64[int(bits[i : i + 6], 2)]) for i in range(0, full, 6))
    last = _mixed(bits[full:], at_end=False) if bits[full:] else ""
    return f"{first}{middle}{last}(?:=|%3[Dd]){{0,2}}"


def _six(char: str) -> str:
    return _ODD.get(char, char)


def _mixed(bits: str, *, at_end: bool) -> str:
    """Any of the characters whose six bits end, or begin, with `bits`."""
    found = [
        char
        for value, char in enumerate(_BASE64)
        if (f"{value:06b}".endswith(bits) if at_end else f"{value:06b}".startswith(bits))
    ]
    plain = "".join(char for char in found if char not in _ODD)
    return f"(?:{'|'.join([f'[{plain}]', *(_ODD[char] for char in found if char in _ODD)])})"
