"""What the operator reads when the state folder can't be used, and what survives a killed process."""

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from callboard.errors import StoreError
from callboard.events import RunEvent
from callboard.store import StoredRun, open_store


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
        "from callboard.store import StoredRun, open_store\n"
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


WRITING = """
import sys
from callboard.events import RunEvent
from callboard.store import StoredRun, open_store
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


def test_the_files_are_the_owners_alone_in_a_folder_that_others_see(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "callboard.db").touch(mode=0o644)
    with open_store(tmp_path) as store:
        store.events.append(RunEvent("r1", "p", 1, "notice", 1.0, {}).to_json())
        files = list(tmp_path.glob("callboard.db*"))
        assert len(files) == 3
        assert [path.stat().st_mode & 0o777 for path in files] == [0o600] * 3
    assert (tmp_path / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_a_folder_that_holds_other_things_keeps_them_in_version_control(tmp_path: Path) -> None:
    (tmp_path / "notes.md").touch()
    open_store(tmp_path).close()
    assert (tmp_path / ".gitignore").read_text(encoding="utf-8") == "/callboard.db*\n/owners/\n"
    (tmp_path / ".gitignore").write_text("mine\n")
    open_store(tmp_path).close()
    assert (tmp_path / ".gitignore").read_text(encoding="utf-8") == "mine\n"


def test_a_state_folder_that_is_a_link_to_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").symlink_to(tmp_path / "gone" / "away")
    with pytest.raises(StoreError, match=r"the state folder .*state is a link that leads nowhere"):
        open_store(tmp_path / "state")


def test_a_damaged_row_is_named_and_hides_no_other(tmp_path: Path) -> None:
    call = {"tool_id": "add", "kind": "read", "status": "ok", "agent": None}
    call |= {"started_ns": 1, "duration_ns": 2, "arguments": "{}"}
    with open_store(tmp_path) as store:
        for number in (1, 2):
            store.runs.start(StoredRun(id=f"r{number}", profile="loop", started_at=1.0))
            store.events.append(RunEvent("r1", "p", number, "notice", 1.0, {"n": number}).to_json())
            store.calls.add({**call, "invocation_id": f"c{number}"}, run="r1")
        store.runs.finish("r1", "completed", finished_at=2.0, usage={"tokens": 1})
    with sqlite3.connect(tmp_path / "callboard.db") as connection:
        connection.execute("UPDATE calls SET record = '{' WHERE seq = 1")
        connection.execute("UPDATE events SET data = ? WHERE seq = 1", ("[" * 100_000,))
        connection.execute("UPDATE runs SET usage = '{' WHERE seq = 1")
    connection.close()
    with open_store(tmp_path) as store:
        good, bad = store.calls.list()
        assert (good["arguments"], "damaged" in good) == ("{}", False)
        assert (bad["invocation_id"], bad["tool_id"], bad["seq"], bad["damaged"]) == ("c1", "add", 1, True)
        first, second = store.events.of("r1")
        assert first["type"] == "notice"
        assert first["data"]["text"] == "an event is damaged in the file: notice, row 1 of its table events"
        assert second["data"] == {"n": 2}
        run = store.runs.get("r1")
        assert run is not None
        assert (run.usage, run.message) == (None, "its usage is damaged in the file: row 1 of the table runs")


def test_a_missing_table_is_said_with_the_way_out(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    with sqlite3.connect(tmp_path / "callboard.db") as connection:
        connection.execute("DROP TABLE calls")
    connection.close()
    with open_store(tmp_path) as store, pytest.raises(StoreError, match="no such table: calls") as caught:
        store.calls.list()
    assert caught.value.hint == "restore a copy, or move the file away; a new one is made at the next start"


HOLDING = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
sys.stdin.read()
"""


@contextmanager
def held(path: Path) -> Generator[IO[str]]:
    """Another process holds the file, until a line is written to it."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        try:
            yield holder.stdin
        finally:
            holder.kill()


def test_a_store_that_is_held_for_a_while_is_waited_for(tmp_path: Path) -> None:
    with open_store(tmp_path) as store, held(store.path) as holder:
        stop = threading.Timer(0.4, lambda: (holder.write("go\n"), holder.flush()))
        stop.start()
        assert store.events.append(RunEvent("r1", "p", 1, "notice", 1.0, {}).to_json()) == 1
        stop.join()


def test_a_store_that_is_held_for_long_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callboard.store.database.PATIENCE", 0.3)
    with open_store(tmp_path) as store, held(store.path):
        with pytest.raises(StoreError, match="is held by another process"):
            store.events.append(RunEvent("r1", "p", 1, "notice", 1.0, {}).to_json())
        assert list(store.events.of("r1")) == []


def test_a_signal_is_heard_while_a_held_store_is_waited_for(tmp_path: Path) -> None:
    class Heard(Exception):
        pass

    def hear(*_: object) -> None:
        raise Heard

    before = signal.signal(signal.SIGALRM, hear)
    try:
        with open_store(tmp_path) as store, held(store.path) as holder:
            began = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(Heard):
                store.events.append(RunEvent("r1", "p", 1, "notice", 1.0, {}).to_json())
            assert time.monotonic() - began < 3
            holder.write("go\n")
            holder.flush()
            assert store.events.append(RunEvent("r1", "p", 1, "notice", 1.0, {}).to_json()) == 1
    finally:
        signal.signal(signal.SIGALRM, before)


LOOKING = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT * FROM runs")
connection.close()
"""


def test_opening_a_store_twice_lets_go_of_no_lock(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.events.append(RunEvent("r1", "p", 1, "notice", 1.0, {}).to_json())
        with open_store(tmp_path) as second:
            assert second.path == store.path
        subprocess.run([sys.executable, "-c", LOOKING, str(store.path)], check=True, timeout=50)
        # a process that believes it is the last one folds the log into the file and removes it
        assert store.path.with_name("callboard.db-wal").exists()
