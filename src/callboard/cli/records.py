"""`callboard runs` and `callboard calls`: what was recorded."""

import os
import time
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from callboard.cli.exits import DONE, FAILED
from callboard.cli.flags import CALL_STATUSES, RUN_STATUSES, AsJson, ConfigPath, Limit, Status, split
from callboard.cli.output import print_error, print_json, print_table, print_text, when

if TYPE_CHECKING:
    from callboard.store import Store, StoredRun

EXAMPLES = """\
Examples:
  callboard runs
  callboard runs show 3f9a
"""
LIST_EXAMPLES = """\
Examples:
  callboard runs list
  callboard runs list --status failed,cancelled --json
"""
SHOW_EXAMPLES = """\
Examples:
  callboard runs show 3f9a            (the beginning of an id is enough)
  callboard runs show 3f9a --json
"""
CALLS_EXAMPLES = """\
Examples:
  callboard calls
  callboard calls --run 3f9a --status failed,denied
  callboard calls --tool write_file --json --limit 500
"""


def list_runs(
    *, status: Status = None, limit: Limit = 20, json: AsJson = False, config: ConfigPath = None
) -> int:
    """The runs, newest first."""
    from callboard.store import RunFilter  # noqa: PLC0415 - for this command only

    wanted = RunFilter(status=split(status, RUN_STATUSES), limit=limit)
    store = _open(config)
    found = [] if store is None else store.runs.list(wanted)
    if json:
        print_json([run.to_json() for run in found])
        return DONE
    rows = [
        (
            run.id,
            when(run.started_at),
            _status(run),
            run.profile,
            run.model or "",
            run.input.replace("\n", " "),
        )
        for run in found
    ]
    print_table(("run", "started", "status", "profile", "model", "asked"), rows)
    return DONE


def show_run(
    run: Annotated[str, Parameter(help="The run's id, or its beginning.")],
    /,
    *,
    json: AsJson = False,
    config: ConfigPath = None,
) -> int:
    """One run, as it was shown while it happened."""
    store = _open(config)
    found = None if store is None else store.runs.get(run)
    if store is None or found is None:
        return _no_run(run)
    events = list(store.events.of(found.id))
    if json:
        print_json({"run": found.to_json(), "events": events})
        return DONE
    from callboard.cli.history import lines  # noqa: PLC0415 - rich

    for line in lines(found, events):
        print_text(line)
    return DONE


def list_calls(
    *,
    run: Annotated[
        str | None, Parameter(help="Only calls of this run, its id or the beginning of it.")
    ] = None,
    status: Status = None,
    tool: Annotated[str | None, Parameter(help="Only calls of this tool.")] = None,
    limit: Limit = 50,
    json: AsJson = False,
    config: ConfigPath = None,
) -> int:
    """The records of calls, newest first: those of runs, and those made outside of runs."""
    from callboard.store import CallFilter  # noqa: PLC0415 - for this command only

    statuses = split(status, CALL_STATUSES)
    store = _open(config)
    if run is not None:
        found = None if store is None else _run_id(store, run)
        if found is None:
            return _no_run(run)
        run = found
    wanted = CallFilter(run=run, status=statuses, tool=tool, limit=limit)
    calls = [] if store is None else store.calls.list(wanted)
    if json:
        print_json(calls)
        return DONE
    print_table(("started", "run", "tool", "status", "took", "what"), [_row(call) for call in calls])
    return DONE


def _run_id(store: "Store", run: str) -> str | None:
    """The whole id of a run, or of a child of one; None where there is no such run."""
    root, slash, child = run.partition("/")
    found = store.runs.get(root)
    return None if found is None else found.id + slash + child


def _no_run(run: str) -> int:
    print_error(f"there is no run {run!r}", hint="callboard runs list shows them")
    return FAILED


def _row(call: dict[str, Any]) -> tuple[str, ...]:
    failure: dict[str, Any] | None = call.get("failure")
    what = call.get("arguments") or ""
    if failure:
        what = f"{failure['code']}: {failure['message']}  {what}"
    if call.get("damaged"):
        what = f"the rest is damaged in the file: row {call['seq']} of the table calls"
    return (
        when(call["started_ns"] / 1e9),
        call["run"] or "-",
        call["tool_id"],
        call["status"] + (" (simulated)" if call.get("simulated") else ""),
        f"{call['duration_ns'] / 1e6:.1f} ms" if call["duration_ns"] else "-",
        what,
    )


def _status(run: "StoredRun") -> str:
    if run.status == "running":
        return f"running {time.time() - run.started_at:.0f} s"
    return run.status + (f" ({run.reason})" if run.reason else "")


def _open(config: ConfigPath) -> "Store | None":
    """The store, where there is one: looking never makes it. Runs of dead processes are ended first."""
    from callboard.config import load  # noqa: PLC0415 - pydantic
    from callboard.store import open_store  # noqa: PLC0415 - SQLAlchemy comes with it

    folder = load(config).state_folder
    if not os.path.lexists(folder):
        return None
    store = open_store(folder)
    store.settle_abandoned(time.time())
    return store
