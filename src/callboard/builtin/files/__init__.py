"""The tools of one workspace folder: list, read, search, write and edit its files."""

from callboard.builtin.files.tools import file_tools
from callboard.builtin.files.workspace import Workspace

__all__ = ["Workspace", "file_tools"]
