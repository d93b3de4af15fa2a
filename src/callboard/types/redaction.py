"""What was delivered as a secret, and texts without it."""

import json
import re
import threading
from dataclasses import replace
from typing import Any, TypeGuard, overload

from callboard.conversation import ContentPart
from callboard.types.spellings import SHORTEST, spellings

STARS = "***"
EDGE = 16  # characters of the beginning or the end of a long secret that are found without the rest
_LITERALS = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*', re.DOTALL)


def is_dict(value: object) -> TypeGuard[dict[Any, Any]]:
    """`isinstance`, for values of which nothing is known."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """`isinstance`, for values of which nothing is known."""
    return isinstance(value, list | tuple)


def _shared(one: str, other: str) -> int:
    """How many characters the two have in common before they differ."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))


def _dumped(value: Any) -> str:
    """As compact as the records' own JSON."""
    return json.dumps(value, separators=(",", ":"))


class Redaction:
    """Replaces what was delivered as a secret by ``***``, in every text of the calls that share it.

    A run has one, so that a secret which a call left in a file stays out of the record of the call that reads
    the file. Safe from any thread; it hands out no secret.
    """

    __slots__ = ("_known", "_lock", "_long", "_patterns")

    def __init__(self) -> None:
        self._known: frozenset[str] = frozenset()
        self._patterns: tuple[re.Pattern[str], ...] = ()
        self._long: tuple[str, ...] = ()  # what is looked for where it was cut, too
        self._lock = threading.Lock()

    def add(self, secret: str) -> None:
        """Replace it from now on.

        Raises:
            ValueError: it is so short that it stands in other texts by chance.
        """
        whole = secret.strip()
        if len(whole) < SHORTEST:
            raise ValueError(f"a secret has at least {SHORTEST} characters")
        if whole in self._known:
            return
        found = spellings(whole)
        with self._lock:
            self._known |= {whole}
            self._long = tuple(each for each in self._known if len(each) >= 2 * EDGE)
            self._patterns = tuple(dict.fromkeys((*self._patterns, *found)))

    def __bool__(self) -> bool:
        """Whether there is anything to replace."""
        return bool(self._patterns)

    def text(self, text: str) -> str:
        """The text without any secret. Matches that overlap are one."""
        spans = self._spans(text)
        if not spans:
            return text
        made: list[str] = []
        end = 0
        for first, last in sorted(spans):
            if first > end or not made:
                made += (text[end:first], STARS)
            end = max(end, last)
        return "".join((*made, text[end:]))

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Where secrets stand, whole ones and the ends of long ones."""
        spans: list[tuple[int, int]] = []
        for pattern in self._patterns:
            found = pattern.search(text)
            while found is not None:
                spans.append(found.span())
                found = pattern.search(text, found.start() + 1)
        for whole in self._long:
            first = text.find(whole[:EDGE])
            while first >= 0:
                spans.append((first, first + _shared(whole, text[first : first + len(whole)])))
                first = text.find(whole[:EDGE], first + 1)
            first = text.find(whole[-EDGE:])
            while first >= 0:
                last = first + EDGE
                before = text[max(0, last - len(whole)) : last]
                spans.append((last - _shared(whole[::-1], before[::-1]), last))
                first = text.find(whole[-EDGE:], first + 1)
        return spans

    @overload
    def json(self, text: str) -> str: ...
    @overload
    def json(self, text: None) -> None: ...
    def json(self, text: str | None) -> str | None:
        """JSON text whose strings and numbers hold no secret: it stays JSON."""
        if text is None or not self._spans(text):
            return text
        told = _LITERALS.sub(self._literal, text)
        return told if not self._spans(told) else self._without_structure(told)

    def texts(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Each of them without any secret."""
        return tuple(map(self.text, texts)) if self._patterns else texts

    def content(self, content: str | tuple[ContentPart, ...]) -> str | tuple[ContentPart, ...]:
        """What a model sees; bytes of images, sounds and resources are not looked into."""
        if not self._patterns:
            return content
        if isinstance(content, str):
            return self.text(content)
        return tuple(self._part(part) for part in content)

    def value(self, value: Any) -> Any:
        """The same with no secret in its texts; an object whose `repr` holds one is its redacted `repr`."""
        if not self._patterns or value is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if is_dict(value):
            return {self._name(name): self.value(each) for name, each in value.items()}
        if is_list(value):
            return [self.value(each) for each in value]
        return self._object(value)

    def _name(self, name: Any) -> Any:
        """A key stays what it is, such as a pair, unless there is a secret in it."""
        return self.text(name) if isinstance(name, str) else self._object(name)

    def _object(self, value: Any) -> Any:
        try:
            shown = repr(value)
        except Exception:  # noqa: BLE001 - an object's own code
            return f"a {type(value).__name__} that can't be shown"
        told = self.text(shown)
        return value if told == shown else told

    def _literal(self, found: re.Match[str]) -> str:
        """A text or a number of JSON, without any secret."""
        literal = found[0]
        if literal[0] != '"':
            return literal if self.text(literal) == literal else f'"{STARS}"'
        value: str = json.loads(literal)
        told = self.text(value)
        return literal if told == value else json.dumps(told)

    def _without_structure(self, text: str) -> str:
        """JSON in which arrays or objects spell a secret that is JSON itself: the innermost are stars."""
        try:
            told = _dumped(self._unspelled(json.loads(text)))
        except (ValueError, RecursionError):
            told = f'"{STARS}"'
        return f'"{STARS}"' if self._spans(told) else told

    def _unspelled(self, value: Any) -> Any:
        if is_dict(value):
            value = {name: self._unspelled(each) for name, each in value.items()}
        elif is_list(value):
            value = [self._unspelled(each) for each in value]
        else:
            return value
        return STARS if self._spans(_dumped(value)) else value

    def _part(self, part: ContentPart) -> ContentPart:
        names = [name for name in ("text", "uri", "metadata") if hasattr(part, name)]
        return replace(part, **{name: self.value(getattr(part, name)) for name in names})

    def __repr__(self) -> str:
        return f"<Redaction of {len(self._known)} secrets>"
