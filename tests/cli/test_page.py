"""docs/terminal.md has every command, option and exit code, and shows an answer file that works."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from cyclopts import App

from callboard.cli import app, exits
from callboard.cli.answers import Answers

PAGE = (Path(__file__).parents[2] / "docs" / "terminal.md").read_text(encoding="utf-8")


def commands(of: App, path: str = "callboard") -> Iterator[tuple[str, App]]:
    """(the words that are typed, the command) of everything that can be run."""
    for name in of:
        if name.startswith("-"):
            continue
        inner = of[name]
        if inner.default_command is not None:
            yield f"{path} {name}", inner
        yield from commands(inner, f"{path} {name}")


def documented_commands() -> set[str]:
    rows = re.findall(r"^\| `(callboard [^`]+)` \|", PAGE, re.MULTILINE)
    return {" ".join(word for word in row.split() if not word.isupper()) for row in rows}


def options(command: App) -> set[str]:
    found = {name for argument in command.assemble_argument_collection() for name in argument.names}
    return {name for name in found if name.startswith("--")}


def test_every_command_is_on_the_page_and_no_other() -> None:
    assert documented_commands() - {"callboard --version"} == {path for path, _ in commands(app)}


def test_every_option_is_on_the_page_with_the_commands_that_have_it() -> None:
    known = {path.removeprefix("callboard "): options(command) for path, command in commands(app)}
    rows = re.findall(r"^\| `(--[a-z-]+)[^`]*` \| (.+?) \|", PAGE, re.MULTILINE)
    documented: dict[str, set[str]] = {}
    for option, of in rows:
        if of.startswith("all"):
            names = set(known) - set(re.findall("`([^`]+)`", of))
        else:
            names = set(re.findall("`([^`]+)`", of))
        for name in names:
            documented.setdefault(name, set()).add(option)
    assert documented == known


def test_every_exit_code_is_on_the_page() -> None:
    codes = {value for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)} == codes


def test_the_answer_file_on_the_page_works(tmp_path: Path) -> None:
    [example] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert len(tomllib.loads(example)["allow"]) == 2
    (tmp_path / "answers.toml").write_text(example)
    assert Answers(tmp_path / "answers.toml", print) is not None
