"""One run, from its order to its result: stored, driven, answered."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from callboard.conversation import Message
from callboard.errors import CallboardError, StoreError
from callboard.events import RunEvent
from callboard.host.profiles import Profile
from callboard.host.recording import Ledger
from callboard.host.result import RunResult
from callboard.models import Choice, Model
from callboard.orchestration import run_loop
from callboard.registry import ToolRegistry
from callboard.runs import Journal
from callboard.store import StoredRun
from callboard.store.store import Store
from callboard.types import Abort, ExecutionOptions
from callboard.workflow import Outcome, Run

if TYPE_CHECKING:
    from callboard.telemetry import Spans


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What was ordered: everything about a run that can be written down."""

    id: str
    prompt: str
    profile_name: str
    profile: Profile
    model: Choice
    conversation: tuple[Message, ...]
    workspace: Path
    simulate: bool
    principal: tuple[str | None, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a run works with."""

    store: Store
    ledger: Ledger
    tools: ToolRegistry
    open_model: Callable[[str | None], Model]
    execution: ExecutionOptions
    abort: Abort
    publish: Callable[[RunEvent], None]
    spans: "Spans | None" = None


async def execute(order: Order, around: Surroundings) -> RunResult:
    """Drive a run to its end; every event and step is stored before anybody sees it.

    Raises:
        StoreError: the store can't be written: nothing is run unrecorded.
    """
    store = around.store
    store.runs.start(_row(order, store.this_process()))
    try:
        with around.ledger.run(order.id, around.abort) as troubles:
            result = await _driven(order, around, troubles)
        store.runs.finish(
            order.id,
            result.status,
            finished_at=time.time(),
            reason=result.reason,
            message=result.message,
            text=result.text,
            rounds=result.rounds,
            usage=result.usage,
        )
    except BaseException as error:
        with suppress(StoreError):  # where this can't be written either, the next one to open the store does
            _note_end(store, order.id, error)
        raise
    return result


async def _driven(order: Order, around: Surroundings, troubles: Sequence[StoreError]) -> RunResult:
    usage: Counter[str] = Counter()

    def listen(event: RunEvent) -> None:
        if not event.n:  # transient: nobody stores it
            around.publish(event)
            return
        if event.type == "model.finished":
            usage.update(event.data.get("usage", {}))
        try:
            seq = around.store.events.append(event.to_json())
        except StoreError as error:
            around.ledger.failed(order.id, error)
            return  # what is not stored is not seen either
        if seq is not None:
            around.publish(event._replace(seq=seq))

    journal = Journal(around.store.journal)
    run = Run(
        id=order.id,
        tools=around.tools,
        steps=journal,
        listener=listen,
        execution=around.execution,
        abort=around.abort,
        models=around.open_model,
        spans=around.spans,
    )
    try:
        outcome = await run_loop(order.profile, order.prompt, run, order.conversation)
    finally:
        journal.forget(order.id)
    if outcome.reason == StoreError.code and troubles:
        outcome = replace(outcome, message=str(troubles[0]))
    return _result(order.id, outcome, dict(usage))


def _note_end(store: Store, run_id: str, error: BaseException) -> None:
    """The row of a run that has no outcome: its own machinery failed, or its process ends."""
    status = "failed" if isinstance(error, CallboardError) else "interrupted"
    reason = error.code if isinstance(error, CallboardError) else "process.ended"
    store.runs.finish(run_id, status, finished_at=time.time(), reason=reason, message=str(error))


def _row(order: Order, owner: str) -> StoredRun:
    return StoredRun(
        id=order.id,
        profile=order.profile_name,
        started_at=time.time(),
        input=order.prompt,
        simulate=order.simulate,
        model=order.model.name,
        model_reason=order.model.reason,
        principal=order.principal,
        workspace=str(order.workspace),
        owner=owner,
    )


def _result(run_id: str, outcome: Outcome, usage: dict[str, int]) -> RunResult:
    value: Any = outcome.value
    return RunResult(
        id=run_id,
        status=outcome.status,
        reason=outcome.reason,
        text=value if isinstance(value, str) else "",
        message=outcome.message,
        rounds=outcome.rounds,
        usage=usage,
    )
