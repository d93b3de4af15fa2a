"""Marked parameters under string annotations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from callboard import Injected, ToolContext, secret, tool


@dataclass
class User:
    name: str


Token = Annotated[str, secret("STYLE_TOKEN")]


@tool(mode="read")
def plain(text: str, user: Injected[User], token: Token) -> list[Any]:
    """Do it."""
    return [text, user.name, len(token)]


@tool(mode="read")
async def waiting(
    text: str, token: str = secret("STYLE_TOKEN"), *, ctx: ToolContext, user: Injected[User]
) -> list[Any]:
    """Do it."""
    return [text, user.name, len(token)]


@tool(mode="read")
def stepping(text: str, user: Injected[User], token: Token) -> Iterator[list[Any]]:
    """Do it."""
    yield [text, user.name, len(token)]


@tool(mode="read")
async def streaming(text: str, user: Injected[User], token: Token) -> AsyncIterator[list[Any]]:
    """Do it."""
    yield [text, user.name, len(token)]


@tool(mode="read")
def by_position(text: str, token: Token, user: Injected[User], /) -> list[Any]:
    """Do it."""
    return [text, user.name, len(token)]


@tool(mode="read")
def stacked(
    text: Annotated[str, Field(description="what")],
    user: Annotated[Injected[User], "who"] | None,
    token: Annotated[Annotated[str, "a note"], "another", secret("STYLE_TOKEN")],
) -> list[Any]:
    """Do it."""
    return [text, user.name if user else None, len(token)]


class Service:
    @tool(mode="read")
    def method(self, text: str, user: Injected[User], token: Token) -> list[Any]:
        """Do it."""
        return [text, user.name, len(token)]


def bare(user: Injected[User], text: str, token: str, extra: int = 0) -> list[Any]:
    """Do it."""
    return [text, user.name, len(token)]
