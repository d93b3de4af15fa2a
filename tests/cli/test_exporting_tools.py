"""`callboard tools export`: JSON for a request, and what is missing on standard error."""

import json
from pathlib import Path
from typing import Any

import pytest
from google.genai.types import FunctionDeclaration

from callboard.cli import main

FILE = '''
from typing import Any
from pydantic import BaseModel
from callboard import tool

class Size(BaseModel):
    width: int

class Chain(BaseModel):
    next: "Chain | None"

@tool(mode="read")
def zoom(size: Size) -> None:
    """Zoom."""

@tool(mode="read")
def chain(chain: Chain) -> None:
    """Chain."""

@tool(mode="read", name="far/away", agents=["scout"])
def far(fields: dict[str, Any]) -> None:
    """Far."""
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mytools.py"
    path.write_text(FILE)
    return path


def exported(
    capsys: pytest.CaptureFixture[str], dialect: str, *words: str, code: int = 0
) -> tuple[Any, list[str]]:
    """What was printed, and the lines on standard error."""
    assert main(["tools", "export", "--dialect", dialect, *words]) == code
    said = capsys.readouterr()
    return json.loads(said.out), said.err.splitlines()


def test_what_is_printed_is_the_tools_of_a_request(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    openai, _ = exported(capsys, "openai", str(file))
    assert [each["function"]["name"] for each in openai][:1] == ["chain"]
    anthropic, _ = exported(capsys, "anthropic", str(file))
    assert [sorted(each) for each in anthropic] == [["description", "input_schema", "name"]] * 3
    mcp, _ = exported(capsys, "mcp", str(file))
    assert [sorted(each) for each in mcp] == [["annotations", "description", "inputSchema", "name"]] * 3
    (gemini,), _ = exported(capsys, "gemini", str(file), code=1)
    assert [FunctionDeclaration.model_validate(each).name for each in gemini["functionDeclarations"]] == [
        next(each["name"] for each in mcp if each["name"].startswith("far_away_")),
        "zoom",
    ]


def test_a_tool_that_is_left_out_is_told_and_the_others_are_there(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, said = exported(capsys, "gemini", str(file), code=1)
    reason = "'Chain' contains itself in a part that a call can't leave out [schema.recursive_unsupported]"
    assert said[0] == f"error: chain: left out: {reason}"
    assert len(said) == 2
    assert said[1].startswith("note: far/away: models see it as 'far_away_")
    _, notes = exported(capsys, "openai", str(file))
    assert notes[0].startswith("note: far/away: its schema is beyond strict mode: 'fields' admits any key")
    assert notes[0].endswith(" [schema.not_strict]")


@pytest.mark.covers("B38")
def test_the_bytes_are_the_same_in_whatever_order_the_file_has_them(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed() -> str:
        main(["tools", "export", "--dialect", "openai", str(file)])
        return capsys.readouterr().out

    first = printed()
    start, *tools = FILE.split("@tool")
    file.write_text(start + "".join(f"\n@tool{each}" for each in reversed(tools)))
    assert printed() == first


def test_tools_agents_references_and_strictness_can_be_chosen(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (zoom,), _ = exported(capsys, "anthropic", str(file), "--tools", "zoom", "--refs", "inline")
    assert zoom["input_schema"]["properties"]["size"]["properties"] == {"width": {"type": "integer"}}
    for agent, count in (("scout", 3), ("main", 2)):
        made, _ = exported(capsys, "mcp", str(file), "--agent", agent)
        assert len(made) == count
    strict, said = exported(capsys, "openai", str(file), "--strict", "only", code=1)
    assert [each["function"]["name"] for each in strict] == ["chain", "zoom"]
    assert "[schema.not_strict]" in said[0]
    never, _ = exported(capsys, "openai", str(file), "--strict", "never")
    assert not any(each["function"]["strict"] for each in never)


def test_a_tool_that_is_not_there_is_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, said = exported(capsys, "mcp", str(file), "--tools", "zoom,chian", code=1)
    assert [each["name"] for each in made] == ["zoom"]
    assert said == ["error: chian: there is no such tool", "hint: did you mean 'chain'?"]
    _, said = exported(capsys, "mcp", str(file), "--tools", "far/away", "--agent", "main", code=1)
    assert said == ["error: far/away: this agent may not see it"]


def test_all_of_it_is_json_for_programs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, _ = exported(capsys, "gemini", str(file), "--json", code=1)
    assert set(made) == {"tools", "names", "left_out", "notes", "errors"}
    assert made["left_out"][0]["code"] == "schema.recursive_unsupported"
    assert made["names"]["zoom"] == "zoom"


def test_without_a_file_the_tools_of_the_configuration_are_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "callboard.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    made, _ = exported(capsys, "anthropic", "--tools", "read_file")
    assert [each["name"] for each in made] == ["read_file"]


def test_a_file_that_cannot_be_loaded_exports_nothing_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "broken.py"
    file.write_text("import nothing_of_that_name\n")
    made, said = exported(capsys, "openai", str(file), code=1)
    assert made == []
    assert "broken.py:1: ModuleNotFoundError" in said[0]


def test_a_dialect_that_is_not_there_is_wrong_usage(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "export", str(file), "--dialect", "latin"]) == 2
    assert "latin" in capsys.readouterr().err
