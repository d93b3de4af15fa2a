"""The command with a scripted model in the place of a real one: a program, for tests at a pseudo-terminal."""

import contextlib
import fcntl
import sys
import termios
from collections.abc import Mapping, Sequence
from typing import Any

from callboard import host
from callboard.cli import main
from callboard.testing import ScriptedModel, call, calls, text

PROMPTS: Mapping[str, Sequence[Any]] = {
    "add": [call("add", a=1, b=2), text("It is 3.")],
    "umlaut": [text("sch\u00f6n \u2192 gut")],
    "write": [call("write_file", path="out.txt", content="two\nlines"), text("I tried.")],
    "write without prose": [call("write_file", path="out.txt", content="two\nlines"), text("")],
    "write thrice": [
        calls(*(call("write_file", path=f"{name}.txt", content=name) for name in "abc")),
        text("I tried."),
    ],
    "wait": [call("wait"), text("never said")],
    "add and wait": [call("add", a=1, b=2), call("wait"), text("never said")],
    "stubborn": [call("stubborn"), text("never said")],
    "for ever": [call("add", a=number, b=1) for number in range(40)],
}


class Scripted(host.Host):
    """A host whose runs are answered from the script of their prompt."""

    def start(self, prompt: str, **options: Any) -> host.RunHandle:
        prose = not prompt.endswith("without prose")
        options["model"] = ScriptedModel(PROMPTS[prompt], finishes_with_text=prose)
        return super().start(prompt, **options)


if __name__ == "__main__":
    with contextlib.suppress(OSError):  # the terminal of this process, so that Ctrl-C reaches it
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    host.__dict__["Host"] = Scripted
    sys.exit(main())
