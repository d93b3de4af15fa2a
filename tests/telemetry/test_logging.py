"""The library's loggers: everything under `callboard`, nothing of its own making."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from callboard import ToolRegistry, tool
from callboard.events import CallEvent

BAD_LISTENER = """
from callboard import ToolRegistry, tool

def listens(event):
    raise RuntimeError("broken")

ToolRegistry(listeners=[listens]).register(tool(name="one")(lambda: 1)).invoke("one")
"""


def output_of(program: str) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def test_without_configuration_nothing_is_printed() -> None:
    assert output_of(BAD_LISTENER) == ("", "")


def test_with_the_applications_configuration_it_is_told() -> None:
    _, told = output_of("import logging; logging.basicConfig()\n" + BAD_LISTENER)
    assert "ERROR:callboard.registry:a listener failed" in told
    assert "RuntimeError: broken" in told


def test_only_a_null_handler_and_no_level_is_set() -> None:
    library = logging.getLogger("callboard")
    assert [type(handler) for handler in library.handlers] == [logging.NullHandler]
    for name in (
        "callboard",
        *(name for name in logging.root.manager.loggerDict if name.startswith("callboard.")),
    ):
        logger = logging.getLogger(name)
        assert logger.level == logging.NOTSET, name
        assert logger.propagate, name
        assert name == "callboard" or not logger.handlers, name


def test_every_logger_is_on_the_page() -> None:
    root = Path(__file__).parents[2]
    found = {
        line.split('"')[1]
        for path in (root / "src/callboard").rglob("*.py")
        for line in path.read_text().splitlines()
        if 'getLogger("callboard' in line
    }
    text = (root / "docs/telemetry.md").read_text()
    assert found
    assert not [name for name in found if f"`{name}`" not in text]


def test_a_call_may_bring_a_logger_that_hears_its_facts(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[CallEvent] = []
    logger = logging.getLogger("an.application")
    tools = ToolRegistry(listeners=[heard.append]).register(tool(name="one")(lambda: 1))
    with caplog.at_level(logging.INFO, "an.application"):
        tools.invoke("one", logger=logger)

    assert [record.getMessage() for record in caplog.records] == ["call.started one", "call.finished one"]
    assert [vars(record)["callboard"] for record in caplog.records] == heard
