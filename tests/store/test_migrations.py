"""Files of every age: made, upgraded, refused, opened by several at once."""

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import event

from callboard.errors import StoreError
from callboard.store import CallFilter, RunFilter, StoredRun, open_store
from callboard.store.tables import metadata
from callboard.store.version import HEAD

CORPUS = Path(__file__).parent / "corpus"


def scripts() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", "callboard.store:migrations")
    return ScriptDirectory.from_config(config)


def test_the_newest_migration_is_the_one_that_the_store_expects() -> None:
    assert scripts().get_current_head() == HEAD


def test_the_migrations_lead_to_the_tables_that_the_code_uses(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        engine = sa.create_engine(f"sqlite:///{store.path}")
        with engine.connect() as connection:
            context = MigrationContext.configure(connection)
            assert compare_metadata(context, metadata) == []
        engine.dispose()


def test_there_is_an_old_file_for_every_version() -> None:
    versions = {script.revision for script in scripts().walk_revisions()}
    assert {path.stem for path in CORPUS.glob("*.db")} == versions


@pytest.mark.parametrize("old", sorted(CORPUS.glob("*.db")), ids=lambda path: path.stem)
def test_an_old_file_opens_with_all_that_is_in_it(old: Path, tmp_path: Path) -> None:
    shutil.copy(old, tmp_path / "callboard.db")
    with open_store(tmp_path) as store:
        [run] = store.runs.list(RunFilter(status=("completed",)))
        assert (run.id, run.text, run.usage) == ("r1", "3", {"input_tokens": 12, "output_tokens": 4})
        assert [event["type"] for event in store.events.of("r1")] == ["run.started", "run.finished"]
        assert [call["invocation_id"] for call in store.calls.list(CallFilter(run="r1"))] == ["c1"]
        assert [step.step_id for step in store.journal.load("r1")] == ["act#1/tool.add.1"]
        store.runs.start(StoredRun(id="r2", profile="loop", started_at=5.0))
        assert store.events.append({**next(store.events.of("r1")), "run": "r2"}) is not None


def test_an_older_files_calls_are_found_by_what_their_records_say(tmp_path: Path) -> None:
    shutil.copy(CORPUS / "0001.db", tmp_path / "callboard.db")
    with sqlite3.connect(tmp_path / "callboard.db") as connection:
        (kept,) = connection.execute("SELECT record FROM calls").fetchone()
        failed = {**json.loads(kept), "failure": {"code": "args.invalid"}, "simulated": True}
        failed["invocation_id"] = "c2"
        failed["principal"] = ["bob", "acme"]
        for name, record in (("c2", json.dumps(failed)), ("c3", "{damaged")):
            connection.execute(
                "INSERT INTO calls (invocation_id, tool_id, kind, status, started_ns, duration_ns, record)"
                " VALUES (?, 'add', 'read', 'failed', 1, 1, ?)",
                (name, record),
            )
    connection.close()
    with open_store(tmp_path) as store:

        def found(**wanted: Any) -> list[str]:
            return [call["invocation_id"] for call in store.calls.list(CallFilter(**wanted))]

        assert found(code=("args.invalid",)) == ["c2"]
        assert found(user="ann") == ["c1"]
        assert found(tenant="acme", simulated=True) == ["c2"]
        assert found(simulated=False) == ["c1"]
        assert found() == ["c3", "c2", "c1"]


@pytest.mark.parametrize(
    "wanted",
    [
        CallFilter(code=("x",)),
        CallFilter(user="x"),
        CallFilter(tenant="x"),
        CallFilter(agent="x"),
        CallFilter(status=("ok",)),
        CallFilter(tool=("x",)),
        CallFilter(run="x"),
        CallFilter(simulated=True),
    ],
    ids=str,
)
def test_what_is_asked_for_is_found_by_an_index(tmp_path: Path, wanted: CallFilter) -> None:
    asked: list[str] = []
    with open_store(tmp_path) as store:

        def note(_c: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
            asked.append(statement)
            plans.append(parameters)

        plans: list[Any] = []
        event.listen(sa.Engine, "before_cursor_execute", note)
        try:
            store.calls.list(wanted)
        finally:
            event.remove(sa.Engine, "before_cursor_execute", note)
        with sqlite3.connect(store.path) as connection:
            rows = connection.execute(f"EXPLAIN QUERY PLAN {asked[-1]}", plans[-1]).fetchall()
        connection.close()
    assert "USING INDEX" in str(rows)


def test_a_file_of_a_newer_callboard_is_refused(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    with sqlite3.connect(tmp_path / "callboard.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9000'")
    connection.close()
    with pytest.raises(
        StoreError, match=r"callboard\.db was written by a newer Callboard \(tables 9000"
    ) as caught:
        open_store(tmp_path)
    assert caught.value.hint == "upgrade Callboard, or set [state] folder to another place"


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "callboard.db") as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StoreError, match=r"belongs to another program .*'theirs'"):
        open_store(tmp_path)
    with sqlite3.connect(tmp_path / "callboard.db") as connection:
        names = connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()
    assert names == [("theirs",)]


def test_a_migration_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "callboard.db").touch()
    with open_store(tmp_path) as store:
        assert store.runs.list() == []


OPENING = """
import sys
from callboard.store import open_store
print("ready", flush=True)
sys.stdin.readline()
with open_store(sys.argv[1]) as store:
    assert store.runs.list() == []
"""


def test_several_processes_may_open_a_new_folder_at_once(tmp_path: Path) -> None:
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", OPENING, str(tmp_path / "state")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for opener in openers:
        assert opener.stdout is not None
        assert opener.stdout.readline() == "ready\n"
    ends: list[tuple[int, str]] = []
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("go\n")
        opener.stdin.flush()
    for opener in openers:
        _, said = opener.communicate(timeout=50)
        ends.append((opener.returncode, said))
    assert ends == [(0, "")] * 3


def test_an_up_to_date_file_opens_without_alembic(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    code = (
        "import sys; from callboard import store; assert 'sqlalchemy' not in sys.modules; "
        "store.open_store(sys.argv[1]).close(); print('sqlalchemy' in sys.modules, 'alembic' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=50, check=True
    )
    assert done.stdout == "True False\n"
