"""`callboard tools check`: what works, what does not and why, and what models would see."""

import json
import re
import uuid
from pathlib import Path
from typing import Any

import pytest

from callboard.cli import main

GOOD = '''
from __future__ import annotations
import neighbour
from typing import Annotated
from pydantic import Field
from callboard import tool, ToolRegistry

@tool(mode="read")
def add(a: int, b: Annotated[int, Field(description="the other")]) -> int:
    """Add two numbers.

    Args:
        a: one
    """
    return a + b

same = add
several = [add]
registry = ToolRegistry().register(add)

@tool(name="far/away")
def far(d: dict[str, int]) -> None:
    pass
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "neighbour.py").write_text("")
    path = tmp_path / "mytools.py"
    path.write_text(GOOD)
    return path


def checked(file: Path, capsys: pytest.CaptureFixture[str], *, code: int = 0) -> str:
    assert main(["tools", "check", str(file)]) == code
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def test_each_tool_is_shown_as_each_dialect_sees_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "check", str(file), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["file"] == str(file)
    assert report["errors"] == []
    add, far = report["tools"]
    assert (add["id"], add["kind"], add["description"], add["warnings"]) == (
        "add",
        "read",
        "Add two numbers.",
        [],
    )
    assert set(add["schemas"]) == {"openai", "anthropic", "gemini", "mcp"}
    assert add["place"].endswith("mytools.py:8")
    assert add["sample"] == {"a": 1, "b": 1}
    assert add["tokens"] == 70
    assert add["schemas"]["openai"]["function"]["strict"] is True
    assert add["schemas"]["anthropic"]["input_schema"]["required"] == ["a", "b"]
    assert far["warnings"] == [
        f"models see it as {far['schemas']['mcp']['name']!r}",
        "it has no description: a model would not know what it is for",
        "without a description: d",
        'it says no mode, so it is a write, and its calls may ask: mode="read" if it changes nothing',
        "admits any key: d",
        (
            "openai: its schema is beyond strict mode: 'd' admits any key; declare the keys, as a dataclass, "
            "model or TypedDict does [schema.not_strict]"
        ),
    ]


def test_the_report_for_people_ends_with_the_count(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = checked(file, capsys)
    assert re.match(
        r"add \(read, about [0-9]+ tokens\)  .*mytools.py:8\n  Add two numbers.\n  schema     {", said
    )
    assert "\n  openai     the same, strict\n  anthropic  the same\n  gemini     the same\n" in said
    assert """\n  sample     callboard tools call add '{"a": 1, "b": 1}'\n""" in said
    assert "  warning    without a description: d\n" in said
    assert said.endswith("2 tools, 0 errors\n")


def test_a_tool_that_cant_work_is_named_and_the_others_are_checked(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(GOOD + "\n@tool\ndef move(**more: int) -> None: ...\n")
    said = checked(file, capsys, code=1)
    assert "add (read" in said
    assert re.search(r"error: .*mytools.py:[0-9]+: move: tool 'move', parameter \*\*more:", said)
    assert said.endswith("2 tools, 1 error\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\nimport nothing_of_that_name", "mytools.py:2: ModuleNotFoundError: No module named"),
        ("def broken(:\n", "SyntaxError: invalid syntax"),
        ("raise SystemExit(3)", "mytools.py:1: SystemExit: 3"),
        (
            "x = 1",
            "mytools.py: no tools were found in the file\nhint: decorate its functions with @callboard.tool",
        ),
    ],
)
def test_a_file_that_gives_no_tools_says_why(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mytools.py"
    file.write_text(text)
    assert said in checked(file, capsys, code=1)


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.md").write_text("")
    (tmp_path / "stock.py").write_text("")
    hint = "hint: name a Python file, such as mytools.py, or what a module holds, such as mytools:registry\n"
    assert f"none.md: there is no such file\n{hint}" in checked(tmp_path / "none.md", capsys, code=1)
    assert f"stock.py'?\n{hint}" in checked(tmp_path / "stock", capsys, code=1)
    assert f"notes.md: it is no Python file\n{hint}" in checked(tmp_path / "notes.md", capsys, code=1)


def test_what_a_module_holds_is_checked_as_the_configuration_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = f"tools_{uuid.uuid4().hex}"
    (tmp_path / f"{module}.py").write_text(
        "from callboard import tool\n"
        "from callboard.registry import Toolset\n"
        "def plain() -> int:\n    'Give one.'\n    return 1\n"
        "toolset = Toolset('set', [tool(name='two')(plain)], prefix='set')\n"
    )
    monkeypatch.chdir(tmp_path)
    assert checked(Path(f"{module}:plain"), capsys).startswith("plain (write, about ")
    assert checked(Path(f"{module}:toolset"), capsys).startswith("set-two (write, about ")
    said = checked(Path(f"{module}:plian"), capsys, code=1)
    assert f"error: {module}:plian: {module!r} has no 'plian'; did you mean 'plain'?\nhint: " in said


def test_tools_of_lists_registries_and_of_the_seeds_shape_are_found(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "json.py"  # a name that must not take the place of the library's
    file.write_text(
        "from callboard import tool, ToolRegistry\n"
        "from callboard.registry import Toolset\n"
        "import json; json.dumps\n"
        "def made(name):\n    return tool(name=name, mode='read')(lambda: 1)\n"
        "registry = ToolRegistry().register(made('one'))\n"
        "toolset = Toolset('set', [made('two')], prefix='set')\n"
        "several = [made('three'), 3]\n"
        "four = {'id': 'four', 'kind': 'read', 'parse_input': lambda x: x, 'parse_output': lambda x: x,"
        " 'execute': lambda x: x}\n",
    )
    assert main(["tools", "check", str(file), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [tool["id"] for tool in report["tools"]] == ["one", "set-two", "three", "four"]


def test_what_a_file_prints_is_no_part_of_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mytools.py"
    file.write_text("from callboard import tool\nprint('hello')\n@tool\ndef f() -> None:\n    'Do.'\n")
    assert main(["tools", "check", str(file), "--json"]) == 0
    said = capsys.readouterr()
    assert [tool["id"] for tool in json.loads(said.out)["tools"]] == ["f"]
    assert said.err == "hello\n"


def test_a_name_that_the_loop_has_taken_is_warned_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mytools.py"
    file.write_text("from callboard import tool\n@tool\ndef finalize() -> None:\n    'Do.'\n")
    warning = "warning    a run can't have it: the loop has a tool of its own that is called 'finalize'"
    assert warning in checked(file, capsys)


def test_an_option_that_the_decorator_does_not_have_is_told_with_those_that_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "misspelt.py"
    path.write_text('from callboard import tool\n\n@tool(moode="read")\ndef f() -> None: ...\n')
    said = checked(path, capsys, code=1)
    assert "misspelt.py:3: UnknownOption: @tool has no option 'moode'; did you mean 'mode'?" in said
    assert "the options are: name, description, mode" in said


ODD = '''
from typing import Annotated, Any
from pydantic import BaseModel, Field
from callboard import tool, ToolRegistry

class Chain(BaseModel):
    next: "Chain | None"

@tool(mode="read")
def look(text: str, code: Annotated[str, Field(max_length=3, examples=["abc"])]) -> str:
    """Look."""
    return text

@tool()
def store(count: Annotated[int, Field(gt=2)]):
    """Store."""

@tool(mode="read", agents=["scout"])
def chain(chain: Chain) -> None:
    """Chain."""

def even(value: int) -> int:
    if value != 44:
        raise ValueError("not that")
    return value

@tool(mode="read", parse_input=even)
def narrow(value: int) -> None:
    """Narrow."""
'''


def warned(report: dict[str, Any], name: str) -> list[str]:
    (found,) = (tool for tool in report["tools"] if tool["id"] == name)
    warnings: list[str] = found["warnings"]
    return warnings


def test_what_would_surprise_an_author_is_warned_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "odd.py"
    file.write_text(ODD)
    assert main(["tools", "check", str(file), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert "texts of any length: text; Field(max_length=...) would say where it ends" in warned(
        report, "look"
    )
    assert any(
        line.startswith("openai: its schema is beyond strict mode: 'code'") for line in warned(report, "look")
    )
    assert "its result is undeclared: what it returns is not checked" in warned(report, "store")
    assert any(line.startswith("it says no mode, so it is a write") for line in warned(report, "store"))
    assert warned(report, "chain")[0] == (
        "left out for gemini: 'Chain' contains itself in a part that a call can't leave out "
        "[schema.recursive_unsupported]"
    )
    assert [tool["sample"] for tool in report["tools"]] == [
        {"text": "text", "code": "abc"},
        {"count": 3},
        {"chain": {"next": None}},
        None,
    ]


def test_only_what_differs_is_shown_for_each_dialect_and_all_of_it_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "odd.py"
    file.write_text(ODD)
    said = checked(file, capsys)
    assert (
        "  gemini     differs\n"
        "             - properties.count.exclusiveMinimum: 2\n"
        "             + properties.count.minimum: 3\n"
        "  mcp        the same\n"
    ) in said
    assert "  gemini     left out\n" in said
    assert "  sample     none was found: examples in its schema would help\n" in said
    assert main(["tools", "check", str(file), "--full"]) == 0
    whole = capsys.readouterr().out
    assert '  gemini     {"name": "store", "description": "Store.", "parametersJsonSchema": {' in whole


def test_a_tool_that_takes_much_of_each_request_is_warned_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "large.py"
    file.write_text(
        f"from callboard import tool\n@tool(mode='read')\ndef f() -> None:\n    '{'word ' * 1000}'\n"
    )
    assert (
        re.search(r"warning    it takes about [0-9]{3} tokens of each request", checked(file, capsys)) is None
    )
    many = ", ".join(f"a{number}: int" for number in range(200))
    file.write_text(f"from callboard import tool\n@tool(mode='read')\ndef f({many}) -> None:\n    'Do.'\n")
    assert re.search(r"warning    it takes about [0-9]{4} tokens of each request", checked(file, capsys))
