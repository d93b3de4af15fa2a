"""The comparison with other frameworks: what can be shown of it without installing any of them."""

import contextlib
import importlib.util
import json
import os
import select
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"
SIZES = {
    "calls": ["--rounds", "1", "--at-once", "10"],
    "probes": [],
    "register": ["--number", "20"],
}


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"peers_{name}", PEERS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ran(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=PEERS, capture_output=True, text=True, timeout=50, check=False)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the measuring programs find of Callboard, with the fewest rounds there are."""
    folder = tmp_path_factory.mktemp("peers")
    parts: dict[str, Any] = {}
    for what, sizes in SIZES.items():
        done = ran("measure.py", what, "for_callboard", "--out", folder / what, *sizes)
        assert done.returncode == 0, done.stderr
        parts[what] = json.loads((folder / what).read_text())
    assert ran("start.py", "for_callboard", folder / "start").returncode == 0
    parts["start"] = json.loads((folder / "start").read_text())
    return parts


def test_every_peer_has_a_pinned_version_and_an_adapter() -> None:
    pinned = tomllib.loads((PEERS / "versions.toml").read_text())["peers"]
    adapters = {path.stem for path in (PEERS / "adapters").glob("for_*.py")}
    assert adapters == {"for_callboard", *(f"for_{name.replace('-', '_')}" for name in pinned)}
    assert all(version[0].isdigit() for version in pinned.values())


def test_the_page_shows_the_versions_that_are_pinned() -> None:
    page = (PEERS.parents[1] / "docs" / "peers.md").read_text()
    pinned = tomllib.loads((PEERS / "versions.toml").read_text())["peers"]
    assert [name for name, version in pinned.items() if f"\n{name} {version}: " not in page] == []


def test_all_rows_are_measured_and_each_call_has_a_floor(found: dict[str, Any]) -> None:
    table = loaded("table")
    calls = found["calls"]
    assert calls["failed"] == {}
    for row in (*table.CALLS, *table.REFUSED):
        assert calls["rows"][row]["ratio"] > 0
        assert calls["rows"][row]["us"] > 0
    assert calls["at_once"]["number"] == 10
    assert found["register"]["number"] == 20
    assert 0 < found["start"]["import_modules"] <= found["start"]["first_call_modules"]


def test_the_probes_tell_what_the_gate_does(found: dict[str, Any]) -> None:
    assert found["probes"] == {
        "text for int": "made int",
        "extra key": "refused",
        "key twice": "refused",
        "bound": "refused",
        "wrong result": "refused",
        "error says": "yes",
        "cancel": "yes",
    }
    assert list(found["probes"]) == list(loaded("table").QUESTIONS)


def test_a_peer_that_is_not_there_is_a_row_of_dashes_with_the_reason(found: dict[str, Any]) -> None:
    ours: dict[str, Any] = {"version": "1", "failed": {}, "calls": found["calls"], "start": found["start"]}
    ours |= {"probes": found["probes"], "few": found["register"], "many": found["register"]}
    gone = {"version": "2", "reason": "not installed: no such version"}
    text = loaded("table").printed({"callboard": ours, "mcp": gone})
    rows = [line for line in text.splitlines() if line.startswith("mcp ")]
    assert len(rows) == 4
    assert all(set(row.removesuffix(gone["reason"]).split()) == {"mcp", "-"} for row in rows)


def test_a_part_that_failed_is_dashes_and_a_line_that_says_why() -> None:
    text = loaded("table").printed({"mcp": {"version": "2", "failed": {"calls": "ended after 300 s"}}})
    assert "mcp, calls: ended after 300 s" in text


def test_an_unknown_peer_is_refused_with_the_names_there_are() -> None:
    done = ran("run.py", "--only", "mpc")
    assert done.returncode == 2
    assert "there is no mpc; there are callboard, langchain-core" in done.stderr


def test_a_process_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    processes = loaded("processes")
    started = tmp_path / "started"
    program = (
        "import pathlib, subprocess\n"
        "one = subprocess.Popen(['cat'], stdin=subprocess.PIPE)\n"
        f"pathlib.Path({str(started)!r}).write_text(str(one.pid))\n"
        "one.wait()\n"
    )
    with pytest.raises(processes.ProcessTooSlowError, match="ended after 4 s"):
        processes.run([sys.executable, "-I", "-S", "-c", program], 4)
    with contextlib.suppress(ProcessLookupError):  # it is gone
        ended = os.pidfd_open(int(started.read_text()))
        assert select.select([ended], [], [], 10)[0]
        os.close(ended)


def test_a_process_that_fails_gives_its_last_word() -> None:
    processes = loaded("processes")
    with pytest.raises(processes.ProcessFailedError, match=r"^ValueError: no such tool$"):
        processes.run([sys.executable, "-c", "raise ValueError('no such tool')"], 20)
