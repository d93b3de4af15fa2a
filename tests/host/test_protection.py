"""What a model may not write: whatever decides about tools, and whatever runs at the next start."""

import sys
from pathlib import Path
from typing import Any

import pytest

from callboard import Host, ToolError
from callboard.testing import ScriptedModel, call, text

FREE = '[policy]\nwrite = "allow"\n'
TOOLS = """
import neighbour
from callboard import tool

@tool(mode="read")
def shown() -> str:
    return neighbour.WORD
"""


async def written(host: Host, path: str, **options: Any) -> str:
    """What the model is told when it writes there."""
    model = ScriptedModel([call("write_file", path=path, content="x"), text("done")])
    await host.run("write", model=model, **options)
    return next(m["content"] for m in model.requests[1].messages if m["role"] == "tool")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "desk"
    (made / "sub").mkdir(parents=True)
    (made / "callboard.toml").write_text(FREE)
    (tmp_path / "link").symlink_to(made)
    return made


@pytest.mark.parametrize("path", ["callboard.toml", "profiles/loop.toml", ".callboard/x", "Callboard.TOML"])
async def test_a_configuration_named_by_a_relative_path_is_protected(
    folder: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)

    async with Host("callboard.toml") as host:
        told = await written(host, path)

    assert "file.protected" in told
    assert (folder / "callboard.toml").read_text() == FREE


@pytest.mark.parametrize("path", ["callboard.toml", "profiles/loop.toml", "state/x"])
@pytest.mark.parametrize("spelling", ["sub/..", "../link", "../desk/."])
async def test_another_spelling_of_the_folder_protects_the_same(
    folder: Path, path: str, spelling: str
) -> None:
    (folder / "callboard.toml").write_text(FREE + '[state]\nfolder = "state"\n')

    async with Host(folder) as host:
        told = await written(host, path, workspace=f"{folder}/{spelling}")

    assert "file.protected" in told


@pytest.mark.parametrize("path", ["callboard.toml", "profiles/loop.toml"])
async def test_what_the_next_start_in_another_workspace_would_obey_is_protected_there(
    folder: Path, tmp_path: Path, path: str
) -> None:
    other = tmp_path / "other"
    other.mkdir()

    async with Host(folder) as host:
        told = await written(host, path, workspace=other)
        allowed = await written(host, "notes.md", workspace=other)

    assert "file.protected" in told
    assert not (other / path).exists()
    assert "file.protected" not in allowed


async def test_a_configuration_behind_a_link_is_protected_at_both_ends(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "real.toml").write_text(FREE)
    (tmp_path / "callboard.toml").symlink_to(tmp_path / "conf" / "real.toml")

    async with Host(tmp_path) as host:
        told = await written(host, "conf/real.toml")

    assert "file.protected" in told


@pytest.mark.parametrize(
    "path",
    [
        "protected_tools.py",
        "neighbour.py",
        "__pycache__/neighbour.cpython-311.pyc",
        "a_package/inner.py",
        "a_package/new.py",
        "json.py",
        "pydantic/__init__.py",
    ],
)
async def test_what_would_run_at_the_next_start_is_protected(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for loaded in ("protected_tools", "neighbour", "a_package", "a_package.inner"):
        monkeypatch.delitem(sys.modules, loaded, raising=False)
    (tmp_path / "protected_tools.py").write_text("import a_package.inner\n" + TOOLS)
    (tmp_path / "neighbour.py").write_text("WORD = 'x'\n")
    (tmp_path / "a_package").mkdir()
    (tmp_path / "a_package" / "__init__.py").write_text("")
    (tmp_path / "a_package" / "inner.py").write_text("")
    (tmp_path / "callboard.toml").write_text('tools = ["protected_tools:shown"]\n' + FREE)

    async with Host(tmp_path) as host:
        told = await written(host, path)
        beside = await written(host, "data.py")

    assert "file.protected" in told
    assert "file.protected" not in beside


async def answered(host: Host, tool: str, arguments: dict[str, Any], **options: Any) -> str:
    """What the model is told when it calls the tool."""
    model = ScriptedModel([call(tool, **arguments), text("done")])
    await host.run("look", model=model, **options)
    return next(m["content"] for m in model.requests[1].messages if m["role"] == "tool")


@pytest.mark.parametrize("state", ["state", ".callboard", "deep/er/state", "../outside"])
async def test_the_records_of_other_runs_are_not_read_wherever_they_are(folder: Path, state: str) -> None:
    (folder / "callboard.toml").write_text(FREE + f'[state]\nfolder = "{state}"\n')

    async with Host(folder) as host:
        await host.run("the word is xylophone", model=ScriptedModel([text("done")]))
        (folder / "same.db").hardlink_to(folder / state / "callboard.db")
        (folder / "same.db-wal").hardlink_to(folder / state / "callboard.db-wal")
        answers = [
            await answered(host, "read_file", {"path": path})
            for path in ("same.db", "same.db-wal", f"{state}/callboard.db", f"{state}/.gitignore")
        ]
        searched = await answered(host, "search_files", {"text": "xylo"})
        elsewhere = await answered(host, "read_file", {"path": "same.db"}, workspace=folder.parent / "link")

    assert ["file.protected" in answer for answer in answers[:2]] == [True, True]
    for answer in answers[2:]:
        assert "file.outside" in answer if state.startswith("..") else "file.protected" in answer
    assert "no match for xylo in 1 file" in searched
    assert "left out" not in searched
    assert "file.protected" in elsewhere


async def test_in_a_workspace_that_is_the_state_folder_only_the_records_are_private(folder: Path) -> None:
    (folder / "callboard.toml").write_text('[state]\nfolder = "kept"\n')
    (folder / "kept").mkdir()
    (folder / "kept" / "notes.md").write_text("mine")

    async with Host(folder) as host:
        database = await answered(host, "read_file", {"path": "callboard.db"}, workspace=folder / "kept")
        notes = await answered(host, "read_file", {"path": "notes.md"}, workspace=folder / "kept")

    assert "file.protected" in database
    assert "mine" in notes


async def test_a_state_folder_that_is_the_workspace_leaves_other_files_alone(tmp_path: Path) -> None:
    (tmp_path / "callboard.toml").write_text(FREE + '[state]\nfolder = "kept"\n')
    (tmp_path / "kept").mkdir()

    async with Host(tmp_path) as host:
        database = await written(host, "callboard.db", workspace=tmp_path / "kept")
        beside = await written(host, "notes.md", workspace=tmp_path / "kept")

    assert "file.protected" in database
    assert "file.protected" not in beside


async def test_a_direct_call_is_refused_too(folder: Path) -> None:
    async with Host(folder) as host:
        with pytest.raises(ToolError) as caught:
            await host.registry.invoke_async("write_file", {"path": "callboard.toml", "content": "x"})

    assert caught.value.code == "file.protected"
