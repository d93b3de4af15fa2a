"""Somebody swaps a folder and a file for links to a secret, thousands of times, while the tools work."""

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from callboard.builtin.files import Workspace
from callboard.builtin.files.listing import list_entries
from callboard.builtin.files.reading import read_text
from callboard.builtin.files.searching import search
from callboard.builtin.files.writing import apply, plan_write
from callboard.errors import ToolError

SECONDS = 1.0
AT_FDCWD, RENAME_EXCHANGE = -100, 2


def exchange(left: Path, right: Path) -> None:
    """Swap two names in one step, so that there is never a moment without either."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(AT_FDCWD, os.fsencode(left), AT_FDCWD, os.fsencode(right), RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


class Swaps:
    """How often was swapped, and an end to it."""

    def __init__(self) -> None:
        self.count = 0
        self.over = threading.Event()
        self.thread: threading.Thread | None = None

    def end(self) -> None:
        self.over.set()
        if self.thread is not None:
            self.thread.join(10)


@pytest.fixture
def swaps(folder: Path) -> Iterator[Swaps]:
    """A thread that turns `box` and `box/swap.txt` into links to the outside and back."""
    (folder / "box").mkdir()
    for name in ("secret.txt", "swap.txt"):
        (folder / "box" / name).write_text("harmless")
    (folder / "box/link").symlink_to("../../outside/secret.txt")
    (folder / "link").symlink_to("../outside")
    held = os.open(folder / "box", os.O_RDONLY)
    box = Path(f"/proc/self/fd/{held}")
    made = Swaps()

    def swap() -> None:
        while not made.over.is_set():
            exchange(folder / "box", folder / "link")
            exchange(box / "swap.txt", box / "link")
            made.count += 1

    made.thread = threading.Thread(target=swap)
    made.thread.start()
    yield made
    made.end()
    os.close(held)


def test_the_secret_never_comes_out_and_nothing_is_written_to_it(
    workspace: Workspace, folder: Path, swaps: Swaps
) -> None:
    outside = folder.parent / "outside"
    secret = (outside / "secret.txt").read_text()
    uses: list[Callable[[], str]] = [
        lambda: read_text(workspace, "box/secret.txt"),
        lambda: read_text(workspace, "box/swap.txt", 1, 1),
        lambda: search(workspace, "secret"),
        lambda: search(workspace, "secret", path="box/swap.txt"),
        lambda: list_entries(workspace, "box"),
        lambda: apply(workspace, plan_write(workspace, "box/secret.txt", "harmless")),
        lambda: apply(workspace, plan_write(workspace, "box/swap.txt", "harmless")),
        lambda: apply(workspace, plan_write(workspace, "box/deep/new.txt", "harmless")),
    ]
    answers: dict[str, int] = {}
    started = time.monotonic()

    def enough() -> bool:
        passed = time.monotonic() - started
        seen = swaps.count > 100 and {"harmless", "file.link"} <= answers.keys()
        return passed > (SECONDS if seen else 20 * SECONDS)

    while not enough():
        for use in uses:
            try:
                answer = use()
            except ToolError as error:
                answer = error.code
            assert secret not in answer
            answers[answer] = answers.get(answer, 0) + 1
    swaps.end()
    assert swaps.count > 100, "the swapping thread did not get to work"
    assert answers.get("harmless"), answers
    assert answers.get("file.link"), answers
    assert [entry.name for entry in outside.iterdir()] == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == secret
    assert not list(folder.rglob("*.callboard-tmp"))
