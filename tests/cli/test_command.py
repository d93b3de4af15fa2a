"""The command itself: help, errors, exit codes, what it loads."""

import subprocess
import sys
from pathlib import Path

import pytest

from callboard import __version__
from callboard.cli import main


def run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "callboard", *arguments],
        capture_output=True,
        text=True,
        timeout=50,
        cwd=cwd,
        env={"PATH": "", **environment},
        check=False,
    )


def test_the_version_is_printed_without_loading_the_terminal(tmp_path: Path) -> None:
    done = run("--version", cwd=tmp_path, PYTHONPROFILEIMPORTTIME="1")
    assert done.stdout == f"callboard {__version__}\n"
    assert "cyclopts" not in done.stderr
    assert "pydantic" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["run"],
        ["calls"],
        ["runs"],
        ["runs", "list"],
        ["runs", "show"],
        ["tools"],
        ["tools", "list"],
        ["tools", "show"],
        ["tools", "call"],
        ["tools", "check"],
    ],
    ids=" ".join,
)
def test_every_help_has_examples(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--help"]) == 0
    said = capsys.readouterr().out
    assert "Examples:\n  callboard" in said
    assert "Usage: callboard " + " ".join(command) in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "Order", "2", "copies"], "the prompt is one text, and there is more: 2 copies"),
        (["run", "x", "--model", "opnai:x"], "no model is called 'opnai:x'; close to it: openai"),
        (["run", "x", "--model", "openai:x"], "openai:x needs a key"),
        (["runs", "lst"], "callboard runs does not take 'lst'"),
        (["rn"], 'Unknown command "rn". Did you mean "run"?'),
        (["run"], "PROMPT requires an argument"),
        (["run", ""], "the prompt is empty"),
        (["run", " \n"], "the prompt is empty"),
        (["run", "caf\udce9"], "the prompt is not text in this terminal's encoding (character 4)"),
        (["run", "x", "--nope"], "Unknown option: --nope"),
        (["calls", "--limit", "many"], 'unable to convert "many" into int'),
        (["run", "x", "--yes", "--answers", "a.toml"], "--yes and --answers can't be given together"),
        (["run", "x", "--answers", "a.toml"], "a.toml: there is no such file"),
        (["calls", "--config", "none.toml"], "none.toml: there is no such file"),
        (["tools", "list", "--config", "none.toml"], "none.toml: there is no such file"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert main(arguments) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("error: ")
    assert said in lines[0]
    assert len(lines) <= 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["rn"], "callboard --help shows how"),
        (["run"], "callboard run --help shows how"),
        (["run", "x", "--nope"], "callboard run --help shows how"),
        (["run", "Order", "copies"], 'put all of it in quotes: callboard run "..."'),
        (["runs", "show", "a", "b"], "callboard runs show --help shows how"),
    ],
)
def test_wrong_usage_leads_to_the_help_of_the_command_at_hand(
    arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"hint: {hint}"


def test_a_wrong_configuration_is_code_2_and_named(tmp_path: Path) -> None:
    (tmp_path / "callboard.toml").write_text("[policy]\nwrite = 'never'\n")
    done = run("calls", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: {tmp_path}/callboard.toml: policy.write: must be 'allow', 'ask' or 'deny', not 'never'\n"
        "hint: docs/configuration.md in Callboard's repository explains every key\n"
    )
    assert "Traceback" in run("calls", cwd=tmp_path, CALLBOARD_DEBUG="1").stderr


def test_a_damaged_store_is_code_1_and_named(tmp_path: Path) -> None:
    (tmp_path / ".callboard").mkdir()
    (tmp_path / ".callboard" / "callboard.db").write_bytes(b"no database" * 100)
    done = run("calls", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {tmp_path}/.callboard/callboard.db is not a Callboard store")
    assert "Traceback" not in done.stderr


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "callboard", "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as command:
        assert command.stdout is not None
        command.stdout.close()
        assert command.stderr is not None
        assert command.stderr.read() == b""
    assert command.returncode in {0, 1}


def test_ctrl_c_while_the_command_is_loaded_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / "cyclopts.py").write_text("raise KeyboardInterrupt\n")
    done = run("tools", "list", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_is_done_without(closed: str, tmp_path: Path) -> None:
    (tmp_path / "callboard.toml").write_text("[policy]\nwrite = 'ask'\n")
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -m callboard calls {closed}', sys.executable],
        capture_output=True,
        text=True,
        timeout=50,
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("call") is (">&-" not in closed.replace("2>&-", ""))


def test_an_output_that_is_full_is_said(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "callboard", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=50,
            cwd=tmp_path,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "error: the output can't be written: No space left on device\n"
