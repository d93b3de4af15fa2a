"""A text that a regular expression matches, for samples: the plainest that its parts admit."""

import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any

_parser: Any = import_module("re._parser")  # Python's own reader of expressions has no public name
_PLAIN = "a1A -_.,:;/xyz029BC@#"
_CLASSES = {
    "CATEGORY_DIGIT": r"\d", "CATEGORY_NOT_DIGIT": r"\D", "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_NOT_WORD": r"\W", "CATEGORY_SPACE": r"\s", "CATEGORY_WORD": r"\w",
}  # fmt: skip
_MOST = 1000  # repetitions


def text_for(pattern: str, number: int = 0) -> str:
    """A text that the pattern matches; another one for another number, where the pattern leaves room.

    Raises:
        ValueError: the pattern is no expression of Python, or uses what is not followed here.
    """
    try:
        parts = _parser.parse(pattern)
        text = _Writer(number).texts(parts)
        if re.search(pattern, text):
            return text
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None
    raise ValueError(f"no text was found for {pattern!r}")


class _Writer:
    def __init__(self, number: int) -> None:
        self._number = number
        self._groups: dict[int | None, str] = {}

    def texts(self, parts: Iterable[Any]) -> str:
        return "".join(self._text(str(kind), value) for kind, value in parts)

    def _text(self, kind: str, value: Any) -> str:
        match kind:
            case "LITERAL":
                return chr(value)
            case "NOT_LITERAL" | "ANY":
                return next(each for each in _PLAIN if each != chr(value or 0))
            case "IN":
                return self._one_of(value)
            case "BRANCH":
                return self.texts(value[1][self._number % len(value[1])])
            case "SUBPATTERN":
                self._groups[value[0]] = made = self.texts(value[-1])
                return made
            case "GROUPREF":
                return self._groups.get(value, "")
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                return self._repeated(*value)
            case _:  # places, such as the begin, and looks around: the text is tried afterwards
                return ""

    def _repeated(self, least: int, most: int, inner: Iterable[Any]) -> str:
        times = min(least + self._number, most) if least else 0
        if times > _MOST:
            raise ValueError("too many repetitions")
        return "".join(self.texts(inner) for _ in range(times))

    def _one_of(self, items: list[Any]) -> str:
        shut = str(items[0][0]) == "NEGATE"
        firsts = [] if shut else [_first(str(kind), value) for kind, value in items]
        plain = [each for each in _PLAIN if any(_holds(str(k), v, each) for k, v in items) is not shut]
        choices = [*firsts, *plain] if len(firsts) > 1 else [*plain, *firsts]
        return choices[self._number % len(choices)] if choices else ""


def _first(kind: str, value: Any) -> str:
    if kind == "LITERAL":
        return chr(value)
    if kind == "RANGE":
        return chr(value[0])
    return next(each for each in f"{_PLAIN}\n" if _holds(kind, value, each))


def _holds(kind: str, value: Any, text: str) -> bool:
    if kind == "LITERAL":
        return ord(text) == value
    if kind == "RANGE":
        return value[0] <= ord(text) <= value[1]
    return kind == "CATEGORY" and re.fullmatch(_CLASSES[str(value)], text) is not None
