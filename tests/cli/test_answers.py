"""Answer files: exactly these calls, and no others."""

import json
from pathlib import Path
from typing import Any

import pytest

from callboard.cli.answers import Answers
from callboard.errors import ConfigError
from callboard.types import ApprovalRequest

FILE = """
[[allow]]
tool = "write_file"
arguments = { path = "a.txt", content = "x\\ny", times = 1 }

[[allow]]
tool = "drop"
arguments = '{"table": null, "n": 1.5}'

[[allow]]
tool = "ping"
"""


def request(tool: str, arguments: Any) -> ApprovalRequest:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ApprovalRequest("c1", "k1", tool, "write", None, text, "main", None, (), "digest-1")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "answers.toml"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize(
    ("tool", "arguments", "allowed"),
    [
        ("write_file", {"content": "x\ny", "times": 1, "path": "a.txt"}, True),
        ("write_file", {"content": "x\ny", "times": True, "path": "a.txt"}, False),
        ("write_file", {"content": "x\ny", "times": 1.0, "path": "a.txt"}, False),
        ("write_file", {"content": "x\ny", "times": 1, "path": "a.txt", "more": 1}, False),
        ("write_file", {"content": "x", "times": 1, "path": "a.txt"}, False),
        ("edit_file", {"content": "x\ny", "times": 1, "path": "a.txt"}, False),
        ("drop", '{"n":1.5,"table":null}', True),
        ("drop", '{"n":1.5,"table":"null"}', False),
        ("ping", {}, True),
        ("ping", {"a": 1}, False),
    ],
)
async def test_only_the_listed_calls_are_allowed(
    file: Path, tool: str, arguments: Any, *, allowed: bool
) -> None:
    told: list[str] = []
    answer = await Answers(file, told.append).ask(request(tool, arguments))
    assert answer.allowed is allowed
    assert answer.digest == "digest-1"
    assert answer.by == str(file)
    assert ("allows exactly" if allowed else "does not list exactly") in answer.reason
    [line] = told
    assert line.startswith("allow   " if allowed else "deny    ")
    assert tool in line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = = 1", "is not valid TOML"),
        ("x = " + "[" * 5000, "its tables and arrays are nested too deeply"),
        ("x = " + "1" * 5000, "holds a value that can't be read"),
        ("[[allow]]\ntool = 'x'\narguments = '" + "[" * 200_000 + "'", r"allow\[0\]\.arguments: must be"),
        ("deny = 1", "deny: is not part of an answer file"),
        ("allow = 3", "allow: is not part of an answer file"),
        ("allow = [3]", r"allow\[0\]: must be a table"),
        ("[[allow]]\ntool = 3", r"allow\[0\]\.tool: must be the tool's name"),
        ("[[allow]]\ntol = 'x'", r"allow\[0\]\.tol: there is no such key \(tool, arguments\)"),
        ("[[allow]]\ntool = 'x'\narguments = '{'", r"allow\[0\]\.arguments: must be a table, or JSON text"),
        ("[[allow]]\ntool = 'x'\narguments = { at = 2026-01-01 }", r"allow\[0\]\.arguments: must be a table"),
    ],
)
def test_a_wrong_file_is_named_with_the_place(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "answers.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"answers\.toml: " + said):
        Answers(path, print)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        Answers(tmp_path / "none.toml", print)
