"""`callboard calls stats`: figures of the recorded calls, by tool."""

from typing import TYPE_CHECKING

from callboard.cli.calls import Wanted
from callboard.cli.exits import DONE
from callboard.cli.flags import AsJson, ConfigPath
from callboard.cli.opened import no_run, opened, whole_id
from callboard.cli.output import print_json, print_note, print_table

if TYPE_CHECKING:
    from callboard.views import ToolFigures

EXAMPLES = """\
Examples:
  callboard calls stats
  callboard calls stats --since 24h --json
  callboard calls stats --run 3f9a
  callboard calls stats --tool search_files --real
"""

_LONG = 10_000  # milliseconds that are told in seconds


def call_stats(*, wanted: Wanted | None = None, json: AsJson = False, config: ConfigPath = None) -> int:
    """How many calls there were, how they ended and how long they took, by tool.

    Times are those of the calls' own work: waiting for a person is left out, and so are denied calls.
    """
    from callboard.views import Measure, figures  # noqa: PLC0415 - for this command only

    asked = wanted or Wanted()
    asked.filter(None, 1)  # what is wrong with the words is said first
    store = opened(config)
    run = None
    if asked.run is not None:
        run = None if store is None else whole_id(store, asked.run)
        if run is None:
            return no_run(asked.run)
    found = [] if store is None else figures(map(Measure._make, store.calls.measures(asked.filter(run, 1))))
    if json:
        print_json([each.to_json() for each in found])
        return DONE
    headings = ("tool", "calls", "ok", "failed", "denied", "other", "p50", "p95", "max", "codes")
    print_table(headings, [_row(each) for each in found])
    if store is not None and not found:
        for line in asked.unknown(store):
            print_note(line)
    return DONE


def _row(figures: "ToolFigures") -> tuple[str, ...]:
    ends = [figures.statuses.get(status, 0) for status in ("ok", "failed", "denied")]
    return (
        figures.tool,
        str(figures.calls),
        *map(str, ends),
        str(figures.calls - sum(ends)),
        *(_time(ms) for ms in (figures.p50_ms, figures.p95_ms, figures.max_ms)),
        ", ".join(f"{count} {code}" for code, count in figures.codes.items()),
    )


def _time(ms: float | None) -> str:
    if ms is None:
        return "-"
    return f"{ms / 1000:.1f} s" if ms >= _LONG else f"{ms:.1f} ms"
