"""The definition of a tool: `@tool`, its parsers, what is published of it, and its names on the wire."""

from typing import TYPE_CHECKING

from callboard.lazy import lazily
from callboard.tools.define import Tool, tool
from callboard.tools.entry import ErasedTool, Mode, RegisteredTool
from callboard.tools.limits import Limit
from callboard.tools.needs import Injected, secret
from callboard.tools.registration import registered
from callboard.tools.retries import Retries

if TYPE_CHECKING:
    from callboard.tools.canonical import canonical
    from callboard.tools.dialects import Dialect, Export, LeftOut, Note, export
    from callboard.tools.names import WireNames

# name -> module: what a call does not need is imported at the first look
_LATER = {
    "Dialect": "dialects",
    "Export": "dialects",
    "LeftOut": "dialects",
    "Note": "dialects",
    "WireNames": "names",
    "canonical": "canonical",
    "export": "dialects",
}

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

__getattr__ = lazily(__name__, _LATER)
