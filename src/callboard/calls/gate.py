"""The gate. Every execution of every tool passes this function, in this order."""

from asyncio import CancelledError
from collections.abc import Mapping
from functools import partial
from time import monotonic_ns, time_ns
from typing import Any

from callboard.calls.decide import Settled, confirm, first_word, passed, settle
from callboard.calls.failures import (
    MAX_DEPTH,
    denial_of,
    ending,
    fail,
    failure_of,
    hidden,
    not_now,
    unavailable,
    with_record,
)
from callboard.calls.hooks import hooked
from callboard.calls.inherit import inherited
from callboard.calls.ports import Ports, enter_frame, frame_around, id_count, id_prefix, leave_frame
from callboard.calls.results import MAX_CONTENT, kept, placeholder, report
from callboard.calls.supply import supply
from callboard.catalog import Snapshot
from callboard.events import CallStarted, ToolCallRecord
from callboard.policy import UNGOVERNED, CallView
from callboard.types import ExecutionOptions, ToolContext, ToolResult
from callboard.workers import CallerCancelled, Ended, first_step, resumed, watched


async def gate(
    ports: Ports, snapshot: Snapshot, tool_id: str, raw: Any, options: ExecutionOptions,
    own: Mapping[str, Any] | None = None, *, sync: bool) -> ToolResult[Any]:  # fmt: skip
    """Take one call from its raw arguments to its terminal record; return its result or raise."""
    at, began, call_id = time_ns(), monotonic_ns(), f"{id_prefix[0]}{next(id_count)}"
    outer, chain, frame, emit, key = (), (call_id,), frame_around(), ports.emit, options.call_key or call_id
    if frame is not None:
        outer, options = frame[0], inherited(frame, ports, options)
        chain = (*outer, call_id)
    token = enter_frame((chain, options, ports, began))
    abort, deadline, veil = options.abort, options.deadline, options.redaction
    frozen = error = value = result = lock = job = context = settled = verdict = debug_steps = risen = None
    kind, status, content, repaired, simulated, late, reasons = "", "ok", "", False, False, False, ()
    try:
        # 1. Find it, as far as this agent sees it.
        found = snapshot.plans.get(tool_id)
        if found is None:
            raise unavailable(ports, snapshot, tool_id, options)
        tool, kind, parse, work, simulation, turn, agents, finish, debug_steps = found
        restricted = options.grant is not None or agents is not None or ports.visible is not None
        if restricted and hidden(ports, tool, options):
            raise unavailable(ports, snapshot, tool_id, options)
        simulated = options.simulate is True and kind != "read"
        work, waits, threaded, needs = simulation if simulated else work
        too_deep = frame is not None and len(chain) > MAX_DEPTH
        if (sync and waits) or too_deep or (abort is not None and abort.reason is not None):
            raise not_now(tool_id, chain, abort, needs_async=sync and waits)
        # 2. Parse.
        parsed = arguments, frozen, repaired = parse(raw)
        # 3. Hooks; what they rewrite is parsed again.
        if ports.before:
            view = CallView(tool, frozen, call_id, key, options)
            parsed = arguments, frozen, repaired = await hooked(ports, view, parsed, began, sync=sync)
        # 4. Decide.
        if ports.authorize is None:
            reasons, verdict = UNGOVERNED.reasons, "allow"
        else:
            view = CallView(tool, frozen, call_id, key, options)
            settled = first_word(ports, view, parsed)
            if type(settled) is not Settled:
                settled = await settle(ports, view, settled, parsed, began, sync=sync)
                began += settled.waited_ns  # the deadline stands still while a person is asked
            reasons, verdict = settled.decision.reasons, "allow"
            arguments, frozen, repaired = settled.parsed
        # 5. Its turn; only then it starts.
        if turn is not None:
            await ports.turns.acquire(turn, chain, abort, (began, deadline), sync=sync)
            lock = turn
        if settled is not None and ports.policy_epoch is not None:
            view = CallView(tool, frozen, call_id, key, options)
            reasons = (await confirm(ports, view, settled, began, sync=sync)).reasons
        if needs is not None:
            context = ToolContext(options, call_id, key, partial(report, ports, call_id, tool, options))
            if needs:  # what only the host can give, to this call alone
                veil = await supply(tool, frozen, context, needs, own, settled, sync=sync)
        if (abort is not None and abort.reason is not None) or (
            deadline is not None and (settled or lock or needs or ports.before or deadline <= 0)
            and monotonic_ns() - began > deadline * 1e9):  # fmt: skip
            raise not_now(tool_id, chain, abort, needs_async=False)
        emit(CallStarted(
            call_id, tool_id, kind, key, outer, options.principal, options.agent, at,
            frozen if veil is None else veil.json(frozen), repaired, simulated, verdict,
            reasons if veil is None else veil.texts(reasons)), options)  # fmt: skip
        if options.barrier is not None:
            await passed(ports, CallView(tool, frozen, call_id, key, options), settled, began, sync=sync)
        # 6. Run, or simulate.
        try:
            if work is None:
                finish = placeholder
            elif waits:
                begun = work(arguments, context)
                ended, value = first_step(begun)  # one that never waits ends in it
                if not ended:
                    value = await resumed(begun, value, abort, began, deadline)
            elif sync or not threaded:
                value = work(arguments, context)
            else:
                job = ports.pool.submit(partial(work, arguments, context))
                if lock is not None:
                    job.when_done(partial(ports.turns.release, lock, call_id))
                writes = kind != "read" and not simulated
                value = await watched(job.outcome(writes=writes), abort, began, deadline)
        except (Ended, CallerCancelled) as failure:
            if job is None or not job.succeeded:
                raise
            value, late, risen = job.value, True, failure  # it ended in the same moment: nothing is lost
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as failure:  # noqa: BLE001 - any tool's
            fail(tool, call_id, failure, veil)
        # 7. Check what came back.
        value, result, content = finish(value)
        if veil is not None or len(result) > MAX_CONTENT:
            result, content = kept(ports, veil, result, content)
    except BaseException as failure:  # noqa: BLE001 - recorded, then raised again
        value, (error, status) = None, ending(failure, call_id, veil)
        verdict, reasons = denial_of(error) or (verdict, reasons)
    finally:
        if lock is not None and job is None:
            ports.turns.release(lock, call_id)
        try:  # noqa: SIM105 - a `with` would cost each call half a microsecond
            leave_frame(token)
        except ValueError:  # closed from another context, where the frame never was
            pass
    # 8. Record.
    duration = monotonic_ns() - began
    record = ToolCallRecord(
        call_id, tool_id, kind, key, outer, options.principal, options.agent, at, duration, status,
        frozen if veil is None else veil.json(frozen), repaired, simulated,
        late or (deadline is not None and error is None and duration > deadline * 1e9), verdict,
        reasons if veil is None else veil.texts(reasons), None if error else result,
        error and failure_of(ports, error), debug_steps)  # fmt: skip
    emit(record, options)
    if context is not None:
        context.end(None if error is None else status)
    if error is None and (risen is None or not isinstance(risen, CallerCancelled)):
        return ToolResult(value, content, record)
    try:
        raise with_record(ports, error, record) if error is not None else CancelledError
    finally:
        del error, risen  # their tracebacks hold this frame
