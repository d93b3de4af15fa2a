"""Step 5 of the gate: what a call gets beside its arguments, fetched once it is allowed, for it alone."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from inspect import Parameter, isawaitable, isroutine
from typing import Any, NamedTuple

from callboard.calls.decide import Settled, confirm
from callboard.calls.failures import RISING, ending
from callboard.calls.hooks import as_coroutine
from callboard.calls.ports import Ports, enter_frame, frame_here
from callboard.calls.sources import SERVICE, system_secrets
from callboard.errors import ToolError
from callboard.policy import CallView
from callboard.tools import RegisteredTool
from callboard.tools.define import is_async
from callboard.tools.needs import Need
from callboard.types import Redaction, ToolContext, redacting
from callboard.types.spellings import LONGEST, SHORTEST
from callboard.workers import cannot_wait, first_step, watched

_MISSING = Parameter.empty
_log = logging.getLogger("callboard.calls")


class _Sources(NamedTuple):
    """Where a call's values come from: its registry, what it brought itself; and how it can wait for them."""

    ports: Ports
    view: CallView
    own: Mapping[str, Any] | None
    began_ns: int
    sync: bool
    redaction: Redaction | None  # of what was fetched so far, too


async def supply(
    tool: RegisteredTool,
    frozen: str | None,
    context: ToolContext,
    needs: Iterable[Need],
    own: Mapping[str, Any] | None,
    settled: Settled | None,
    *,
    sync: bool,
) -> Redaction | None:
    """Fetch what fills in the parameters that no model sees, and deliver it to the context.

    Args:
        tool: the call's tool.
        frozen: its arguments.
        context: takes what is delivered.
        needs: the parameters.
        own: what the call brought along for them.
        settled: how the call was decided.
        sync: nothing can be waited for.

    Returns:
        What keeps the delivered secrets out of all that is said of the call.

    Raises:
        ToolError: something is missing or can't be used: `secret.*`, `injected.*`, never with its value.
        Denied: the policy changed meanwhile, or a sync call would have to wait.
        Ended: the call's abort or deadline came first.
    """
    chain, options, ports, began_ns = frame_here()
    view = CallView(tool, frozen, chain[-1], context.call_key, options)
    wanted = tuple(needs)
    redaction = options.redaction
    if redaction is None and any(need.secret is not None for need in wanted):
        redaction = Redaction()  # for this call and those inside it
    sources = _Sources(ports, view, own, began_ns, sync, redaction)
    failed: BaseException | None = None
    values: dict[str, Any] = {}
    try:
        values = {need.parameter: await _value(sources, context, need) for need in wanted}
        if settled is not None and ports.policy_epoch is not None:
            await confirm(ports, view, settled, began_ns, sync=sync)
    except ToolError as failure:  # what fetches one secret may speak of another
        failed, _ = ending(failure, chain[-1], redaction)
    if failed is not None:  # raised here, where what was caught is no context of it
        raise failed
    if redaction and redaction is not options.redaction:
        enter_frame((chain, replace(options, redaction=redaction), ports, began_ns))
    context.deliver(values, redaction or options.redaction)
    return redaction or options.redaction


async def _value(sources: _Sources, context: ToolContext, need: Need) -> Any:
    if need.secret is None:
        return await _injected(sources, context, need)
    found = await _secret(sources, need, need.secret)
    if found is None:
        return need.default
    if sources.redaction is not None:
        sources.redaction.add(found)
    return found


async def _secret(sources: _Sources, need: Need, name: str) -> str | None:
    """The secret; None where the parameter's default stands in for it."""
    own = sources.ports.secrets
    where = f"the secret {name!r} for the parameter {need.parameter!r}"
    try:
        found = await _found(sources, system_secrets if own is None else own, name)
    except RISING:
        raise
    except BaseException as error:
        if isinstance(error, ToolError) and error.invocation is None:
            raise  # its own words
        raise _failed(sources, f"{where} could not be fetched", "secret.failed", error) from error
    if found is not None and not isinstance(found, str):
        raise ToolError(
            f"{where} is {type(found).__name__}, and no text",
            code="secret.failed",
            hint="let the host's source of secrets give a text, or None",
        )
    if not found or found.isspace():
        if need.default is not _MISSING:
            return None
        raise ToolError(
            f"{where} is missing",
            code="secret.missing",
            hint=f"set {name} in the environment, or store it with `keyring set {SERVICE} {name}`"
            if own is None
            else "put it where the host's own source of secrets finds it",
        )
    if len(found.strip()) < SHORTEST:
        raise ToolError(
            f"{where} has fewer than {SHORTEST} characters, so it could not be kept out of records",
            code="secret.too_short",
            hint="use a longer one",
        )
    if len(found) > LONGEST:
        raise ToolError(
            f"{where} has more than {LONGEST} characters, so it could not be kept out of records",
            code="secret.too_long",
            hint="keep it in a file, and let the secret be what opens it",
        )
    return found


async def _found(sources: _Sources, resolve: Any, name: str) -> Any:
    """What the source of secrets says; a sync one gets a thread where it would block an event loop."""
    view = sources.view
    ask = partial(resolve, name, view.principal)
    if sources.sync or is_async(resolve):
        return await _settled(sources, ask())
    job = sources.ports.pool.submit(ask)
    work = job.outcome(writes=False)
    return await _settled(
        sources, await watched(work, view.options.abort, sources.began_ns, view.options.deadline)
    )


async def _injected(sources: _Sources, context: ToolContext, need: Need) -> Any:
    """The host's value, the call's own before the registry's; a function makes it for this call."""
    name = need.parameter
    for given in (sources.own, sources.ports.injected):
        if given is not None and name in given:
            value = given[name]
            break
    else:
        if need.default is not _MISSING:
            return need.default
        raise ToolError(
            f"the host gives nothing for the parameter {name!r}",
            code="injected.missing",
            hint=f"give the registry, the host or the call injected={{{name!r}: ...}}",
        )
    if not isroutine(value) and not isinstance(value, partial):
        return value
    try:
        return await _settled(sources, value(context))
    except RISING:
        raise
    except BaseException as error:
        if isinstance(error, ToolError) and error.invocation is None:
            raise  # its own words
        what = f"what the host makes for the parameter {name!r} failed"
        raise _failed(sources, what, "injected.failed", error) from error


def _failed(sources: _Sources, what: str, code: str, error: BaseException) -> ToolError:
    """What a call ends with where the host's own code failed."""
    redacting(_log, sources.redaction).warning("%s", what, exc_info=error)
    return ToolError(
        f"{what}: {type(error).__name__}",
        code=code,
        hint="this is up to whoever runs this host, not to the arguments",
    )


async def _settled(sources: _Sources, answer: Any) -> Any:
    """The answer, awaited where it has to be. A sync call takes what never really waits."""
    if not isawaitable(answer):
        return answer
    work, options = as_coroutine(answer), sources.view.options
    if not sources.sync:
        return await watched(work, options.abort, sources.began_ns, options.deadline)
    ended, value = first_step(work)
    if not ended:
        work.close()
        raise cannot_wait()
    return value
