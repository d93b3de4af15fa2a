"""Sources of secrets, and tools that give away what they were given."""

import base64
import json
from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import quote

from callboard import Decision, Principal, ToolError, ToolRegistry, secret, tool
from callboard.policy import CallView
from callboard.types import Redaction

KEY = 'sk-"0123\\456/789 é\n+&'
Token = Annotated[str, secret("TOKEN")]


def always(value: Any) -> Callable[[str, Principal | None], Any]:
    """A source that has one secret for every name."""

    def resolve(_name: str, _principal: Principal | None) -> Any:
        return value

    return resolve


def asking(_: CallView) -> Decision:
    return Decision("ask")


def keys(name: str, principal: Principal | None) -> str | None:
    """One for each name and user; nothing for those that are called MISSING."""
    if name == "MISSING":
        return None
    return KEY if principal is None else f"{name}-of-{principal.user}-0123456789"


def everything(tools: ToolRegistry) -> str:
    """All that a registry's log holds, as text."""
    return "\n".join(map(repr, tools.events))


@tool(mode="read")
def show(token: Token, how: str = "plain") -> Any:
    forms = {
        "plain": token,
        "inside": {"headers": [f"Bearer {token}"], token: 1},
        "json": json.dumps({"token": token}),
        "base64": base64.b64encode(f"user:{token}".encode()).decode(),
        "url": f"https://example.org/?key={quote(token)}&x=1",
        "number": len(token),
    }
    return forms[how]


@tool
def fail(token: Token, how: str) -> str:
    if how == "text":
        raise ValueError(f"401 for {token}")
    if how == "repr":
        raise KeyError(token)
    if how == "tool":
        raise ToolError(f"refused {token}", code=f"X-{token}", hint=f"not {token}")
    if how == "attributes":
        error = RuntimeError("refused")
        error.code, error.hint = f"Y-{token}", f"try {token}"  # type: ignore[attr-defined]
        raise error
    if how == "exit":
        raise SystemExit(f"bad {token}")
    if how == "chained":
        try:
            raise ValueError(token)
        except ValueError as inner:
            raise RuntimeError("outer") from inner
    if how == "cut":
        raise ValueError("z " * 996 + token)
    if how == "result":
        return {token: {1, 2}}  # type: ignore[return-value]
    raise AssertionError


def knowing(*secrets: str) -> Redaction:
    redaction = Redaction()
    for each in secrets:
        redaction.add(each)
    return redaction
