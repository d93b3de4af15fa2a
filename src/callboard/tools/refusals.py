"""Errors about arguments, written for the model that has to correct them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import Any

from callboard.errors import InvalidArguments
from callboard.tools.reasons import reason_of
from callboard.tools.repair import Complaint, Place, located

_SHOWN = 5  # places in one error
_LONGEST = 120  # characters of a place or of what is said of it
_LISTED = 20  # legal keys in a hint
_ALIKE = 0.6  # of 1: a key that is less like another is no slip of it
_UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument"})
_SHOULD = "Input should be "


def not_an_object(given: object) -> InvalidArguments:
    """The error for arguments that are JSON, but no object."""
    kinds = ((list, "a list"), (str, "a text"), (bool, "a boolean"))
    named = next((name for kind, name in kinds if isinstance(given, kind)), "a number")
    return InvalidArguments(
        f"the arguments are {named}, not an object", code="args.not_object", hint="send one JSON object"
    )


def too_many(count: int) -> InvalidArguments:
    """The error for arguments that are wrong in so many places that no list of them helps."""
    return InvalidArguments(f"the arguments are wrong in {count} places", hint="read the tool's schema again")


def unfit() -> InvalidArguments:
    """The error for arguments so large that looking for what is wrong would take too long."""
    return InvalidArguments("the arguments do not fit the tool's schema", hint="send less, or in parts")


def failed_part(part: str, failure: Exception) -> InvalidArguments:
    """The error for code of the author's that raised something else than a refusal.

    Args:
        part: what failed, such as `validator`.
        failure: what it raised.
    """
    return InvalidArguments(
        f"a {part} of the tool failed: {_cut(reason_of(failure))}",
        hint="this may be the tool's fault, not that of the arguments",
    )


def refusal(
    value: Any, complaints: Sequence[Complaint], keys: Callable[[Place], Mapping[str, Any]]
) -> InvalidArguments:
    """The error for what a validator refused: every place and what is wrong there, and the closest legal key.

    Args:
        value: the arguments.
        complaints: all refusals.
        keys: the legal keys of the object at a place of the validator's.
    """
    said: dict[Place, list[str]] = {}
    code, hint = "args.missing", None
    for complaint in complaints:
        place = located(value, complaint)[0]
        if complaint.type in _UNKNOWN:
            code, hint = "args.unknown", hint or _closest(place, keys(complaint.place[:-1]))
        elif complaint.type != "missing" and hint is None:
            code = "args.invalid"
        text, texts = _said(place, complaint), said.setdefault(place, [])
        if text not in texts:
            texts.append(text)
    lines = [f"{_named(place)}: {_cut(_either(texts))}" for place, texts in islice(said.items(), _SHOWN)]
    if len(said) > _SHOWN:
        lines.append(f"and {len(said) - _SHOWN} more")
    return InvalidArguments("; ".join(lines), code=code, hint=hint).fresh()


def _either(texts: Sequence[str]) -> str:
    """What the branches of a union say, as one sentence."""
    first, *others = texts
    if not others:
        return first
    return " or ".join([first, *(text.removeprefix(_SHOULD) for text in others)])


def _named(place: Place) -> str:
    return _cut(".".join(map(str, place))) or "arguments"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _said(place: Place, complaint: Complaint) -> str:
    if complaint.type in _UNKNOWN:
        return "there is no such parameter" if len(place) == 1 else "there is no such field"
    return "is missing" if complaint.type == "missing" else complaint.text


def _closest(place: Place, legal: Mapping[str, Any]) -> str:
    key, inside = _cut(str(place[-1])), f" in {_named(place[:-1])}" if len(place) > 1 else ""
    if not legal:
        return f"leave out {key!r}: nothing can be given here"
    close = _alike(key, legal)
    if close is not None:
        return f"did you mean {close!r}{inside}?"
    return f"legal here{inside}: {', '.join(islice(legal, _LISTED))}"


def _alike(key: str, legal: Iterable[str]) -> str | None:
    """The legal key that is most like the given one, however the words in it are joined."""
    bare = _bare(key)
    found, most = None, _ALIKE
    matcher: SequenceMatcher[str] | None = None
    for name in legal:
        other = _bare(name)
        if other == bare:
            return name
        shared, length = len(set(other) & set(bare)), len(other) + len(bare)
        if not shared or 2 * min(len(other), len(bare)) < most * length:
            continue  # they can't be like each other: comparing is slow
        matcher = matcher or SequenceMatcher(None, "", bare, autojunk=False)
        matcher.set_seq1(other)
        ratio = matcher.ratio()
        if ratio >= most:
            found, most = name, ratio
    return found


def _bare(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")
