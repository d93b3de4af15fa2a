"""Callboard: one registry and one gate in front of every tool of an LLM agent."""

import logging
from typing import TYPE_CHECKING

from callboard.lazy import lazily

if TYPE_CHECKING:
    from callboard.errors import ToolError
    from callboard.host import Host, RunResult
    from callboard.policy import Decision
    from callboard.registry import ToolRegistry
    from callboard.tools import Injected, Tool, secret, tool
    from callboard.types import Abort, Approver, Principal, ToolContext, ToolResult

__version__ = "0.1.0"

# What Callboard logs goes where the application sends it, and nowhere by itself.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# name -> room: imported at the first look, so that `import callboard` costs nothing
_ROOMS = {
    "Abort": "types",
    "Approver": "types",
    "Decision": "policy",
    "Host": "host",
    "Injected": "tools",
    "Principal": "types",
    "RunResult": "host",
    "Tool": "tools",
    "ToolContext": "types",
    "ToolError": "errors",
    "ToolRegistry": "registry",
    "ToolResult": "types",
    "secret": "tools",
    "tool": "tools",
}

__all__ = [
    "Abort",
    "Approver",
    "Decision",
    "Host",
    "Injected",
    "Principal",
    "RunResult",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolRegistry",
    "ToolResult",
    "__version__",
    "secret",
    "tool",
]

__getattr__ = lazily(__name__, _ROOMS)


def __dir__() -> list[str]:
    return __all__
