"""What a provider's library raises, as `ModelError`: a code, a reason without secrets, the next step."""

import errno
import os
import re
from collections.abc import Iterable
from typing import Any, cast

from pydantic_ai import exceptions as theirs

from callboard.errors import ModelError

_MAX_REASON = 300
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@")
_KEY_LIKE = re.compile(r"\b(?:sk|pk|key)-[\w*.-]{6,}")

# The first that fits; the classes below one another stand with the narrower first.
_KINDS: tuple[tuple[type[Exception], str, str, str], ...] = (
    (
        theirs.ModelAuthenticationError,
        "model.unauthorized",
        "the key was refused",
        "check the key, and what it may use",
    ),
    (
        theirs.ModelQuotaExceededError,
        "model.quota",
        "the account's quota is used up",
        "see the provider's billing page",
    ),
    (theirs.ModelRateLimitError, "model.rate_limited", "too many requests", "wait, then try again"),
    (theirs.ModelUnavailableError, "model.unavailable", "it is overloaded or down", "try again later"),
    (theirs.ModelServerError, "model.unavailable", "it failed", "try again later"),
    (
        theirs.ModelTimeoutError,
        "model.timeout",
        "it did not answer in time",
        "try again, or set a longer timeout",
    ),
    (
        theirs.ModelRequestTimeout,
        "model.timeout",
        "it did not answer in time",
        "try again, or set a longer timeout",
    ),
    (
        theirs.ModelConnectionError,
        "model.unreachable",
        "it can't be reached at {address}",
        "is the server running? If it listens elsewhere, correct the address",
    ),
    (theirs.ModelNotFoundError, "model.unknown", "it has no such model", "check the name of the model"),
    (
        theirs.ModelContextWindowExceededError,
        "model.too_long",
        "the conversation is too long for it",
        "start a new one, or choose a model with a larger window",
    ),
    (
        theirs.ModelAPIError,
        "model.refused",
        "it refused the request",
        "the reason above is the provider's own",
    ),
    (
        theirs.UnexpectedModelBehavior,
        "model.bad_answer",
        "its answer can't be read",
        "is it a model server at {address}?",
    ),
)


def failed(error: Exception, name: str, address: str | None, secrets: Iterable[str]) -> ModelError:
    """The error for a person: which model, what happened, what to do.

    Args:
        error: what the provider's library raised.
        name: the model's name.
        address: where it was looked for.
        secrets: what must not be shown.
    """
    code, reason, hint = "model.failed", "the request failed", None
    for kind, *told in _KINDS:
        if isinstance(error, kind):
            code, reason, hint = told
            break
    status = f" (HTTP {error.status_code})" if isinstance(error, theirs.ModelHTTPError) else ""
    said = "" if code == "model.unauthorized" else _masked(_said(error), secrets)
    place = _masked(address or "its address", secrets)
    shown = f"{name}: {reason.format(address=place)}{status}" + (f": {said}" if said else "")
    wait = getattr(error, "retry_after", None)
    if hint is not None and isinstance(wait, int | float) and code == "model.rate_limited":
        hint = f"wait {wait:g} seconds, then try again"
    return ModelError(shown, code=code, hint=None if hint is None else hint.format(address=place))


def _said(error: Exception) -> str:
    """The provider's own words: the message inside the body where there is one, else the system's."""
    if isinstance(error, theirs.ModelConnectionError):
        return _cause(error)
    body: Any = getattr(error, "body", None)
    while isinstance(body, dict):
        inner = cast("dict[str, Any]", body)
        body = inner.get("error", inner.get("message"))
    if isinstance(body, str):
        return body
    return str(getattr(error, "message", None) or error) or type(error).__name__


def _cause(error: BaseException) -> str:
    """What the system said: the library only says that there was a connection error."""
    while inner := error.__cause__ or error.__context__:
        error = inner
    number = error.errno if isinstance(error, OSError) else None
    if number is not None and number in errno.errorcode:
        return os.strerror(number)
    return str(error) or type(error).__name__


def _masked(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "***")
    text = _KEY_LIKE.sub("***", _CREDENTIALS.sub("***@", text))
    return text if len(text) <= _MAX_REASON else text[:_MAX_REASON] + "…"
