"""What `callboard tools show` tells of how a tool's calls are treated."""

import json
import uuid
from pathlib import Path

import pytest

from callboard.cli import main

TOOLS = '''
from callboard import tool
from callboard.tools import Limit

SHOP = Limit("shop", concurrency=2, rate="30/min")

@tool(mode="read", limit=SHOP, retries=2)
def look(item: str) -> str:
    """Look."""
    return item

def was_ordered(item: str) -> bool:
    return True

@tool(serial=True, idempotent=True, probe=was_ordered)
def order(item: str) -> str:
    """Order."""
    return item

@tool(mode="read")
def plain() -> str:
    """Nothing special."""
    return ""
'''


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = f"tools_{uuid.uuid4().hex}"
    (tmp_path / f"{module}.py").write_text(TOOLS)
    names = ", ".join(f'"{module}:{name}"' for name in ("look", "order", "plain"))
    (tmp_path / "callboard.toml").write_text(f"tools = [{names}]\n")
    monkeypatch.chdir(tmp_path)


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["tools", "show", *arguments]) == 0
    return capsys.readouterr().out


def test_a_program_reads_how_calls_are_treated(capsys: pytest.CaptureFixture[str]) -> None:
    calls = {name: json.loads(shown(capsys, name, "--json"))["calls"] for name in ("look", "order", "plain")}

    assert calls == {
        "look": {
            "at_once": {"name": "shop", "size": 2},
            "rate": {"name": "shop", "starts": 30, "seconds": 60.0},
            "retries": 2,
        },
        "order": {"at_once": {"name": "tool:order", "size": 1}, "idempotent": True, "probe": True},
        "plain": {},
    }


def test_a_person_reads_it_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    look, order, plain = (shown(capsys, name) for name in ("look", "order", "plain"))

    assert "limit: 2 calls of 'shop' at a time, 30 starts of 'shop' in 60 s\nretries: 2 after" in look
    assert "limit: one call at a time\nidempotent: " in order
    assert "probe: it can tell whether a write took place" in order
    assert "limit" not in plain
