"""Asking the person at the terminal, and what answers where there is none."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from callboard.cli.keyboard import Keyboard
from callboard.types import ApprovalAnswer, ApprovalRequest, Approver

if TYPE_CHECKING:
    from rich.console import Console

NOBODY = "nobody could be asked: there is no terminal"  # the reason of a denial; `drawing.step` knows it
_PATIENCE = 5  # answers that are neither yes nor no


class TerminalApprover:
    """Shows exactly what would run, and waits for a person.

    Only ``a`` or ``allow`` allows. Enter, the end of the input, and an abort deny.

    Args:
        console: the terminal that the question is shown on.
        keyboard: where the answer is typed.
        paused: a context in which nothing else is drawn there.
    """

    def __init__(
        self,
        console: "Console",
        keyboard: Keyboard,
        paused: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._console = console
        self._keyboard = keyboard
        self._paused = paused
        self._one_at_a_time = asyncio.Lock()

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask; see `Approver.ask`."""
        async with self._one_at_a_time:
            await asyncio.sleep(0)  # what happened before the question is drawn before it
            with self._paused():
                try:
                    allowed, reason = await self._asked(request)
                except asyncio.CancelledError:
                    self._console.print("\n  not answered: the call was stopped", highlight=False)
                    raise
        return ApprovalAnswer(allowed, request.digest, reason, by="terminal")

    async def _asked(self, request: ApprovalRequest) -> tuple[bool, str]:
        from callboard.cli.question import question  # noqa: PLC0415 - rich is loaded where it draws

        console = self._console
        asked = question(request)
        console.print(asked.text, end="", soft_wrap=True, highlight=False)
        for _ in range(_PATIENCE):
            self._keyboard.forget()
            console.print("> ", end="", highlight=False)
            line = await self._keyboard.line()
            word, _, rest = (line or "").partition(" ")
            match word.lower(), rest.strip():
                case "" | "d" | "deny" | "n" | "no", reason:
                    return False, reason or "the person at the terminal said no"
                case "a" | "allow", "" if asked.whole:
                    return True, ""
                case "v", "" if not asked.whole:
                    asked = question(request, everything=True)
                    console.print(asked.text, end="", soft_wrap=True, highlight=False)
                case "a" | "allow", "":
                    console.print("  not all of it was shown: type v to see the rest first", highlight=False)
                case _:
                    console.print("  type a to allow it; d or Enter denies", highlight=False)
        return False, "the person at the terminal gave no clear answer"


class Fixed:
    """Gives everybody the same answer."""

    def __init__(self, *, allowed: bool, reason: str, by: str) -> None:
        self._allowed = allowed
        self._reason = reason
        self._by = by

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Answer at once."""
        return ApprovalAnswer(self._allowed, request.digest, self._reason, by=self._by)


def nobody() -> Approver:
    """What answers where nobody can be asked."""
    return Fixed(
        allowed=False,
        reason=NOBODY,
        by="callboard",
    )


def everything() -> Approver:
    """What answers under `--yes`."""
    return Fixed(allowed=True, reason="--yes", by="--yes")
