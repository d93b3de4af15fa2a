"""`callboard runs prune`: old runs go, with all that belongs to them."""

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import CycloptsError, Parameter, validators

from callboard.cli.exits import DONE
from callboard.cli.flags import AsJson, ConfigPath
from callboard.cli.opened import opened
from callboard.cli.output import print_json, print_text
from callboard.cli.progress import Progress

if TYPE_CHECKING:
    from callboard.store import Pruned

EXAMPLES = """\
Examples:
  callboard runs prune --keep-days 30 --dry-run
  callboard runs prune --keep-runs 1000
  callboard runs prune --max-size 500MB
  callboard runs prune                       (by [store] of callboard.toml)

A run that has not ended is never deleted. The limits work together: what is
beyond one of them goes. With none, those of the configuration count.
"""

KeepDays = Annotated[
    float | None,
    Parameter(validator=validators.Number(gte=0), help="Keep what began in the last N days."),
]
KeepRuns = Annotated[
    int | None, Parameter(validator=validators.Number(gte=0), help="Keep the newest N runs.")
]


def prune_runs(
    *,
    keep_days: KeepDays = None,
    keep_runs: KeepRuns = None,
    max_size: Annotated[str | None, Parameter(help="Keep the store below this size, such as 500MB.")] = None,
    dry_run: Annotated[
        bool, Parameter(negative="", show_default=False, help="Say what would go; nothing does.")
    ] = False,
    json: AsJson = False,
    config: ConfigPath = None,
) -> int:
    """Delete old runs with their events, calls, steps and large results, and give back the space."""
    from callboard.config import load  # noqa: PLC0415 - pydantic
    from callboard.store import Pruned, Retention  # noqa: PLC0415 - for this command only

    kept = Retention(keep_days=keep_days, keep_runs=keep_runs, max_size=_bytes(max_size))
    if kept.keeps_all:
        kept = Retention.of(load(config).store)
    if kept.keeps_all:
        raise CycloptsError(
            msg="nothing says what is kept: "
            "give --keep-days, --keep-runs or --max-size, or set them in [store] of callboard.toml"
        )
    store = opened(config)
    if store is None:
        gone = Pruned()
    elif dry_run:
        gone = store.would_prune(kept)
    else:
        with Progress("pruning") as progress:
            gone = store.prune(kept, lambda so_far: progress.tell(_how_far(so_far)))
    if json:
        print_json(_as_json(gone, dry_run=dry_run))
    else:
        for line in _told(gone, dry_run=dry_run):
            print_text(line)
    return DONE


def _bytes(text: str | None) -> int | None:
    from callboard.config.amounts import size_of  # noqa: PLC0415 - pydantic comes with it

    try:
        return None if text is None else size_of(text)
    except ValueError as error:
        raise CycloptsError(msg=f"--max-size: {error}") from None


def _how_far(gone: "Pruned") -> str:
    runs, calls = len(gone.runs), gone.calls
    return f"{runs} run{'s' * (runs != 1)}, {calls} call{'s' * (calls != 1)} outside of runs"


def _told(gone: "Pruned", *, dry_run: bool) -> list[str]:
    from callboard.config.amounts import shown_size  # noqa: PLC0415 - pydantic comes with it

    went = "would go" if dry_run else "went"
    lines = [f"{run}  {went} by {reason}" for run, reason in gone.runs] if dry_run else []
    size = f"the store has {shown_size(gone.bytes_before)}"
    about = "about " if dry_run else ""
    then = f", {'then' if dry_run else 'now'} {about}{shown_size(gone.bytes_after)}"
    lines.append(f"{_how_far(gone)} {went}; {size if dry_run else size.replace('has', 'had')}{then}")
    return lines


def _as_json(gone: "Pruned", *, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "runs": [{"id": run, "reason": reason} for run, reason in gone.runs],
        "calls": gone.calls,
        "bytes_before": gone.bytes_before,
        "bytes_after": gone.bytes_after,
    }
