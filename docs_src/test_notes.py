"""Tests of two tools: run them with pytest."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from callboard import Host, ToolError, tool
from callboard.config import load
from callboard.testing import CallTool, RecordedCalls, ScriptedModel, call, text

MakeModel = Callable[..., ScriptedModel]
NOTES = Path("notes.txt")


def would_save(note: str) -> str:
    return f"would save {len(note)} characters"


@tool(simulate=would_save)
def save_note(note: str) -> str:
    """Save a note."""
    with NOTES.open("a") as file:
        file.write(note + "\n")
    return "saved"


@tool(mode="read")
def count_notes() -> int:
    """Count the notes."""
    return len(NOTES.read_text().splitlines()) if NOTES.exists() else 0


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_note_is_saved(call_tool: CallTool) -> None:
    assert call_tool(save_note, {"note": "call Ada"}).value == "saved"
    assert call_tool(count_notes).value == 1


@pytest.mark.usefixtures("tripwire")
def test_nothing_is_saved_without_a_yes(call_tool: CallTool) -> None:
    with pytest.raises(ToolError, match="the test said no"):
        call_tool(save_note, {"note": "call Ada"}, approve=False)


@pytest.mark.usefixtures("tripwire")
def test_the_simulation_touches_nothing(call_tool: CallTool) -> None:
    result = call_tool(save_note, '{"note": "call Ada"}', simulate=True)
    assert result.value == "would save 8 characters"


def test_an_agent_counts_and_saves(
    scripted_model: MakeModel, recorded_calls: RecordedCalls, tmp_path: Path
) -> None:
    model = scripted_model([call("count_notes"), call("save_note", note="one more"), text("Done.")])

    async def run() -> str:
        async with Host(load(cwd=tmp_path), tools=[save_note, count_notes]) as host:
            return (await host.run("Save a note", model=model)).text

    assert asyncio.run(run()) == "Done."
    assert recorded_calls == [
        ("count_notes", {}),
        ("save_note", {"note": "one more"}, "denied"),  # nobody was there to allow it
    ]
