"""A run from the store, told in lines."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from callboard.cli import drawing
from callboard.cli.output import when
from callboard.events import RunEvent
from callboard.store import StoredRun
from callboard.views import Said, fold


def lines(run: StoredRun, events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What the run was, and what happened in it."""
    reason = f" ({run.model_reason})" if run.model_reason else ""
    yield f"run: {run.id}, profile {run.profile}, started {when(run.started_at)}"
    yield f"model: {run.model or 'unknown'}{reason}"
    if run.workspace:
        yield f"workspace: {run.workspace}"
    yield f"asked: {run.input}"
    state = fold(run.id, (RunEvent(**event) for event in events))
    for entry in state.history:
        yield drawing.entry(entry).plain
    said = [entry.text for entry in state.history if isinstance(entry, Said)]
    if run.text and run.text not in said[-1:]:
        yield f"answer: {run.text}"
    if run.finished_at is None:
        yield "the run has not ended, or its process was killed"
        return
    yield drawing.footer(state.footer).plain
