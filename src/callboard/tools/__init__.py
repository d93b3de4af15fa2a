"""The definition of a tool: `@tool`, its parsers, what is published of it, and its names on the wire."""

from callboard.tools.canonical import canonical
from callboard.tools.define import Tool, tool
from callboard.tools.dialects import Dialect, Export, LeftOut, Note, export
from callboard.tools.entry import ErasedTool, Mode, RegisteredTool
from callboard.tools.limits import Limit
from callboard.tools.names import WireNames
from callboard.tools.needs import Injected, secret
from callboard.tools.registration import registered
from callboard.tools.retries import Retries

__all__ = [
    "Dialect",
    "ErasedTool",
    "Export",
    "Injected",
    "LeftOut",
    "Limit",
    "Mode",
    "Note",
    "RegisteredTool",
    "Retries",
    "Tool",
    "WireNames",
    "canonical",
    "export",
    "registered",
    "secret",
    "tool",
]
