"""`callboard run`: one run, shown while it happens."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from cyclopts import CycloptsError, Parameter

from callboard.cli.exits import STOPPED, of_run
from callboard.cli.flags import AsJson, Asking, ConfigPath
from callboard.errors import ConfigError

if TYPE_CHECKING:
    from callboard.cli.surfaces import Surface
    from callboard.events import RunEvent
    from callboard.types import Approver

EXAMPLES = """\
Examples:
  callboard run "what is in this folder?"
  callboard run "summarise notes.md into summary.md" --workspace ~/notes
  callboard run "tidy up" --model openai:NAME --profile careful --json

A call that asks is shown exactly as it would run: a allows it, Enter denies it.
"""
_FRAME = 0.1
_SHOW_CURSOR = b"\x1b[?25h"
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STOPPING = "stopping: the {} is being ended; Ctrl-C again ends it at once"


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be run, and how it is shown."""

    prompt: str
    workspace: Path | None
    model: str | None
    profile: str
    config: Path | None
    asking: Asking
    as_json: bool


def run(
    prompt: Annotated[str, Parameter(help="What the agent is asked to do.")],
    /,
    *,
    workspace: Annotated[Path | None, Parameter(help="The folder that file tools work in.")] = None,
    model: Annotated[str | None, Parameter(help="local, provider:name, or a name of [models].")] = None,
    profile: Annotated[str, Parameter(help="The profile of the run.")] = "loop",
    json: AsJson = False,
    config: ConfigPath = None,
    asking: Asking | None = None,
) -> int:
    """Ask a model to do something with the tools, and watch it."""
    _check_prompt(prompt)
    return asyncio.run(execute(Order(prompt, workspace, model, profile, config, asking or Asking(), json)))


def _check_prompt(prompt: str) -> None:
    if not prompt.strip():
        raise CycloptsError(msg="the prompt is empty: say what the agent is to do")
    try:
        prompt.encode()
    except UnicodeEncodeError as error:
        raise CycloptsError(
            msg=f"the prompt is not text in this terminal's encoding (character {error.start + 1})"
        ) from None


async def execute(order: Order) -> int:
    """Run it and show it; returns the exit code.

    Raises:
        CallboardError: the run could not be started.
        OSError: the output could not be written; the run was stopped for it.
    """
    from callboard.cli.answers import check_answers  # noqa: PLC0415 - pydantic comes with them
    from callboard.cli.surfaces import Opening, surface  # noqa: PLC0415 - rich draws runs only

    shown = surface(as_json=order.as_json)
    approver = who_answers(order.asking, shown)
    from callboard.host import Host  # noqa: PLC0415 - the engine, once nothing can be wrong with the command

    async with Host(order.config) as host:
        check_answers(approver, list(host.registry.ids()))
        handle = host.start(
            order.prompt,
            profile=order.profile,
            model=order.model,
            workspace=order.workspace,
            approver=approver,
        )
        workspace = str(order.workspace or host.config.folder)
        opening = Opening(handle.id, handle.model.name, handle.model.reason, order.profile, workspace)
        # what a tool prints is no part of the JSON
        printed = contextlib.redirect_stdout(sys.stderr) if order.as_json else contextlib.nullcontext()
        with printed, interrupts(shown, lambda: handle.cancel("user_stopped"), "run"):
            try:
                shown.open(opening)
                result = await follow(handle, shown)
            except OSError:
                handle.cancel("output_closed")  # nobody sees what it does: `callboard run ... | head`
                raise
    return of_run(result.status, result.reason)


def who_answers(asking: Asking, shown: "Surface") -> "Approver":
    """Whoever answers when a call asks: the file, `--yes`, the person at the terminal, else nobody.

    Raises:
        ConfigError: the answer file can't be used, or both were given.
    """
    from callboard.cli.answers import Answers  # noqa: PLC0415 - pydantic and rich come with them
    from callboard.cli.approver import TerminalApprover, everything, nobody  # noqa: PLC0415 - same
    from callboard.cli.keyboard import Keyboard  # noqa: PLC0415 - same

    if asking.yes and asking.answers is not None:
        raise ConfigError("--yes and --answers can't be given together")
    if asking.answers is not None:
        return Answers(asking.answers, shown.tell)
    if asking.yes:
        return everything()
    keyboard = Keyboard()
    if not keyboard.usable:
        return nobody()
    if shown.console.is_terminal:
        return TerminalApprover(shown.console, keyboard, shown.paused)
    from callboard.cli.surfaces import Output  # noqa: PLC0415 - for questions beside a piped output

    beside = Output(stderr=True)
    return TerminalApprover(beside, keyboard) if beside.is_terminal else nobody()


class Followed(Protocol):
    """A run that was started, as the host hands it out."""

    def events(self) -> "AsyncIterator[RunEvent]":
        """Its events, to the last."""
        ...

    async def result(self) -> Any:
        """How it ended."""
        ...


async def follow(handle: Followed, shown: "Surface") -> Any:
    """Show a run until it ends; returns its result."""
    ticking = asyncio.create_task(_tick(shown))
    result = None
    try:
        async for event in handle.events():
            shown.show(event)
        result = await handle.result()
    finally:
        ticking.cancel()
        shown.close(result)
    return result


async def _tick(shown: "Surface") -> None:
    while True:
        await asyncio.sleep(_FRAME)
        shown.tick()


@contextlib.contextmanager
def interrupts(shown: "Surface", stop: Callable[[], object], what: str) -> Generator[None]:
    """The first Ctrl-C, SIGTERM or SIGHUP stops the run or call, which is recorded; the second kills it.

    Plain signal handlers, not the loop's own: the second one works while a tool holds up the loop. What this
    process was started to ignore (`nohup`) stays ignored.
    """
    loop = asyncio.get_running_loop()
    pressed = False

    def begin() -> None:
        stop()
        with contextlib.suppress(OSError):  # the terminal may be what went away
            shown.tell(_STOPPING.format(what))

    def interrupted(*_: object) -> None:
        nonlocal pressed
        if pressed:
            if shown.console.is_terminal:
                with contextlib.suppress(OSError):
                    os.write(shown.console.file.fileno(), _SHOW_CURSOR)
            os._exit(STOPPED)
        pressed = True
        loop.call_soon_threadsafe(begin)

    heard = [number for number in _STOPS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, interrupted) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
