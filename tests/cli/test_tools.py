"""`callboard tools list|show|call`: the tools of a folder, for people and for programs."""

import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from cyclopts import CycloptsError

from callboard.cli import main
from callboard.cli.tools import arguments_of
from callboard.store import open_store

TOOLS = '''
from callboard import tool
from callboard.errors import ToolError

@tool(mode="read")
def add(a: int, b: int = 2) -> int:
    """Add two numbers.

    The second is 2 where it is not given.

    Args:
        a: one
        b: another
    """
    return a + b

@tool(simulate=lambda to: f"would mail {to}")
def mail(to: str) -> str:
    """Send a mail."""
    return f"mailed\\x1b[2J {to}"

@tool(mode="read")
def loud() -> int:
    """Say it, too."""
    print("it is 3")
    return 3

@tool
def save(text: str) -> str:
    """Save a text."""
    return text

@tool(mode="read")
def fail() -> None:
    """Never works."""
    raise ToolError("it is broken", code="my.code", hint="repair it")
'''


NAMES = ("add", "mail", "fail", "loud", "save")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    module = f"tools_{uuid.uuid4().hex}"
    (tmp_path / f"{module}.py").write_text(TOOLS)
    (tmp_path / "callboard.toml").write_text(
        "tools = [" + ", ".join(f'"{module}:{name}"' for name in NAMES) + "]\n",
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(arguments) == code
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def test_tools_are_listed_with_mode_and_purpose(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "tools", "list").splitlines()
    assert lines[:4] == [
        "tool          mode   what it does",
        "add           read   Add two numbers.",
        "mail          write  Send a mail.",
        "fail          read   Never works.",
    ]
    assert [line.split()[0] for line in lines[4:]] == [
        "loud",
        "save",
        "list_files",
        "read_file",
        "search_files",
        "write_file",
        "edit_file",
        "read_result",
    ]
    assert not (here / ".callboard").exists()


def test_a_list_loads_neither_the_models_nor_the_store(here: Path) -> None:
    code = (
        "import sys; from callboard.cli import main; code = main(['tools', 'list']); "
        "print(code, [name for name in ('pydantic_ai', 'sqlalchemy', 'rich.console') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, cwd=here, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 []"


def test_tools_as_json_have_their_schemas(capsys: pytest.CaptureFixture[str]) -> None:
    add = json.loads(printed(capsys, "tools", "list", "--json"))[0]
    assert add == json.loads(printed(capsys, "tools", "show", "add", "--json"))
    assert set(add) == {"id", "kind", "description", "parameters", "result", "calls", "hidden", "fingerprint"}
    assert add["parameters"]["required"] == ["a"]


def test_a_tool_is_shown_with_what_a_model_sees(capsys: pytest.CaptureFixture[str]) -> None:
    said = printed(capsys, "tools", "show", "add")
    assert said.startswith("add (read)\n\nAdd two numbers.\n\nThe second is 2")
    assert '\nparameters:\n{\n  "additionalProperties": false' in said
    assert "\nfingerprint: " in said


def test_a_tool_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("show", "call"):
        assert main(["tools", command, "nope"]) == 1
        assert capsys.readouterr().err.startswith("error: there is no tool 'nope'")


@pytest.mark.parametrize("command", ["show", "call"])
@pytest.mark.parametrize(("name", "meant"), [("ad", "did you mean 'add'? "), ("nope", "")])
def test_the_way_to_a_tool_that_is_there_is_said(
    command: str, name: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tools", command, name]) == 1
    hint = capsys.readouterr().err.splitlines()[1]
    assert hint == f"hint: {meant}callboard tools list shows the tools"


def test_an_argument_that_is_given_twice_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "call", "add", "a=1", "a=2"]) == 2
    assert capsys.readouterr().err.startswith("error: a is given twice\n")


def test_an_answer_for_a_tool_that_is_not_there_is_an_error(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "answers.toml").write_text('[[allow]]\ntool = "mial"\narguments = { to = "bob" }\n')
    assert main(["tools", "call", "mail", "to=bob", "--answers", "answers.toml"]) == 2
    assert capsys.readouterr().err == (
        "error: answers.toml: allow[0].tool: there is no tool 'mial'; did you mean 'mail'?\n"
        "hint: callboard tools list shows the tools\n"
    )


def test_a_call_passes_the_gate_and_is_recorded(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "tools", "call", "add", "a=1") == "3\n"
    made = json.loads(printed(capsys, "tools", "call", "add", '{"a": 1, "b": 5}', "--json"))
    assert (made["ok"], made["value"], made["text"]) == (True, 6, "6")
    assert made["record"]["status"] == "ok"
    with open_store(here / ".callboard") as store:
        assert [call["result"] for call in store.calls.list()] == ["6", "3"]


def test_wrong_arguments_come_back_as_the_model_would_see_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "call", "add", "a=x"]) == 1
    assert capsys.readouterr().err.splitlines()[0].endswith("[args.invalid]")
    made = json.loads(printed(capsys, "tools", "call", "add", "--json", code=1))
    assert (made["ok"], made["code"], made["record"]["status"]) == (False, "args.missing", "failed")


def test_what_a_tool_says_of_its_failure_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "call", "fail"]) == 1
    assert capsys.readouterr().err == "error: it is broken [my.code]\nhint: repair it\n"


def test_a_write_is_denied_where_nobody_can_be_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "call", "mail", "to=ann"]) == 1
    assert capsys.readouterr().err == (
        "error: nobody could be asked: there is no terminal [approval.denied]\n"
        "hint: --yes allows every call that asks, --answers FILE those that it lists\n"
    )


def test_a_denial_gives_people_no_advice_that_is_meant_for_models(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "answers.toml").write_text("")
    assert main(["tools", "call", "mail", "to=ann", "--answers", "answers.toml"]) == 1
    assert capsys.readouterr().err.splitlines()[1:] == [
        "error: answers.toml does not list exactly this call [approval.denied]"
    ]


def test_what_a_tool_prints_is_no_part_of_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "call", "loud", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["value"] == 3
    assert said.err == "it is 3\n"


def test_a_write_without_a_preview_says_what_its_simulation_is_worth(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = printed(capsys, "tools", "call", "save", "text=x", "--simulate").splitlines()
    assert said[1:] == [
        "simulated: it was not run. It has no preview, so what it would have done is not known"
    ]


def test_a_write_runs_with_yes_or_an_answer_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "tools", "call", "mail", "to=ann", "--yes") == "mailed\\x1b[2J ann\n"
    (here / "answers.toml").write_text('[[allow]]\ntool = "mail"\narguments = { to = "bob" }\n')
    assert main(["tools", "call", "mail", "to=bob", "--answers", "answers.toml"]) == 0
    said = capsys.readouterr()
    assert said.out == "mailed\\x1b[2J bob\n"
    assert said.err.startswith('allow   mail {"to": "bob"} (answered by answers.toml)')


def test_a_simulated_write_changes_nothing_and_needs_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "tools", "call", "mail", "to=ann", "--simulate") == "would mail ann\n"


def test_values_are_text_where_the_schema_takes_text() -> None:
    schema = {
        "properties": {
            "text": {"type": "string"},
            "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "both": {"type": ["string", "integer"]},
            "count": {"type": "integer"},
            "list": {"type": "array"},
            "flag": {"type": "boolean"},
            "kind": {"$ref": "#/$defs/Kind"},
        },
    }
    words = [
        "text=1",
        "maybe=null",
        "both=2",
        "count=3",
        'list=["a=b"]',
        "flag=true",
        "kind=red",
        "new=4",
        "e=",
    ]
    assert json.loads(arguments_of(words, schema)) == {
        "text": "1",
        "maybe": "null",
        "both": "2",
        "count": 3,
        "list": ["a=b"],
        "flag": True,
        "kind": "red",
        "new": 4,
        "e": "",
    }


def test_one_object_is_taken_as_it_was_typed() -> None:
    assert arguments_of(['{"a":1,"a":2}'], {}) == '{"a":1,"a":2}'
    assert arguments_of([], {}) == "{}"


@pytest.mark.parametrize("words", [["a"], ["a=1", '{"b": 2}'], ["=x"]])
def test_other_words_are_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CycloptsError, match="is neither one JSON object nor name=value"):
        arguments_of(words, {})
    assert main(["tools", "call", "add", *words]) == 2
