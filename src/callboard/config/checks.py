"""What a value of the configuration must be beyond its type, so that it is found when the file is read."""

import math
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from pydantic_core import PydanticCustomError

from callboard.config.amounts import SIZES, size_of

WRONG = "callboard_wrong"  # the type of an error that says itself what is wrong, and where below its field

_DAY = 86_400
_TRIES = 100


def wrong(*at: str, said: str) -> PydanticCustomError:
    """An error at a place below the field that is checked."""
    return PydanticCustomError(WRONG, "{said}", {"said": said, "at": at})


def checked_url(url: str) -> str:
    """The address of a server; what is wrong with it is said without it, as it may hold a password."""
    try:
        parts = urlsplit(url)
        fine = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fine = False
    if not fine or not url.isprintable() or " " in url:
        raise wrong(said="must be an address such as 'http://127.0.0.1:11434/v1'")
    return url


def checked_size(text: str) -> str:
    """A size as people write it."""
    try:
        size_of(text)
    except ValueError:
        raise wrong(said=f"must be {SIZES}, not {_shown(text)}") from None
    return text


def checked_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Settings of a model: the ones that we know have values that work; all others are the provider's."""
    for name, (fits, legal) in _SETTINGS.items():
        if name in settings and not fits(settings[name]):
            raise wrong(name, said=f"must be {legal}, not {_shown(settings[name])}")
    return settings


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)[:60]


def _number(value: Any) -> bool:
    return _integer(value) or (isinstance(value, float) and math.isfinite(value))


def _integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_SETTINGS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "timeout": (lambda value: _number(value) and 0 < value <= _DAY, f"seconds, more than 0, at most {_DAY}"),
    "max_retries": (
        lambda value: _integer(value) and 0 <= value <= _TRIES,
        f"a whole number from 0 to {_TRIES}",
    ),
    "max_tokens": (lambda value: _integer(value) and value > 0, "a whole number above 0"),
    "temperature": (lambda value: _number(value) and value >= 0, "a number from 0"),
}
