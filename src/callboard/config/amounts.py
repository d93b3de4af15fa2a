"""Amounts as people write them: sizes and durations."""

import re

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(B|kB|KB|MB|GB|TB)", re.ASCII)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)", re.ASCII)
_BYTES = {"B": 1, "kB": 1_000, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000}
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}

SIZES = "a size such as 500MB (B, kB, MB, GB, TB)"
DURATIONS = "a duration such as 500ms, 90s, 15m, 2h, 3d or 1w"


def size_of(text: str) -> int:
    """Bytes of ``500MB``.

    Raises:
        ValueError: it is no size.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not {SIZES}")
    size = float(found[1]) * _BYTES[found[2]]
    if size == float("inf"):
        raise ValueError(f"a size of {len(found[1])} digits is more than can be counted")
    return int(size)


def shown_size(size: float) -> str:
    """Bytes in the largest unit that leaves something before the point."""
    unit = "B"
    for name in ("kB", "MB", "GB", "TB"):
        if size < 1_000:  # noqa: PLR2004 - the next unit
            break
        size, unit = size / 1_000, name
    return f"{size:.1f} {unit}" if unit != "B" else f"{size:.0f} B"


def seconds_of(text: str) -> float:
    """Seconds of ``500ms`` or ``2h``.

    Raises:
        ValueError: it is no duration.
    """
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not {DURATIONS}")
    seconds = float(found[1]) * _SECONDS[found[2]]
    if seconds == float("inf"):
        raise ValueError(f"a duration of {len(found[1])} digits is more than can be counted")
    return seconds
