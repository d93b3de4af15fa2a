"""`callboard runs export`: runs as lines of JSON, for other programs and for keeping."""

import contextlib
import os
import secrets
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

from cyclopts import Parameter

from callboard.cli.exits import DONE
from callboard.cli.flags import AsJson, ConfigPath
from callboard.cli.opened import no_run, opened
from callboard.cli.output import print_json, print_note
from callboard.cli.progress import Progress
from callboard.cli.times import MOMENTS, moment
from callboard.errors import ConfigError

if TYPE_CHECKING:
    from callboard.store import Store

EXAMPLES = """\
Examples:
  callboard runs export > runs.jsonl
  callboard runs export 3f9a --output run.jsonl
  callboard runs export --since 7d --output week.jsonl --json
"""


def export_runs(
    *runs: Annotated[str, Parameter(help="Ids of runs, or their beginnings; none means all.")],
    since: Annotated[str | None, Parameter(help=f"Only runs that began then or later: {MOMENTS}.")] = None,
    output: Annotated[Path | None, Parameter(help="The file to write; else standard output.")] = None,
    json: AsJson = False,
    config: ConfigPath = None,
) -> int:
    """Runs with their events, calls, steps and large results, as lines of JSON."""
    begun = moment(since, time.time())
    store = opened(config)
    ids: list[str] = []
    for run in runs:
        found = None if store is None else store.runs.get(run)
        if found is None:
            return no_run(run)
        ids.append(found.id)
    if output is None:
        for line in _lines(store, ids, begun):
            sys.stdout.write(line)
        return DONE
    with _written(output) as file, Progress("exporting") as progress:
        counted = 0
        for counted, line in enumerate(_lines(store, ids, begun), start=1):
            file.write(line)
            progress.tell(f"{counted} lines")
    if json:
        print_json({"file": str(output), "lines": counted, "bytes": output.stat().st_size})
    else:
        print_note(f"{counted} lines are in {output}")
    return DONE


def _lines(store: "Store | None", ids: Sequence[str], since: float | None) -> Iterator[str]:
    if store is not None:
        return store.export(ids, since=since)
    from callboard.store.exporting import nothing  # noqa: PLC0415 - for this command only

    return nothing()


@contextmanager
def _written(path: Path) -> Generator[IO[str]]:
    """The file, complete or not at all: it gets its name at the end, and only its owner can read it.

    Raises:
        ConfigError: it can't be written there.
    """
    made = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(f"{path}: can't be written: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            yield file
        try:
            made.replace(path)
        except OSError as error:
            raise ConfigError(f"{path}: can't be written: {error.strerror}") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            made.unlink()
