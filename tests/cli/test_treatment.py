"""What `callboard tools show` tells of how a tool's calls are treated."""

import json
import uuid
from pathlib import Path

import pytest

from callboard.cli import main

TOOLS = '''
from callboard import Injected, secret, tool
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

@tool(mode="read")
def hold(item: str, desk: Injected[object], key: str = secret("SHOP_KEY")) -> str:
    """Hold."""
    return item
'''

RAISING = '''
from callboard import tool

@tool(mode="read")
def broken() -> str:
    """Broken."""
    return {}["k"]
'''


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = f"tools_{uuid.uuid4().hex}"
    (tmp_path / f"{module}.py").write_text(TOOLS)
    names = ", ".join(f'"{module}:{name}"' for name in ("look", "order", "plain", "hold"))
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


def test_what_a_tool_gets_that_no_model_sees_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(shown(capsys, "hold", "--json"))["hidden"] == {"desk": None, "key": "SHOP_KEY"}
    assert "given by the host, not by models: desk (injected), key (secret SHOP_KEY)\n" in shown(
        capsys, "hold"
    )
    assert json.loads(shown(capsys, "plain", "--json"))["hidden"] == {}


def test_a_tool_that_raises_says_where_if_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = f"tools_{uuid.uuid4().hex}"
    (tmp_path / f"{module}.py").write_text(RAISING)
    (tmp_path / "callboard.toml").write_text(f'tools = ["{module}:broken"]\n')

    assert main(["tools", "call", "broken"]) == 1
    plain = capsys.readouterr().err
    assert plain == "error: KeyError: 'k' [tool.failed]\nhint: CALLBOARD_DEBUG=1 shows where it came from\n"

    monkeypatch.setenv("CALLBOARD_DEBUG", "1")
    assert main(["tools", "call", "broken"]) == 1
    assert f'{module}.py", line 7, in broken' in capsys.readouterr().err


def test_the_command_line_says_that_it_has_no_injected_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "call", "hold", "item=x"]) == 1
    assert "the command line has none: there, the parameter needs a default\n" in capsys.readouterr().err
