"""`callboard explain`: the answer, the way, the exit code; and that nothing happens."""

import json
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from callboard.cli import main

TOOLS = '''
from pathlib import Path
from callboard import tool

@tool(mode="read")
def add(a: int, b: int) -> int:
    """Add."""
    Path("ran").touch()
    return a + b

@tool
def note(text: str) -> str:
    """Note."""
    Path("ran").touch()
    return text

@tool(mode="read", agents=["scout"])
def spy() -> str:
    """Spy."""
    return ""
'''
CONFIG = """
tools = ["mytools_explained:add", "mytools_explained:note", "mytools_explained:spy"]

[profiles.free]
writes = "allow"
tools = ["note"]
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "mytools_explained", raising=False)
    (tmp_path / "mytools_explained.py").write_text(TOOLS)
    (tmp_path / "callboard.toml").write_text(CONFIG)
    return tmp_path


def explained(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["explain", *arguments])
    said = capsys.readouterr()
    assert said.err == ""
    return code, said.out


def test_a_write_of_the_loop_asks(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = explained(capsys, "note", "text=hello")
    assert code == 4
    assert said.replace("; nobody where there is none", "") == snapshot("""\
ask: main and note: a person is asked
  find       passes  a write, registered by host; every tool is granted; every agent may see it
  arguments  passes  they fit
  policy     passes  ask: [policy]: write = ask
  approval   note    would be asked: the person at the terminal, --answers FILE or --yes of the run
  run        note    it runs; a simulation answers ok without running it, marked unvalidated
arguments: {"text": "hello"}
""")
    assert not (here / "ran").exists()
    assert not (here / ".callboard").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "verdict", "error"),
    [
        (["add", "a=1", "b=2"], 0, "allow", None),
        (["add", "a=1", "b=x"], 1, "fail", "args.invalid"),
        (["add"], 0, "allow", None),
        (["note", "text=x", "--profile", "free"], 0, "allow", None),
        (["note", "text=x", "--simulate"], 0, "allow", None),
        (["add", "a=1", "b=2", "--profile", "free"], 1, "deny", "tool.unavailable"),
        (["spy"], 1, "deny", "tool.unavailable"),
        (["spy", "--agent", "main/scout"], 0, "allow", None),
        (["finalize"], 0, "allow", None),
        (["nope"], 1, "deny", "tool.unavailable"),
    ],
)
def test_the_exit_code_tells_the_answer(
    arguments: list[str],
    code: int,
    verdict: str,
    error: str | None,
    here: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    done, said = explained(capsys, *arguments, "--json")
    told: dict[str, Any] = json.loads(said)
    assert (done, told["verdict"], told["code"]) == (code, verdict, error)
    assert told["steps"][0]["step"] == "find"
    assert not (here / "ran").exists()


def test_the_page_names_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    _, said = explained(capsys, "add", "--json")
    page = (Path(__file__).parents[2] / "docs" / "terminal.md").read_text(encoding="utf-8")
    [row] = [line for line in page.splitlines() if line.startswith("| `explain` |")]
    assert all(f"`{key}`" in row for key in json.loads(said))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["add", "--profile", "nope"], "there is no profile 'nope'"),
        (["add", "--tenant", "acme"], "--tenant needs --user"),
        (["add", "a"], "'a' is neither one JSON object nor name=value"),
    ],
)
def test_a_question_that_is_none_is_wrong_usage(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", *arguments]) == 2
    assert said in capsys.readouterr().err
