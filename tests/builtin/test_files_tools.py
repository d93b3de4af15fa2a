import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from callboard import ToolError, ToolRegistry
from callboard.builtin.files import Workspace, file_tools
from callboard.types import ExecutionOptions

SIMULATED = ExecutionOptions(simulate=True)


@pytest.fixture
def registry(workspace: Workspace, folder: Path) -> ToolRegistry[Any]:
    (folder / "notes").mkdir()
    (folder / "notes/meeting.txt").write_text("Call Ada.\nOrder paper.\n")
    (folder / "README.md").write_text("# Shop\n")
    return ToolRegistry[Any]().register_all(file_tools(workspace)).seal()


def test_the_five_tools_read_or_write(registry: ToolRegistry[Any]) -> None:
    assert {tool.id: tool.kind for tool in registry.values()} == {
        "list_files": "read",
        "read_file": "read",
        "search_files": "read",
        "write_file": "write",
        "edit_file": "write",
    }


def test_small_models_see_short_descriptions_and_the_order_they_pick_best(
    registry: ToolRegistry[Any],
) -> None:
    shown = {tool.id: (tool.description, list(tool.input_schema["properties"])) for tool in registry.values()}
    assert shown == {
        "list_files": ("List the files in a folder.", ["path", "pattern"]),
        "read_file": ("Open, read or show the contents of a file.", ["path", "start_line", "end_line"]),
        "search_files": (
            "Search all files and find which ones mention some text.",
            ["text", "path", "regex"],
        ),
        "write_file": ("Create a file with the given content.", ["path", "content"]),
        "edit_file": ("Replace one text with another in a file.", ["old_text", "new_text", "path"]),
    }
    for tool in registry.values():
        assert all(entry.get("description") for entry in tool.input_schema["properties"].values())


def test_a_model_reads_searches_and_changes_files(registry: ToolRegistry[Any], folder: Path) -> None:
    def call(tool: str, **arguments: Any) -> str:
        return registry.invoke(tool, json.dumps(arguments)).text

    assert call("list_files") == "README.md\nnotes/"
    assert call("list_files", pattern="*.txt") == "notes/meeting.txt"
    assert call("read_file", path="notes/meeting.txt") == "Call Ada.\nOrder paper.\n"
    assert call("read_file", path="notes/meeting.txt", start_line=2) == "Order paper.\n"
    assert call("search_files", text="ada") == "notes/meeting.txt:1: Call Ada."
    assert call("search_files", text="^# ", regex=True, path="README.md") == "README.md:1: # Shop"
    assert call("write_file", path="todo.txt", content="call Ada back") == "created todo.txt (13 bytes)"
    assert (
        call("edit_file", path="todo.txt", old_text="back", new_text="first") == "edited todo.txt at line 1"
    )
    assert (folder / "todo.txt").read_text() == "call Ada first"


def test_what_a_file_tool_refuses_reaches_the_model_with_code_and_hint(registry: ToolRegistry[Any]) -> None:
    with pytest.raises(ToolError) as caught:
        registry.invoke("read_file", {"path": "../secret.txt"})
    assert caught.value.code == "file.outside"
    assert caught.value.hint
    assert caught.value.invocation.status == "failed"


def test_a_simulated_write_says_what_it_would_change_and_changes_nothing(
    registry: ToolRegistry[Any], folder: Path
) -> None:
    would_write = registry.invoke("write_file", {"path": "new.txt", "content": "x"}, execution=SIMULATED)
    assert would_write.text == "would create new.txt (1 byte)\n@@ line 1 @@\n+x"
    edit = {"path": "README.md", "old_text": "Shop", "new_text": "Store"}
    would_edit = registry.invoke("edit_file", edit, execution=SIMULATED)
    assert would_edit.text == "would edit README.md at line 1\n@@ line 1 @@\n-# Shop\n+# Store"
    assert would_edit.invocation.simulated
    with pytest.raises(ToolError) as caught:
        registry.invoke("write_file", {"path": ".git/config", "content": "x"}, execution=SIMULATED)
    assert caught.value.code == "file.protected"
    assert sorted(path.name for path in folder.rglob("*")) == ["README.md", "meeting.txt", "notes"]


async def test_edits_of_one_workspace_wait_for_each_other(registry: ToolRegistry[Any], folder: Path) -> None:
    (folder / "count.txt").write_text("".join(f"<{number}>\n" for number in range(20)))
    async with asyncio.timeout(20):
        await asyncio.gather(
            *(
                registry.invoke_async(
                    "edit_file", {"path": "count.txt", "old_text": f"<{number}>", "new_text": f"[{number}]"}
                )
                for number in range(20)
            )
        )
    assert (folder / "count.txt").read_text() == "".join(f"[{number}]\n" for number in range(20))
