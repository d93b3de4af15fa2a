"""A run from the store, told in lines."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from callboard.cli import drawing
from callboard.cli.output import when
from callboard.events import RunEvent
from callboard.store import StoredRun
from callboard.views import Footer, Said, abandon, fold


def lines(run: StoredRun, events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What the run was, and what happened in it."""
    reason = f" ({run.model_reason})" if run.model_reason else ""
    yield f"run: {run.id}, profile {run.profile}, started {when(run.started_at)}"
    yield f"model: {run.model or 'unknown'}{reason}"
    if run.workspace:
        yield f"workspace: {run.workspace}"
    yield "asked:"
    yield from drawing.said(run.input)
    state = fold(run.id, (RunEvent(**event) for event in events))
    if run.status != "running":
        abandon(state)
    for entry in state.history:
        yield drawing.entry(entry).plain
    said = [entry.text for entry in state.history if isinstance(entry, Said)]
    if run.text and run.text not in said[-1:]:
        yield "answer:"
        yield from drawing.said(run.text)
    if run.status == "running":
        for card in state.open:
            yield drawing.unfinished(card, time.time()).plain
        yield "the run has not ended"
        return
    yield drawing.footer(_footer(run, state.footer)).plain


def _footer(run: StoredRun, told: Footer) -> Footer:
    """The footer of the events; a run whose process ended has its end in its row only."""
    if told.status != "running":
        return told
    return replace(told, status=run.status, reason=run.reason, message=run.message)
