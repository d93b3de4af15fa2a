"""Step 3 of the gate: before-hooks."""

import logging
from collections.abc import Coroutine
from functools import partial
from inspect import isawaitable, iscoroutine, iscoroutinefunction
from typing import Any

from msgspec.structs import replace

from callboard.calls.failures import RISING
from callboard.calls.ports import BeforeHook, Ports
from callboard.errors import Denied, ToolError
from callboard.policy import CallView
from callboard.tools.entry import Parsed
from callboard.types import redacting
from callboard.workers import cannot_wait, watched

_log = logging.getLogger("callboard.calls")


async def hooked(ports: Ports, view: CallView, parsed: Parsed, began_ns: int, *, sync: bool) -> Parsed:
    """Run the hooks in order; each sees what the one before made of the arguments.

    Raises:
        Denied: a hook failed, or had to be waited for in a sync call.
        InvalidArguments: what a hook made of the arguments is not what the tool takes.
        Ended: the call's abort or deadline came first.
    """
    for hook in ports.before:
        try:
            rewritten = await _answer(ports, hook, view, began_ns, sync=sync)
        except RISING:
            raise
        except BaseException as error:
            if isinstance(error, ToolError) and error.invocation is None:
                raise  # its own words
            name = getattr(hook, "__qualname__", type(hook).__qualname__)
            log = redacting(_log, view.options.redaction)
            log.warning("the hook %s failed", name, exc_info=error)
            raise Denied(
                f"the hook {name} failed: {type(error).__name__}", code="permission.hook_failed"
            ) from error
        if rewritten is not None:
            parsed = view.tool.parse(rewritten)
            view = replace(view, frozen=parsed[1])
    return parsed


async def _answer(ports: Ports, hook: BeforeHook, view: CallView, began_ns: int, *, sync: bool) -> Any:
    """A plain function gets a thread where it would block an event loop."""
    abort, deadline = view.options.abort, view.options.deadline
    if sync or iscoroutinefunction(hook):
        answer = hook(view)
    else:
        job = ports.pool.submit(partial(hook, view))
        answer = await watched(job.outcome(writes=False), abort, began_ns, deadline)
    if not isawaitable(answer):
        return answer
    return await watched(as_coroutine(answer, sync=sync), abort, began_ns, deadline)


def as_coroutine(waiting: Any, *, sync: bool = False) -> Coroutine[Any, Any, Any]:
    """Any awaitable, as what can be driven by hand.

    Raises:
        Denied: a sync call can't wait for it.
    """
    if sync:
        if iscoroutine(waiting):
            waiting.close()
        raise cannot_wait()
    return waiting if iscoroutine(waiting) else _awaited(waiting)


async def _awaited(waiting: Any) -> Any:
    return await waiting
