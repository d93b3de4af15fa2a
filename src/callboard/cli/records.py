"""`callboard runs`: the runs that were recorded."""

import time
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from callboard.cli.exits import DONE
from callboard.cli.flags import RUN_STATUSES, AsJson, ConfigPath, Limit, Status, split
from callboard.cli.opened import no_run, opened
from callboard.cli.output import print_json, print_table, print_text, when

if TYPE_CHECKING:
    from callboard.store import StoredRun

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


def list_runs(
    *, status: Status = None, limit: Limit = 20, json: AsJson = False, config: ConfigPath = None
) -> int:
    """The runs, newest first."""
    from callboard.store import RunFilter  # noqa: PLC0415 - for this command only

    wanted = RunFilter(status=split(status, RUN_STATUSES), limit=limit)
    store = opened(config)
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
    store = opened(config)
    found = None if store is None else store.runs.get(run)
    if store is None or found is None:
        return no_run(run)
    events = list(store.events.of(found.id))
    if json:
        print_json({"run": found.to_json(), "events": events})
        return DONE
    from callboard.cli.history import lines  # noqa: PLC0415 - rich

    for line in lines(found, events):
        print_text(line)
    return DONE


def _status(run: "StoredRun") -> str:
    if run.status == "running":
        return f"running {time.time() - run.started_at:.0f} s"
    return run.status + (f" ({run.reason})" if run.reason else "")
