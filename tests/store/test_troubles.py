"""What the operator reads when the state folder can't be used, and what survives a killed process."""

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from callboard.errors import StoreError
from callboard.events import RunEvent
from callboard.store import open_store


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that any user can reach, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="callboard-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_nobody(folder: Path) -> str:
    """Open the store as a user without rights; returns what the error said."""
    code = (
        "import os, sys\n"
        "import alembic.command, callboard.store.owners, callboard.store.runs\n"
        "from callboard.errors import StoreError\n"
        "from callboard.store import open_store\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "try: open_store(sys.argv[1])\n"
        "except StoreError as error: print(error, '|', error.hint)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, timeout=50, check=False
    )
    assert done.stderr == ""
    return done.stdout


def test_a_folder_that_cant_be_made_is_named_with_the_reason(open_to_all: Path) -> None:
    open_to_all.chmod(0o555)
    said = as_nobody(open_to_all / "state")
    assert said.startswith(
        f"the state folder {open_to_all}/state can't be made: Permission denied | check who owns"
    )


def test_a_read_only_folder_is_named_with_the_reason(open_to_all: Path) -> None:
    open_to_all.chmod(0o555)
    said = as_nobody(open_to_all)
    assert said.startswith(f"{open_to_all}/callboard.db can't be opened")
    assert "set [state] folder to another place" in said


def test_a_read_only_file_is_named_with_the_reason(open_to_all: Path) -> None:
    open_store(open_to_all).close()
    (open_to_all / "callboard.db").chmod(0o444)
    open_to_all.chmod(0o555)
    said = as_nobody(open_to_all)
    assert said.startswith(f"{open_to_all}/callboard.db can't be")
    assert "check who owns the folder" in said


def test_a_state_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("hello")
    with pytest.raises(StoreError, match=r"the state folder .*state is a file"):
        open_store(tmp_path / "state")


@pytest.mark.parametrize(
    "content", [b"this is no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "callboard.db").write_bytes(content)
    with pytest.raises(StoreError, match=r"callboard\.db is (not a Callboard store|damaged)") as caught:
        open_store(tmp_path)
    assert caught.value.hint is not None
    assert "move the file away" in caught.value.hint
    assert (tmp_path / "callboard.db").read_bytes() == content


def test_a_damaged_page_is_reported_as_damage(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.events.append_all(
            RunEvent("r1", "p", n, "notice", 1.0, {"x": "y" * 900}).to_json() for n in range(1, 60)
        )
    path = tmp_path / "callboard.db"
    content = bytearray(path.read_bytes())
    content[4096 * 8 :] = b"\xab" * (len(content) - 4096 * 8)
    path.write_bytes(content)
    with open_store(tmp_path) as store, pytest.raises(StoreError, match="is damaged"):
        list(store.events.of("r1"))


def test_a_full_disk_is_said_and_what_was_stored_stays(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.events.append(RunEvent("r1", "p", 1, "notice", 1.0, {}).to_json())
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = store.path.with_name("callboard.db-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 4096, before[1]))
        try:
            with pytest.raises(StoreError, match=r"can't (grow|be read or written)") as caught:
                store.events.append(RunEvent("r1", "p", 2, "notice", 1.0, {"x": "y" * 100_000}).to_json())
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert caught.value.hint is not None
        assert store.events.append(RunEvent("r1", "p", 3, "notice", 1.0, {}).to_json()) is not None
        assert [event["n"] for event in store.events.of("r1")] == [1, 3]


def test_a_store_held_by_another_process_is_waited_for(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        other = sqlite3.connect(store.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
        assert store.events.append(RunEvent("r1", "p", 1, "notice", 1.0, {}).to_json()) == 1
        other.close()


WRITING = """
import sys
from callboard.events import RunEvent
from callboard.store import open_store
store = open_store(sys.argv[1])
n = 0
while True:
    n += 1
    store.events.append(RunEvent("r1", "p", n, "notice", 1.0, {"x": "y" * 300}).to_json())
    store.journal.begin("r1", f"s{n}")
    print(n, flush=True)
"""


def test_what_was_stored_survives_a_kill_in_the_middle_of_writing(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITING, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if int(line) >= 200:
                break
        os.kill(writer.pid, signal.SIGKILL)
        promised = max([200, *(int(line) for line in writer.stdout if line.endswith("\n"))])
    assert writer.returncode == -signal.SIGKILL
    with open_store(tmp_path) as store:
        stored = [event["n"] for event in store.events.of("r1")]
        assert stored == list(range(1, len(stored) + 1))
        assert len(stored) >= promised
        assert len(store.journal.load("r1")) >= promised
        assert store.events.append(RunEvent("r1", "p", 1, "notice", 1.0, {}).to_json()) is None


def test_a_new_state_folder_is_the_owners_alone_and_kept_out_of_git(tmp_path: Path) -> None:
    with open_store(tmp_path / "a" / "state") as store:
        assert store.path.parent.stat().st_mode & 0o077 == 0
        assert (store.path.parent / ".gitignore").read_text(encoding="utf-8") == "*\n"
