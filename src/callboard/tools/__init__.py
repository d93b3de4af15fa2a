"""The definition of a tool: `@tool`, its parsers, what is published of it, and its names on the wire."""

from callboard.tools.canonical import canonical
from callboard.tools.define import Tool, tool
from callboard.tools.entry import ErasedTool, Mode, RegisteredTool
from callboard.tools.registration import registered

__all__ = ["ErasedTool", "Mode", "RegisteredTool", "Tool", "canonical", "registered", "tool"]
