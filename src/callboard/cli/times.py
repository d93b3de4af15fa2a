"""Moments and durations on the command line."""

from datetime import datetime

from cyclopts import CycloptsError

MOMENTS = "2h, 3d (so long ago), 2026-11-30 or 2026-11-30T14:00 (local time)"


def moment(text: str | None, now: float) -> float | None:
    """Unix seconds of what was typed: so long ago, or a day or time of this place.

    Raises:
        CycloptsError: it is neither.
    """
    from callboard.config.amounts import seconds_of  # noqa: PLC0415 - pydantic comes with it

    if text is None:
        return None
    try:
        return now - seconds_of(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text.strip()).astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        raise CycloptsError(msg=f"{text!r} is no moment; write it as {MOMENTS}") from None


def duration(text: str | None) -> float | None:
    """Seconds of what was typed.

    Raises:
        CycloptsError: it is no duration.
    """
    from callboard.config.amounts import seconds_of  # noqa: PLC0415 - pydantic comes with it

    if text is None:
        return None
    try:
        return seconds_of(text)
    except ValueError as error:
        raise CycloptsError(msg=str(error)) from None
