"""Step 3 of the gate: before-hooks."""

from functools import partial
from inspect import isawaitable, iscoroutinefunction

from callboard.calls.ports import BeforeHook, Ports
from callboard.errors import Denied, ToolError
from callboard.policy import CallView
from callboard.tools.entry import Parsed
from callboard.workers import watched


async def hooked(ports: Ports, view: CallView, parsed: Parsed, *, sync: bool) -> Parsed:
    """Run the hooks in order; each sees what the one before made of the arguments.

    Raises:
        Denied: a hook failed.
        InvalidArguments: what a hook made of the arguments is not what the tool takes.
    """
    for hook in ports.before:
        try:
            rewritten = await _answer(ports, hook, view, sync=sync)
        except ToolError:
            raise
        except Exception as error:
            name = getattr(hook, "__qualname__", type(hook).__qualname__)
            raise Denied(
                f"the hook {name} failed: {type(error).__name__}", code="permission.hook_failed"
            ) from error
        if rewritten is not None:
            parsed = view.tool.parse(rewritten)
            view = view._replace(frozen=parsed[1])
    return parsed


async def _answer(ports: Ports, hook: BeforeHook, view: CallView, *, sync: bool) -> object:
    """A plain function gets a thread where it would block an event loop."""
    if sync or iscoroutinefunction(hook):
        answer = hook(view)
    else:
        job = ports.pool.submit(partial(hook, view))
        answer = await watched(job.outcome(writes=False), view.options.abort)
    return await answer if isawaitable(answer) else answer
