"""The definition of a tool: `@tool`, its parsers, what is published of it, and its names on the wire."""

from callboard.tools.canonical import canonical
from callboard.tools.define import Tool, tool
from callboard.tools.dialects import Dialect, Export, LeftOut, export
from callboard.tools.entry import ErasedTool, Mode, RegisteredTool
from callboard.tools.names import WireNames
from callboard.tools.registration import registered

__all__ = [
    "Dialect",
    "ErasedTool",
    "Export",
    "LeftOut",
    "Mode",
    "RegisteredTool",
    "Tool",
    "WireNames",
    "canonical",
    "export",
    "registered",
    "tool",
]
