"""Asking a person at a real terminal (a pseudo-terminal): only an explicit word allows."""

import asyncio
import io
import os
import pty
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

import pytest
from rich.console import Console

from callboard.cli.approver import TerminalApprover, everything, nobody
from callboard.cli.keyboard import Keyboard
from callboard.types import ApprovalAnswer, ApprovalRequest

REQUEST = ApprovalRequest(
    "c1",
    "k1",
    "write_file",
    "write",
    "Write a file.",
    '{"path":"a"}',
    "main",
    None,
    ("write = ask",),
    "digest-1",
)


class Paper(io.StringIO):
    """A text that counts the prompts which are written into it."""

    def __init__(self) -> None:
        super().__init__()
        self.prompts: asyncio.Queue[None] = asyncio.Queue()

    def write(self, text: str, /) -> int:
        if text.startswith("> "):
            self.prompts.put_nowait(None)
        return super().write(text)


class Shown:
    """A stage that writes into a text, and notes whether it was paused."""

    def __init__(self) -> None:
        self.out = Paper()
        self.console = Console(file=self.out, width=100)
        self.pauses: list[str] = []

    @contextmanager
    def paused(self) -> Generator[None]:
        self.pauses.append("paused")
        try:
            yield
        finally:
            self.pauses.append("drawing")


class Person:
    """Sits at the other end of the pseudo-terminal and answers each prompt."""

    def __init__(self, shown: Shown, master: int) -> None:
        self._shown = shown
        self._master = master

    async def types(self, *answers: str) -> None:
        for answer in answers:
            await asyncio.wait_for(self._shown.out.prompts.get(), timeout=10)
            os.write(self._master, answer.encode())


@asynccontextmanager
async def terminal() -> AsyncGenerator[tuple[Shown, Person, TerminalApprover, int]]:
    master, slave = pty.openpty()
    shown = Shown()
    with os.fdopen(slave, "r", closefd=False) as stream:
        yield (
            shown,
            Person(shown, master),
            TerminalApprover(shown.console, Keyboard(stream), shown.paused),
            master,
        )
    os.close(slave)
    os.close(master)


async def answered(*typed: str, request: ApprovalRequest = REQUEST) -> tuple[ApprovalAnswer, str]:
    async with terminal() as (shown, person, approver, _), asyncio.timeout(20):
        asking = asyncio.create_task(approver.ask(request))
        await person.types(*typed)
        return await asking, shown.out.getvalue()


@pytest.mark.parametrize("typed", ["a\n", "allow\n", "A\n", "  allow  \n"])
async def test_an_explicit_word_allows(typed: str) -> None:
    answer, _ = await answered(typed)
    assert answer == ApprovalAnswer(True, "digest-1", "", by="terminal")


@pytest.mark.parametrize("typed", ["\n", "d\n", "deny\n", "n\n", "   \n"])
async def test_enter_and_no_deny(typed: str) -> None:
    answer, _ = await answered(typed)
    assert (answer.allowed, answer.reason) == (False, "the person at the terminal said no")


async def test_a_denial_may_carry_its_reason() -> None:
    answer, _ = await answered("d use the draft folder\n")
    assert (answer.allowed, answer.reason) == (False, "use the draft folder")


async def test_any_other_word_is_asked_about_again() -> None:
    answer, text = await answered("y\n", "yes\n", "a\n")
    assert answer.allowed
    assert text.count("type a to allow it; d or Enter denies") == 2


async def test_five_unclear_answers_deny() -> None:
    answer, _ = await answered("y\n", "ok\n", "a b c\nx\n", "always\n", "1\n")
    assert (answer.allowed, answer.reason) == (False, "the person at the terminal gave no clear answer")


async def test_the_end_of_the_input_denies() -> None:
    answer, _ = await answered("\x04")
    assert not answer.allowed


async def test_a_line_that_was_never_ended_is_no_answer() -> None:
    async with terminal() as (shown, _, approver, master), asyncio.timeout(20):
        asking = asyncio.create_task(approver.ask(REQUEST))
        await shown.out.prompts.get()
        os.write(master, b"a\x04\x04")
        assert not (await asking).allowed


async def test_a_closed_terminal_denies() -> None:
    master, slave = pty.openpty()
    shown = Shown()
    with os.fdopen(slave, "r") as stream:
        approver = TerminalApprover(shown.console, Keyboard(stream), shown.paused)
        asking = asyncio.create_task(approver.ask(REQUEST))
        async with asyncio.timeout(10):
            await shown.out.prompts.get()
            os.close(master)
            answer = await asking
    assert not answer.allowed


async def test_what_was_typed_before_the_question_does_not_answer_it() -> None:
    async with terminal() as (_, person, approver, master), asyncio.timeout(20):
        os.write(master, b"a\na")
        asking = asyncio.create_task(approver.ask(REQUEST))
        await person.types("\n")
        assert not (await asking).allowed


async def test_long_arguments_are_allowed_only_after_they_were_shown_whole() -> None:
    long = REQUEST._replace(arguments='{"path":"' + "x" * 9000 + 'y"}')
    answer, text = await answered("a\n", "v\n", "a\n", request=long)
    assert answer.allowed
    assert "not all of it was shown: type v" in text
    assert long.arguments in text.replace("\n", "")


async def test_a_question_that_is_stopped_gives_the_terminal_back() -> None:
    async with terminal() as (shown, person, approver, _), asyncio.timeout(20):
        asking = asyncio.create_task(approver.ask(REQUEST))
        await shown.out.prompts.get()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert shown.pauses == ["paused", "drawing"]
        assert "not answered: the call was stopped" in shown.out.getvalue()
        again = asyncio.create_task(approver.ask(REQUEST))
        await person.types("a\n")
        assert (await again).allowed


async def test_two_questions_are_asked_one_after_the_other() -> None:
    async with terminal() as (shown, person, approver, _), asyncio.timeout(20):
        first = asyncio.create_task(approver.ask(REQUEST))
        second = asyncio.create_task(approver.ask(REQUEST._replace(digest="digest-2")))
        await person.types("a\n", "d\n")
        assert [(await first).allowed, (await second).allowed] == [True, False]
        assert shown.pauses == ["paused", "drawing"] * 2


async def test_without_a_terminal_everything_is_denied_with_the_reason() -> None:
    answer = await nobody().ask(REQUEST)
    assert not answer.allowed
    assert answer.reason == "nobody could be asked: there is no terminal"
    assert not Keyboard(io.StringIO()).usable


async def test_yes_allows_and_says_who_did() -> None:
    assert await everything().ask(REQUEST) == ApprovalAnswer(True, "digest-1", "--yes", by="--yes")
