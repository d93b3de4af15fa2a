import os
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callboard.builtin.files import Workspace
from callboard.builtin.files.listing import list_entries
from callboard.builtin.files.reading import read_text
from callboard.builtin.files.searching import search
from callboard.builtin.files.writing import apply, plan_edit, plan_write
from callboard.errors import ConfigError, ToolError


def refused(workspace: Workspace, path: str) -> ToolError:
    with pytest.raises(ToolError) as caught:
        read_text(workspace, path)
    return caught.value


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "//etc/passwd", "../outside/secret.txt", "a/../../outside", ".."]
)
def test_a_path_that_leads_out_is_refused_by_every_tool(workspace: Workspace, path: str) -> None:
    for use in (
        lambda: read_text(workspace, path),
        lambda: list_entries(workspace, path),
        lambda: list_entries(workspace, path, "*"),
        lambda: search(workspace, "secret", path=path),
        lambda: plan_write(workspace, path, "x"),
        lambda: plan_edit(workspace, path, "a", "b"),
    ):
        with pytest.raises(ToolError) as caught:
            use()
        assert caught.value.code == "file.outside"
        assert caught.value.hint


def test_the_hint_for_an_absolute_path_inside_names_the_relative_one(workspace: Workspace) -> None:
    assert refused(workspace, f"{workspace.root}/docs/a.md").hint == "write docs/a.md instead"
    assert refused(workspace, "/README.md").hint == "write README.md instead"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("a\0b", "file.bad_path"),
        ("\ud800", "file.bad_path"),
        ("x" * 5000, "file.bad_path"),
        ("x" * 300, "file.bad_path"),
        ("nothing.txt", "file.not_found"),
        ("no/such/folder.txt", "file.not_found"),
        ("file.txt/below", "file.not_a_folder"),
        ("folder", "file.is_folder"),
        (".", "file.is_folder"),
        ("", "file.is_folder"),
    ],
)
def test_a_path_that_names_no_file_says_why(workspace: Workspace, folder: Path, path: str, code: str) -> None:
    (folder / "file.txt").write_text("x")
    (folder / "folder").mkdir()
    assert refused(workspace, path).code == code


def test_dots_and_doubled_slashes_mean_nothing(workspace: Workspace, folder: Path) -> None:
    (folder / "docs").mkdir()
    (folder / "docs/a.md").write_text("hello")
    assert read_text(workspace, "./docs//./a.md") == "hello"


def test_links_are_not_followed_wherever_they_stand(workspace: Workspace, folder: Path) -> None:
    (folder / "link.txt").symlink_to("../outside/secret.txt")
    (folder / "linked").symlink_to("../outside")
    (folder / "inner.txt").symlink_to("real.txt")
    (folder / "real.txt").write_text("secret of the inside")
    for path in ("link.txt", "linked/secret.txt", "inner.txt"):
        assert refused(workspace, path).code == "file.link"
        with pytest.raises(ToolError) as caught:
            plan_write(workspace, path, "x")
        assert caught.value.code == "file.link"
    with pytest.raises(ToolError, match="symbolic link"):
        list_entries(workspace, "linked")
    assert list_entries(workspace) == "inner.txt (link)\nlink.txt (link)\nlinked (link)\nreal.txt"
    assert search(workspace, "secret") == "real.txt:1: secret of the inside"


def test_what_is_no_file_is_refused_without_waiting_for_it(workspace: Workspace, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        assert refused(workspace, "pipe").code == "file.not_regular"
        assert refused(workspace, "socket").code == "file.not_regular"
        assert list_entries(workspace) == "pipe (no file)\nsocket (no file)"
        assert search(workspace, "x") == "no match for x in 0 files"
        for path in ("pipe", "socket"):
            with pytest.raises(ToolError) as caught:
                search(workspace, "x", path=path)
            assert caught.value.code == "file.not_regular"


@contextmanager
def ordinary_user() -> Generator[None]:
    """Root may read everything, so the tests let go of that for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_file_that_this_user_may_not_read_is_refused(workspace: Workspace, folder: Path) -> None:
    (folder / "locked").write_text("needle")
    (folder / "locked").chmod(0)
    (folder / "cellar").mkdir(mode=0)
    with ordinary_user():
        assert refused(workspace, "locked").code == "file.no_permission"
        assert refused(workspace, "cellar/x").code == "file.no_permission"
        with pytest.raises(ToolError, match="may not be opened"):
            search(workspace, "needle", path="locked")
        assert (
            search(workspace, "needle")
            == "no match for needle in 0 files\n(1 file left out: no text, too large or not ours to read)"
            "\n(1 folder left out: this user may not open what is there)"
        )
        assert list_entries(workspace, ".", "*") == (
            "locked\n(1 folder left out: this user may not open what is there)"
        )


def test_names_that_would_forge_lines_are_quoted(workspace: Workspace, folder: Path) -> None:
    (folder / "a\nREADME.md").write_text("needle")
    (folder / "b\x1b[2J").mkdir()
    assert list_entries(workspace) == '"a\\nREADME.md"\n"b\\u001b[2J"/'
    assert search(workspace, "needle") == '"a\\nREADME.md":1: needle'


def test_names_that_are_no_unicode_are_shown_and_can_not_be_opened(
    workspace: Workspace, folder: Path
) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.txt")).write_text("needle")
    assert list_entries(workspace) == '"caf\\udce9.txt"'
    assert search(workspace, "needle") == '"caf\\udce9.txt":1: needle'
    assert refused(workspace, "caf\udce9.txt").code == "file.bad_path"


def test_a_folder_that_is_not_there_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be opened"):
        Workspace(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="Not a directory"):
        Workspace(tmp_path / "file")


async def test_a_closed_workspace_opens_nothing(folder: Path) -> None:
    (folder / "a.txt").write_text("x")
    async with Workspace(folder) as workspace:
        assert read_text(workspace, "a.txt") == "x"
    workspace.close()
    assert refused(workspace, "a.txt").code == "file.closed"


def test_the_workspace_follows_its_folder_when_that_is_moved(workspace: Workspace, folder: Path) -> None:
    (folder / "a.txt").write_text("mine")
    folder.rename(folder.with_name("moved"))
    folder.mkdir()
    (folder / "a.txt").write_text("another's")
    assert read_text(workspace, "a.txt") == "mine"


def test_two_workspaces_on_one_folder_share_the_name_of_the_lock(workspace: Workspace, folder: Path) -> None:
    (folder.parent / "by_link").symlink_to(folder)
    other = Workspace(folder.parent / "by_link")
    other.close()
    assert other.lock_name == workspace.lock_name


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.one_of(
        st.text(max_size=40),
        st.lists(st.sampled_from(["..", ".", "", "a", "link", "\0", "/", "~", "...", "*"]), max_size=8).map(
            "/".join
        ),
    )
)
def test_no_path_ever_reads_or_writes_outside(workspace: Workspace, folder: Path, path: str) -> None:
    if not (folder / "link").is_symlink():
        (folder / "link").symlink_to("../outside")
    outside = folder.parent / "outside"
    for use in (
        lambda: read_text(workspace, path),
        lambda: list_entries(workspace, path),
        lambda: search(workspace, "secret", path=path),
        lambda: apply(workspace, plan_write(workspace, path, "written")),
    ):
        with suppress(ToolError):
            assert "beside the workspace" not in use()
            assert not path.startswith("/")
    assert [entry.name for entry in outside.iterdir()] == ["secret.txt"]
    assert {entry.name for entry in folder.parent.iterdir()} == {"inside", "outside"}


def test_refusals_leave_no_descriptor_open(workspace: Workspace, folder: Path) -> None:
    (folder / "docs").mkdir()
    (folder / "docs/a.txt").write_text("x")
    (folder / "docs/link").symlink_to("a.txt")
    os.mkfifo(folder / "docs/pipe")

    def everything() -> None:
        for path in ("docs/a.txt", "docs/link", "docs/pipe", "docs", "docs/none/x", "docs/a.txt/x", "../x"):
            with suppress(ToolError):
                read_text(workspace, path)
            with suppress(ToolError):
                apply(workspace, plan_write(workspace, path, "x"))
            with suppress(ToolError):
                search(workspace, "x", path=path)
            with suppress(ToolError):
                list_entries(workspace, path, "*")

    everything()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count, and the folder is the system's
    everything()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
