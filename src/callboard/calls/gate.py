"""The gate. Every execution of every tool passes this function, in this order."""

from asyncio import CancelledError
from functools import partial
from time import monotonic_ns, time_ns
from typing import Any

from callboard.calls.decide import policy_failed, settle, still_allowed
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
from callboard.calls.ports import Ports, call_ids, current_chain
from callboard.calls.results import MAX_CONTENT, PLACEHOLDER, capped, report
from callboard.catalog import Snapshot
from callboard.errors import (
    Aborted,
    CallCancelled,
    DeadlineExceeded,
    OutcomeUnknown,
)
from callboard.events import CallStarted, ToolCallRecord
from callboard.policy import UNGOVERNED, CallView, Decision
from callboard.types import ExecutionOptions, PendingCall, ToolContext, ToolResult
from callboard.workers import CallerCancelled, resumed, watched

new: Any = vars(tuple)["__new__"]  # a NamedTuple's own constructor takes twice the time


async def gate(
    ports: Ports, snapshot: Snapshot, tool_id: str, raw: Any, options: ExecutionOptions, *, sync: bool,
) -> ToolResult[Any]:  # fmt: skip
    """Take one call from its raw arguments to its terminal record; return its result or raise."""
    at, began = time_ns(), monotonic_ns()
    call_id = next(call_ids[0])
    outer = current_chain.get()
    chain = outer + (call_id,)  # noqa: RUF005 - twice as fast
    token = current_chain.set(chain)
    abort, deadline, key = options.abort, options.deadline, options.call_key or call_id
    frozen = error = value = result = lock = job = context = verdict = debug_steps = None
    kind, status, content, repaired, simulated, late, reasons = "", "ok", "", False, False, False, ()
    try:
        # 1. Find it, as far as this agent sees it.
        found = snapshot.plans.get(tool_id)
        if found is None:
            raise unavailable(ports, snapshot, tool_id, options)
        tool, plan = found
        kind, parse, work, simulation, threaded, wants_context, serial, agents, finish, debug_steps = plan
        restricted = options.grant is not None or agents is not None or ports.visible is not None
        if restricted and hidden(ports, tool, options):
            raise unavailable(ports, snapshot, tool_id, options)
        simulated = options.simulate is True and kind != "read"
        work, waits = simulation if simulated else work
        if (sync and waits) or len(chain) > MAX_DEPTH or (abort is not None and abort.reason is not None):
            raise not_now(tool_id, chain, abort, needs_async=sync and waits)
        # 2. Parse.
        arguments, frozen, repaired = parse(raw)
        # 3. Hooks; what they rewrite is parsed again.
        if ports.before:
            view = new(CallView, (tool, frozen, call_id, key, options))
            arguments, frozen, repaired = await hooked(ports, view, (arguments, frozen, repaired), sync=sync)
        # 4. Decide.
        if ports.authorize is None:
            (verdict, reasons), epoch = UNGOVERNED, None
        else:
            epoch = None if ports.policy_epoch is None else ports.policy_epoch()
            view = new(CallView, (tool, frozen, call_id, key, options))
            try:
                decision = ports.authorize(view)
            except Exception as failure:
                raise policy_failed(failure) from failure
            if type(decision) is not Decision or decision.verdict != "allow":
                parsed = (arguments, frozen, repaired)
                decision, parsed, waited = await settle(ports, view, decision, parsed, sync=sync)
                arguments, frozen, repaired = parsed  # a person may have edited them
                began += waited  # the deadline stands still while a person is asked
            verdict, reasons = decision
        # 5. Its turn at the lock; only then it starts.
        if serial is not None:
            await ports.locks.acquire(serial, chain, abort, (began, deadline), sync=sync)
            lock = serial
        if epoch is not None and ports.policy_epoch is not None and ports.policy_epoch() != epoch:
            verdict, reasons = await still_allowed(
                ports, new(CallView, (tool, frozen, call_id, key, options))
            )
        if options.barrier is not None:
            await options.barrier(new(PendingCall, (call_id, key, tool_id, kind, tool.idempotent)))
        ports.emit(new(CallStarted, (
            call_id, tool_id, kind, key, outer, options.principal, options.agent, at, frozen, repaired,
            simulated, verdict, reasons,
        )), options)  # fmt: skip
        # 6. Run, or simulate.
        if wants_context:
            context = ToolContext(options, call_id, key, partial(report, ports, call_id, tool, options))
        try:
            if work is None:
                value, result, content = PLACEHOLDER
            elif waits:
                begun = work(arguments, context)  # its first step here: one that never waits ends in it
                value = await resumed(begun, begun.send(None), abort, began, deadline)
            elif sync or not threaded:
                value = work(arguments, context)
            else:
                job = ports.pool.submit(partial(work, arguments, context))
                writes = kind != "read" and not simulated
                value = await watched(job.outcome(writes=writes), abort, began, deadline)
        except StopIteration as done:
            value = done.value if waits else fail(tool, call_id, done)
        except (CallCancelled, DeadlineExceeded, OutcomeUnknown) as failure:
            if failure.invocation is not None:  # of a call inside this one
                fail(tool, call_id, failure)
            if job is None or not job.finished or job.error is not None:
                raise
            value, late = job.value, True  # it ended in the same moment: nothing is lost
        except CallerCancelled:
            raise
        except (Exception, SystemExit, Aborted, CancelledError) as failure:  # noqa: BLE001 - any tool's
            fail(tool, call_id, failure)
        # 7. Check what came back.
        if work is not None:
            value, result, content = finish(value)
            if len(result) > MAX_CONTENT:
                result, content = capped(ports, result, content)
    except BaseException as failure:  # noqa: BLE001 - recorded, then raised again
        error, status = ending(failure, call_id)
        verdict, reasons = denial_of(error) or (verdict, reasons)
    try:  # noqa: SIM105 - a `with` would cost each call half a microsecond
        current_chain.reset(token)
    except ValueError:  # closed from another context, where the chain never was
        pass
    if error is not None and context is not None:
        context.end(status)
    if lock is not None:
        ports.locks.release(lock, call_id, job)
    # 8. Record.
    duration = monotonic_ns() - began
    record = new(ToolCallRecord, (
        call_id, tool_id, kind, key, outer, options.principal, options.agent, at, duration, status, frozen,
        repaired, simulated, late or (deadline is not None and status == "ok" and duration > deadline * 1e9),
        verdict, reasons, None if error else result, error and failure_of(ports, error),
        debug_steps,
    ))  # fmt: skip
    ports.emit(record, options)
    if error is None:
        return new(ToolResult, (value, content, record))
    try:
        raise with_record(ports, error, record)
    finally:
        del error  # its traceback holds this frame
