"""Whether a call that failed is tried again, after what, and how long it waits before."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from callboard.errors import RegistrationError, ToolError

MOST = 20  # tries after the first
LONGEST = 3_600.0  # seconds of one pause
Reason = str | type[Exception]  # a code, or a class


@dataclass(frozen=True, slots=True)
class Retries:
    """What a tool that is tried again gives as `retries`, where a number says too little.

    The pause before the n-th try is `wait` times 2 to the power of n - 2, at most `longest`, and between half
    and all of that: calls that failed together do not come back together.

    Attributes:
        times: tries after the first.
        on: codes and exception classes after which it is tried again. Nothing means every exception but a
            ToolError, which a tool raises to tell the model something.
        wait: seconds before the second try.
        longest: seconds of the longest pause.

    Raises:
        RegistrationError: a figure is out of range, or `on` holds something else.
    """

    times: int
    on: Reason | Iterable[Reason] = ()
    wait: float = 0.2
    longest: float = 30.0

    def __post_init__(self) -> None:
        times: Any = self.times
        if type(times) is not int or not 1 <= times <= MOST:
            raise RegistrationError(
                f"retries are {times!r}", hint=f"give the number of tries after the first, up to {MOST}"
            )
        for name in ("wait", "longest"):
            seconds: Any = getattr(self, name)
            is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
            if not is_number or not 0 <= seconds <= LONGEST:
                raise RegistrationError(
                    f"retries: {name} is {seconds!r}", hint=f"give seconds, up to {LONGEST:.0f}"
                )
        given: Any = self.on
        if isinstance(given, str) or not hasattr(given, "__iter__"):
            given = (given,)
        reasons: tuple[Any, ...] = tuple(given)
        for reason in reasons:
            if not isinstance(reason, str) and not _is_exception(reason):
                raise RegistrationError(
                    f"retries: {reason!r} is nothing to try again after",
                    hint="give error codes and exception classes",
                )
        object.__setattr__(self, "on", reasons)

    def wanted(self, failure: BaseException) -> bool:
        """Whether a call that failed so is tried again."""
        if not isinstance(failure, Exception):
            return False
        if isinstance(failure, ToolError) and failure.status != "failed":
            return False  # a call inside it was denied or ended, or nobody knows what it did
        reasons: tuple[Reason, ...] = self.on  # pyright: ignore[reportAssignmentType] - made one above
        if not reasons:
            return not isinstance(failure, ToolError)
        code = code_of(failure)
        return any(code == each if isinstance(each, str) else isinstance(failure, each) for each in reasons)

    def pause(self, before: int, share: float) -> float:
        """Seconds to wait before a try.

        Args:
            before: which try comes next, 2 for the second.
            share: from 0 to 1, at random: how much of the pause's upper half.
        """
        whole = min(self.longest, self.wait * 2.0 ** (before - 2))
        return whole * (0.5 + share / 2)


def code_of(failure: BaseException) -> str:
    """Its code for `on` and for what is told of a try, whatever its class does."""
    try:
        code: Any = getattr(failure, "code", None)
    except Exception:  # noqa: BLE001 - a property of the tool's own class
        return ToolError.code
    return code if isinstance(code, str) else ToolError.code


def retries_for(tool_id: str, retries: Any, *, kind: str, idempotent: bool, quick: bool) -> Retries | None:
    """How a tool's calls are tried again; None where they are not.

    Args:
        tool_id: the tool.
        retries: as it was given: a number, a `Retries`, or nothing.
        kind: the tool's.
        idempotent: whether doing it twice is as good as once.
        quick: whether it runs on the event loop, where a pause would hold up everything else.

    Raises:
        RegistrationError: it is of another type, or trying again would do harm.
    """
    if retries is None or (type(retries) is int and retries == 0):
        return None
    made = retries
    if not isinstance(made, Retries):
        try:
            made = Retries(retries)
        except RegistrationError as error:
            raise RegistrationError(f"tool {tool_id!r}: {error}", hint=error.hint) from None
    if kind != "read" and not idempotent:
        raise RegistrationError(
            f"tool {tool_id!r} is a {kind} and has retries: a try that failed may have changed something, "
            "and the next would do it again",
            hint="make it a read, or idempotent where doing it twice is as good as once",
        )
    if quick:
        raise RegistrationError(
            f"tool {tool_id!r} has retries and is not blocking: the pauses would hold up the event loop",
            hint="make it a coroutine function, or leave out blocking=False",
        )
    return made


def _is_exception(given: Any) -> bool:
    return isinstance(given, type) and issubclass(given, Exception)
