"""What tools leave alone, by whatever name it is called."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from callboard.builtin.files import Workspace
from callboard.builtin.files.listing import list_entries
from callboard.builtin.files.reading import read_text
from callboard.builtin.files.searching import search
from callboard.builtin.files.writing import apply, plan_edit, plan_write
from callboard.errors import ToolError

TOKEN = "the token of the person"


def refused(use: Callable[[], object]) -> ToolError:
    with pytest.raises(ToolError) as caught:
        use()
    return caught.value


def not_written(workspace: Workspace, path: str) -> None:
    error = refused(lambda: apply(workspace, plan_write(workspace, path, "x")))
    assert error.code == "file.protected"
    assert "what Callboard loads or is configured by" in (error.hint or "")


@pytest.mark.parametrize("name", [".git", ".GIT", ".callboard", ".Callboard", ".gi\u200ct", ".git."])
def test_records_and_history_are_neither_read_nor_listed_nor_searched(
    workspace: Workspace, folder: Path, name: str
) -> None:
    for place in (folder / name, folder / "sub" / name):
        place.mkdir(parents=True)
        (place / "config").write_text(TOKEN)
    for path in (name, f"sub/{name}"):
        for use in (
            lambda path=path: read_text(workspace, f"{path}/config"),
            lambda path=path: list_entries(workspace, path),
            lambda path=path: list_entries(workspace, path, "*"),
            lambda path=path: search(workspace, "token", path=path),
            lambda path=path: search(workspace, "token", path=f"{path}/config"),
        ):
            error = refused(use)
            assert error.code == "file.protected"
            assert "no tool reads or writes it" in str(error)
            assert error.hint
    assert TOKEN not in search(workspace, "token")
    assert "config" not in list_entries(workspace, ".", "*")


def test_what_only_begins_like_them_is_read(workspace: Workspace, folder: Path) -> None:
    for name in (".gitignore", ".github", "git", ".callboards"):
        (folder / name).write_text(name)
        assert read_text(workspace, name) == name


def test_the_pointer_of_a_working_tree_is_history_too(workspace: Workspace, folder: Path) -> None:
    (folder / ".git").write_text("gitdir: /srv/main/.git/worktrees/token\n")
    assert refused(lambda: read_text(workspace, ".git")).code == "file.protected"
    assert refused(lambda: search(workspace, "token", path=".git")).code == "file.protected"
    assert search(workspace, "token") == "no match for token in 0 files"


@pytest.mark.parametrize("parent", [".", "sub"])
def test_history_kept_elsewhere_in_the_workspace_is_held_by_what_it_is(
    workspace: Workspace, folder: Path, parent: str
) -> None:
    store = folder / parent / "history"
    store.mkdir(parents=True)
    (store / "config").write_text(TOKEN)
    (folder / parent / ".git").symlink_to("history")
    path = f"{parent}/history"
    assert refused(lambda: read_text(workspace, f"{path}/config")).code == "file.protected"
    assert refused(lambda: list_entries(workspace, path)).code == "file.protected"
    assert TOKEN not in search(workspace, "token")
    not_written(workspace, f"{path}/config")
    not_written(workspace, f"{path}/hooks/pre-commit")
    assert (store / "config").read_text() == TOKEN
    assert not (store / "hooks").exists()


@pytest.mark.parametrize(
    "path",
    [
        "callboard.toml",
        "Callboard.TOML",
        "callboard.toml.",
        "callboard\u200b.toml",
        "\N{KELVIN SIGN}eys/a",
        "KEYS/a/b",
    ],
)
def test_a_name_that_some_file_system_takes_for_a_protected_one_is_not_written(
    folder: Path, path: str
) -> None:
    with closing(Workspace(folder, protected=["callboard.toml", "keys"])) as workspace:
        not_written(workspace, path)
    assert not list(folder.iterdir())


def test_decomposed_and_composed_names_are_one(folder: Path) -> None:
    with closing(Workspace(folder, protected=["caf\u00e9"])) as workspace:
        not_written(workspace, "cafe\u0301/menu.txt")
    assert not list(folder.iterdir())


def test_a_second_name_of_a_protected_file_is_not_written(folder: Path) -> None:
    (folder / "tools.py").write_text("mine")
    (folder / "same.py").hardlink_to(folder / "tools.py")
    with closing(Workspace(folder, protected=["tools.py"])) as workspace:
        not_written(workspace, "same.py")
        assert read_text(workspace, "same.py") == "mine"


def test_protected_paths_may_be_absolute_and_go_through_links(folder: Path) -> None:
    (folder / "conf").mkdir()
    (folder / "conf/real.toml").write_text("mine")
    (folder / "callboard.toml").symlink_to("conf/real.toml")
    (folder.parent / "by_link").symlink_to(folder)
    alias = folder.parent / "by_link"
    protected = [str(alias / "callboard.toml"), f"{folder}/conf/../profiles", str(alias / "conf/new.toml")]
    with closing(Workspace(folder / "conf" / "..", protected=protected)) as workspace:
        for path in (
            "conf/real.toml",
            "conf/new.toml",
            "conf/NEW.toml",
            "profiles/loop.toml",
            "callboard.toml",
        ):
            not_written(workspace, path)
        assert apply(workspace, plan_write(workspace, "conf/other.toml", "x"))
    assert (folder / "conf/real.toml").read_text() == "mine"


def test_a_workspace_inside_of_something_protected_is_not_written(folder: Path) -> None:
    (folder / "state/inner").mkdir(parents=True)
    with closing(Workspace(folder / "state/inner", protected=[str(folder / "state")])) as workspace:
        not_written(workspace, "a.txt")


def test_what_is_protected_elsewhere_does_not_matter(folder: Path) -> None:
    with closing(
        Workspace(folder, protected=[str(folder.parent / "outside"), "no/such/place", "loop"])
    ) as workspace:
        (folder / "loop").symlink_to("loop")
        assert apply(workspace, plan_write(workspace, "a.txt", "x")) == "created a.txt (1 byte)"


def test_something_that_became_protected_between_plan_and_write_is_kept(folder: Path) -> None:
    with closing(Workspace(folder, protected=["conf/callboard.toml"])) as workspace:
        (folder / "other").mkdir()
        planned = plan_write(workspace, "other/callboard.toml", "x")
        os.rename(folder / "other", folder / "conf")  # noqa: PTH104 - as somebody else would
        (folder / "other").symlink_to("conf")
        assert refused(lambda: apply(workspace, planned)).code == "file.link"
        (folder / "other").unlink()
        (folder / "conf").rename(folder / "other")
        (folder / "conf").symlink_to("other")
        assert refused(lambda: apply(workspace, planned)).code == "file.protected"
    assert not list((folder / "other").iterdir())


@pytest.fixture
def kept(folder: Path) -> Iterator[Workspace]:
    """A workspace with private records in it, and links of both kinds to them."""
    (folder / "state").mkdir()
    for name in ("callboard.db", "callboard.db-wal"):
        (folder / "state" / name).write_text(TOKEN)
    (folder / "same.db").hardlink_to(folder / "state/callboard.db")
    (folder / "link.db").symlink_to("state/callboard.db")
    (folder / "link").symlink_to("state")
    (folder / "notes.md").write_text("nothing to hide")
    files = [f"state/{name}" for name in ("callboard.db", "callboard.db-wal")]
    with closing(Workspace(folder, private=["state", *files])) as made:
        yield made


@pytest.mark.parametrize(
    "path", ["state/callboard.db", "STATE/callboard.db", "state/new.txt", "same.db", "link.db", "link/a"]
)
def test_what_is_private_is_neither_read_nor_written(kept: Workspace, folder: Path, path: str) -> None:
    code = "file.link" if path.startswith("link") else "file.protected"
    for use in (
        lambda: read_text(kept, path),
        lambda: read_text(kept, path, 1, 1),
        lambda: search(kept, "token", path=path),
        lambda: plan_edit(kept, path, TOKEN, "x"),
        lambda: plan_write(kept, path, "x"),
    ):
        assert refused(use).code == code
    assert (folder / "state/callboard.db").read_text() == TOKEN


def test_what_is_private_is_passed_over_without_a_word(kept: Workspace) -> None:
    assert search(kept, "token") == "no match for token in 1 file"
    assert list_entries(kept) == "link (link)\nlink.db (link)\nnotes.md\nsame.db\nstate/"
    assert "callboard.db" not in list_entries(kept, ".", "**/*")
    for use in (lambda: list_entries(kept, "state"), lambda: search(kept, "token", path="state")):
        error = refused(use)
        assert error.code == "file.protected"
        assert "no tool reads or writes it" in str(error)


def test_what_becomes_private_is_not_read_either(folder: Path) -> None:
    with closing(Workspace(folder, private=["state"])) as workspace:
        assert refused(lambda: read_text(workspace, "state/callboard.db")).code == "file.protected"
        (folder / "elsewhere").mkdir()
        (folder / "elsewhere/callboard.db").write_text(TOKEN)
        (folder / "state").symlink_to("elsewhere")
        assert refused(lambda: read_text(workspace, "elsewhere/callboard.db")).code == "file.protected"
        assert TOKEN not in search(workspace, "token")


def test_no_tool_lets_go_of_the_locks_of_this_process(kept: Workspace, folder: Path) -> None:
    database = folder / "state/callboard.db"
    tries = f"import fcntl; fcntl.lockf(open({str(database)!r}, 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    with database.open("r+") as held:
        fcntl.lockf(held, fcntl.LOCK_EX)
        for path in ("state/callboard.db", "same.db", "link.db"):
            for use in (
                lambda path=path: read_text(kept, path),
                lambda path=path: search(kept, "token", path=path),
                lambda path=path: plan_write(kept, path, "x"),
            ):
                assert refused(use).hint
        assert TOKEN not in search(kept, "token")
        command = [sys.executable, "-c", tries]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert "BlockingIOError" in done.stderr
