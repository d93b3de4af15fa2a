import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callboard.builtin.files import Workspace
from callboard.builtin.files.reading import read_text
from callboard.builtin.files.writing import MAX_WRITE, Change, apply, plan_edit, plan_write, preview
from callboard.errors import ToolError


def write(workspace: Workspace, path: str, content: str) -> str:
    return apply(workspace, plan_write(workspace, path, content))


def edit(workspace: Workspace, path: str, old_text: str, new_text: str) -> str:
    return apply(workspace, plan_edit(workspace, path, old_text, new_text))


def refused(workspace: Workspace, path: str, content: str) -> ToolError:
    with pytest.raises(ToolError) as caught:
        write(workspace, path, content)
    return caught.value


def edit_refused(workspace: Workspace, old_text: str, new_text: str) -> ToolError:
    with pytest.raises(ToolError) as caught:
        edit(workspace, "a.txt", old_text, new_text)
    return caught.value


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_new_file_is_made_with_its_folders(workspace: Workspace, folder: Path) -> None:
    assert write(workspace, "docs/new/plan.md", "été\n") == "created docs/new/plan.md (6 bytes)"
    assert files(folder) == {"docs/new/plan.md": "été\n".encode()}


def test_a_new_file_gets_the_mode_that_the_umask_leaves(workspace: Workspace, folder: Path) -> None:
    (folder / "by_hand.txt").touch()
    write(workspace, "by_tool.txt", "x")
    assert (folder / "by_tool.txt").stat().st_mode == (folder / "by_hand.txt").stat().st_mode


def test_a_file_is_replaced_and_keeps_its_mode(workspace: Workspace, folder: Path) -> None:
    (folder / "run.sh").write_text("echo old")
    (folder / "run.sh").chmod(0o751)
    assert write(workspace, "run.sh", "echo") == "replaced run.sh (4 bytes, before 8)"
    assert (folder / "run.sh").stat().st_mode & 0o777 == 0o751
    assert files(folder) == {"run.sh": b"echo"}


def test_a_hard_link_is_replaced_and_its_other_name_untouched(workspace: Workspace, folder: Path) -> None:
    outside = folder.parent / "outside/secret.txt"
    before = outside.read_text()
    (folder / "same.txt").hardlink_to(outside)
    write(workspace, "same.txt", "new")
    assert outside.read_text() == before


@pytest.mark.parametrize(
    "path",
    [".git/config", "sub/.git/hooks/pre-commit", ".callboard/state.db", ".GIT/x", "a/.Callboard", ".git"],
)
def test_records_and_history_are_not_written(workspace: Workspace, folder: Path, path: str) -> None:
    assert refused(workspace, path, "x").code == "file.protected"
    with pytest.raises(ToolError) as caught:
        edit(workspace, path, "a", "b")
    assert caught.value.code == "file.protected"
    assert files(folder) == {}


def test_the_host_protects_more(folder: Path) -> None:
    workspace = Workspace(folder, protected=["callboard.toml", "profiles"])
    for path in ("callboard.toml", "profiles/loop.toml", "./Profiles/a/b", "profiles"):
        assert refused(workspace, path, "x").code == "file.protected"
    assert write(workspace, "docs/callboard.toml", "x") == "created docs/callboard.toml (1 byte)"
    workspace.close()


@pytest.mark.parametrize(
    ("path", "content", "code"),
    [
        (".", "x", "file.is_folder"),
        ("folder", "x", "file.is_folder"),
        ("folder/", "x", "file.is_folder"),
        ("file.txt/x", "x", "file.not_a_folder"),
        ("new.txt", "a\0b", "file.not_text"),
        ("new.txt", "\ud800", "file.not_text"),
        ("new.txt", "x" * (MAX_WRITE + 1), "file.too_large"),
        ("locked.txt", "x", "file.no_permission"),
        ("x" * 300, "x", "file.bad_path"),
    ],
)
def test_what_can_not_be_written_is_refused_and_leaves_nothing(
    workspace: Workspace, folder: Path, path: str, content: str, code: str
) -> None:
    (folder / "folder").mkdir()
    (folder / "file.txt").write_text("kept")
    (folder / "locked.txt").write_text("kept")
    (folder / "locked.txt").chmod(0o444)
    assert refused(workspace, path, content).code == code
    assert files(folder) == {"file.txt": b"kept", "locked.txt": b"kept"}


def test_an_edit_replaces_the_only_place(workspace: Workspace, folder: Path) -> None:
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    assert edit(workspace, "a.txt", "two\nth", "2\nTh") == "edited a.txt at line 2"
    assert files(folder) == {"a.txt": b"one\n2\nThree\n"}


@pytest.mark.parametrize(
    ("text", "old", "code", "said"),
    [
        ("one\ntwo\n", "three", "edit.not_found", "a.txt does not contain old_text"),
        ("a\nb\na\n", "a", "edit.ambiguous", "old_text stands in a.txt more than once: at lines 1, 3"),
        ("aaa", "aa", "edit.ambiguous", "old_text stands in a.txt more than once: at lines 1, 1"),
        ("a\n" * 9, "a", "edit.ambiguous", "old_text stands in a.txt more than once: at lines 1, 2, 3, 4, 5"),
        ("a", "", "edit.empty", "old_text is empty"),
        ("new", "new", "edit.no_change", "old_text and new_text are the same: nothing to do"),
    ],
)
def test_an_edit_that_is_not_exact_and_unique_changes_nothing(
    workspace: Workspace, folder: Path, text: str, old: str, code: str, said: str
) -> None:
    (folder / "a.txt").write_text(text)
    error = edit_refused(workspace, old, "new")
    assert error.code == code
    assert str(error) == said
    assert files(folder) == {"a.txt": text.encode()}


def test_the_hint_names_the_line_that_differs_in_white_space_only(workspace: Workspace, folder: Path) -> None:
    (folder / "a.txt").write_text("def f():\n\treturn  1\n")
    assert (edit_refused(workspace, "    return 1\n", "x").hint or "").startswith(
        "line 2 is like its first line"
    )


def test_a_file_that_is_not_there_can_not_be_edited(workspace: Workspace, folder: Path) -> None:
    assert edit_refused(workspace, "a", "b").code == "file.not_found"
    assert files(folder) == {}


def test_a_file_that_is_no_text_can_not_be_edited(workspace: Workspace, folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"caf\xe9 a")
    assert edit_refused(workspace, "a", "b").code == "file.not_text"
    (folder / "a.txt").write_bytes(b"a" * (MAX_WRITE + 1))
    assert edit_refused(workspace, "a", "b").code == "file.too_large"


def test_line_ends_and_byte_order_mark_survive_an_edit(workspace: Workspace, folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")
    edit(workspace, "a.txt", "one\ntwo", "1\n2\n2b")
    assert files(folder) == {"a.txt": b"\xef\xbb\xbf1\r\n2\r\n2b\r\nthree\r\n"}
    edit(workspace, "a.txt", "2b\r\nthree", "3")
    assert files(folder) == {"a.txt": b"\xef\xbb\xbf1\r\n2\r\n3\r\n"}


def test_mixed_line_ends_are_taken_as_they_are(workspace: Workspace, folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"one\r\ntwo\nthree")
    assert edit_refused(workspace, "one\ntwo", "x").code == "edit.not_found"
    edit(workspace, "a.txt", "two\nthree", "2\n3")
    assert files(folder) == {"a.txt": b"one\r\n2\n3"}


def test_a_preview_says_what_would_change_and_touches_nothing(workspace: Workspace, folder: Path) -> None:
    (folder / "a.txt").write_text("".join(f"{number}\n" for number in range(40)))
    before = files(folder)
    assert preview(plan_edit(workspace, "a.txt", "\n7\n8\n", "\nseven\x1b\n")) == (
        "would edit a.txt at line 7\n@@ line 8 @@\n-7\n-8\n+seven·"
    )
    assert preview(plan_write(workspace, "a.txt", "new\n")).startswith(
        "would replace a.txt (4 bytes, before 110)\n@@ line 1 @@\n-0\n-1\n"
    )
    assert "- (30 more lines)\n+new" in preview(plan_write(workspace, "a.txt", "new\n"))
    assert preview(plan_write(workspace, "new/b.txt", "x\ty\n")) == (
        "would create new/b.txt (4 bytes)\n@@ line 1 @@\n+x\ty"
    )
    (folder / "b.bin").write_bytes(b"\0")
    assert preview(plan_write(workspace, "b.bin", "x")).endswith("\n(the old content is no text)")
    (folder / "b.bin").unlink()
    assert files(folder) == before
    assert not (folder / "new").exists()


def _append(folder: Path) -> None:
    with (folder / "sub/a.txt").open("a") as stream:
        stream.write("!")


def _replace(folder: Path) -> None:
    (folder / "other").write_text("abc")
    (folder / "other").rename(folder / "sub/a.txt")


def _remove(folder: Path) -> None:
    (folder / "sub/a.txt").unlink()


def _move_folder(folder: Path) -> None:
    (folder / "sub").rename(folder.parent / "moved")
    (folder / "sub").mkdir()
    (folder / "sub/a.txt").write_text("abc")


@pytest.mark.parametrize("change", [_append, _replace, _remove, _move_folder])
def test_a_change_by_somebody_else_between_plan_and_write_is_kept(
    workspace: Workspace, folder: Path, change: Callable[[Path], None]
) -> None:
    (folder / "sub").mkdir()
    (folder / "sub/a.txt").write_text("abc")
    planned = plan_edit(workspace, "sub/a.txt", "b", "B")
    change(folder)
    before = files(folder.parent)
    with pytest.raises(ToolError) as caught:
        apply(workspace, planned)
    assert caught.value.code == "file.changed"
    assert files(folder.parent) == before


def test_a_file_that_somebody_else_made_meanwhile_is_kept(workspace: Workspace, folder: Path) -> None:
    planned = plan_write(workspace, "a.txt", "mine")
    (folder / "a.txt").write_text("theirs")
    with pytest.raises(ToolError) as caught:
        apply(workspace, planned)
    assert caught.value.code == "file.changed"
    assert files(folder) == {"a.txt": b"theirs"}


def test_a_write_that_the_disk_refuses_leaves_the_old_file(
    workspace: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.txt").write_text("old")

    def full(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    planned = plan_write(workspace, "a.txt", "new")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ToolError) as caught:
        apply(workspace, planned)
    assert caught.value.code == "file.no_space"
    assert files(folder) == {"a.txt": b"old"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(st.characters(exclude_characters="\0\ufeff", exclude_categories=["Cs"])))
def test_what_is_written_is_what_is_read(workspace: Workspace, text: str) -> None:
    planned: Change = plan_write(workspace, "a.txt", text)
    apply(workspace, planned)
    assert read_text(workspace, "a.txt") == text
