"""What a killed write leaves behind is removed by a later one."""

import os
import time
from pathlib import Path

import pytest

from callboard.builtin.files import Workspace
from callboard.builtin.files.leftovers import MAX_AGE, temporary_name
from callboard.builtin.files.writing import apply, plan_write, preview


def aged(path: Path, seconds: float = MAX_AGE + 60) -> Path:
    then = time.time() - seconds
    os.utime(path, (then, then), follow_symlinks=False)
    return path


def leftover(folder: Path, seconds: float = MAX_AGE + 60) -> Path:
    path = folder / temporary_name()
    path.write_text("half of it")
    return aged(path, seconds)


def test_the_next_write_in_a_folder_removes_old_leftovers_there(workspace: Workspace, folder: Path) -> None:
    (folder / "sub").mkdir()
    old, elsewhere = leftover(folder / "sub"), leftover(folder)
    planned = plan_write(workspace, "sub/a.txt", "x")
    preview(planned)
    assert old.exists()
    apply(workspace, planned)
    assert not old.exists()
    assert elsewhere.exists()
    assert (folder / "sub/a.txt").read_text() == "x"


def test_what_may_still_be_written_or_is_not_ours_is_kept(workspace: Workspace, folder: Path) -> None:
    outside = folder.parent / "outside/secret.txt"
    kept = [leftover(folder, 60), leftover(folder, -MAX_AGE)]
    for name in ("a.callboard-tmp", ".0123.callboard-tmp", ".0123456789abcdef.callboard-tmp.txt"):
        (folder / name).write_text("a person's")
        kept.append(aged(folder / name))
    link = folder / temporary_name()
    link.symlink_to(outside)
    linked = folder / temporary_name()
    linked.hardlink_to(aged(outside))
    room = folder / temporary_name()
    room.mkdir()
    kept += [aged(link), linked, aged(room)]
    apply(workspace, plan_write(workspace, "a.txt", "x"))
    assert sorted(folder.iterdir()) == sorted([*kept, folder / "a.txt"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_the_leftover_of_another_user_is_kept(workspace: Workspace, folder: Path) -> None:
    old = leftover(folder)
    os.chown(old, 65534, -1)
    apply(workspace, plan_write(workspace, "a.txt", "x"))
    assert old.exists()
