"""Where a run is shown: drawn live on a terminal, as plain lines, or as JSON lines."""

import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import IO, Any, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from callboard.cli import drawing
from callboard.cli.output import to_line
from callboard.cli.visible import visible
from callboard.events import RunEvent
from callboard.views import RunState, Said, apply

_FRAME = 0.1  # seconds between two drawings
_TALK = 8  # rows of streamed text that are drawn
_ROW = 400  # characters that are enough for one of them
_NARROW = 20  # columns that it has at least


@dataclass(frozen=True, slots=True)
class Opening:
    """What is said before a run starts."""

    id: str
    model: str
    model_reason: str
    profile: str
    workspace: str


class Output(Console):
    """A console whose closed pipe is an error like any other; rich's own would end the process there."""

    def on_broken_pipe(self) -> None:
        """Called by rich while it handles a BrokenPipeError."""
        raise  # noqa: PLE0704 - there is always one


class Surface(Protocol):
    """What shows a run."""

    console: Console

    def open(self, opening: Opening) -> None:
        """Say what is about to run, and with which model and why."""
        ...

    def show(self, event: RunEvent) -> None:
        """Take one event in."""
        ...

    def tell(self, line: str) -> None:
        """Show one line of the terminal's own."""
        ...

    def paused(self) -> "Any":
        """A context in which nothing is drawn."""
        ...

    def tick(self) -> None:
        """Draw anew what moves with time."""
        ...

    def close(self, result: Any) -> None:
        """Say how it ended; `result` is the run's, None where it never started."""
        ...


class Lines:
    """Plain lines: what is finished, once, in order. Nothing moves; made for pipes and logs."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._state = RunState("")
        self._printed = 0
        self._held = False  # a question is open

    def open(self, opening: Opening) -> None:
        """See `Surface.open`."""
        self._state = RunState(opening.id)
        self.tell(f"model: {opening.model} ({opening.model_reason})")
        self.tell(f"run: {opening.id}, profile {opening.profile}, workspace {opening.workspace}")

    def show(self, event: RunEvent) -> None:
        """See `Surface.show`."""
        apply(self._state, event)
        self._print_finished()

    def tell(self, line: str) -> None:
        """See `Surface.tell`."""
        self._print(Text(visible(line, "")))

    @contextmanager
    def paused(self) -> Generator[None]:
        """See `Surface.paused`."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
            self._print_finished()

    def tick(self) -> None:
        """Nothing moves here."""

    def close(self, result: Any) -> None:
        """See `Surface.close`."""
        if result is None:
            return
        said = next((entry.text for entry in reversed(self._state.history) if isinstance(entry, Said)), None)
        if result.text and result.text != said:
            self._print(Text("\n".join(("", *drawing.said(str(result.text))))))
        self._print(drawing.footer(self._state.footer))

    def _print_finished(self) -> None:
        if self._held:
            return
        new = self._state.history[self._printed :]
        self._printed += len(new)
        for entry in new:
            self._print(drawing.entry(entry))

    def _print(self, text: Text) -> None:
        self.console.print(text, soft_wrap=True, highlight=False)


class Drawn(Lines):
    """A terminal: what is finished scrolls up; open calls and streamed text are drawn anew below it."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._live: Live | None = None
        self._drawn_at = 0.0
        self._spinner = Spinner("line")

    def open(self, opening: Opening) -> None:
        """See `Surface.open`."""
        super().open(opening)
        self._start()

    def show(self, event: RunEvent) -> None:
        """See `Surface.show`."""
        super().show(event)
        self.tick()

    @contextmanager
    def paused(self) -> Generator[None]:
        """See `Surface.paused`."""
        self._stop()
        try:
            with super().paused():
                yield
        finally:
            self._start()

    def tick(self) -> None:
        """Draw what is open, at most ten times a second."""
        if time.monotonic() - self._drawn_at >= _FRAME:
            self.redraw()

    def redraw(self) -> None:
        """Draw what is open, unless a question is."""
        if self._live is not None:
            self._drawn_at = time.monotonic()
            self._live.update(self._open(), refresh=True)

    def close(self, result: Any) -> None:
        """See `Surface.close`."""
        self._stop()
        super().close(result)

    def _print_finished(self) -> None:
        if len(self._state.history) > self._printed:
            self.redraw()  # what is printed above must not be drawn below it once more
        super()._print_finished()

    def _start(self) -> None:
        # not redirected: what a tool prints goes where it printed it, and the next frame is drawn below
        self._live = Live(self._open(), console=self.console, auto_refresh=False, transient=True)
        self._live.start()

    def _stop(self) -> None:
        if self._live is not None:
            self._live.update(Text(""), refresh=True)
            self._live.stop()
            self._live = None

    def _open(self) -> Group:
        now, state = time.time(), self._state
        parts: list[Any] = [drawing.unfinished(card, now) for card in state.open[: self.console.height // 2]]
        for (_, agent), text in state.speaking.items():
            parts += [Text(row) for row in self._newest(text, agent)]
        if state.thinking:
            waiting = ", ".join(
                f"{visible(agent, '')} {drawing.seconds(now - since)}"
                for (_, agent), since in state.thinking.items()
            )
            self._spinner.update(text=Text(f"thinking: {waiting}", "dim"))
            parts.append(self._spinner)
        return Group(*parts)

    def _newest(self, text: str, agent: str) -> Iterator[str]:
        """The last rows of a text that is being said, none wider than the screen."""
        before = len(next(drawing.said("", agent))) + 1
        end = Text(visible(text[-_TALK * _ROW :], drawing.KEPT))
        rows = end.wrap(self.console, max(_NARROW, self.console.width - before), overflow="fold")
        return drawing.said("\n".join(row.plain for row in rows[-_TALK:]), agent)


class JsonLines:
    """One JSON object a line on standard output, for programs; a person is asked on standard error."""

    def __init__(self, console: Console, out: IO[str] | None = None) -> None:
        self.console = console
        self._out = out or sys.stdout

    def open(self, opening: Opening) -> None:
        """See `Surface.open`."""
        self._write({"type": "run.opened", **asdict(opening)})

    def show(self, event: RunEvent) -> None:
        """Write the event, unless it is transient."""
        if event.n:
            self._write(event.to_json())

    def tell(self, line: str) -> None:
        """Say it on standard error."""
        self.console.print(Text(visible(line, "")), soft_wrap=True, highlight=False)

    @contextmanager
    def paused(self) -> Generator[None]:
        """See `Surface.paused`."""
        yield

    def tick(self) -> None:
        """Nothing moves here."""

    def close(self, result: Any) -> None:
        """Write the result."""
        if result is None:
            return
        names = ("id", "status", "reason", "text", "rounds", "usage", "message")
        self._write({"type": "run.result", **{name: getattr(result, name) for name in names}})

    def _write(self, value: dict[str, Any]) -> None:
        self._out.write(to_line(value) + "\n")
        self._out.flush()


def surface(*, as_json: bool) -> Surface:
    """The surface that fits where the output goes."""
    if as_json:
        return JsonLines(Output(stderr=True))
    console = Output()
    return Drawn(console) if console.is_terminal and not console.is_dumb_terminal else Lines(console)
