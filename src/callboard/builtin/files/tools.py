"""The five tools, with the names, the order of parameters and the short words that small models pick best."""

from typing import Any

from callboard.builtin.files.listing import list_entries
from callboard.builtin.files.reading import read_text
from callboard.builtin.files.searching import search
from callboard.builtin.files.workspace import Workspace
from callboard.builtin.files.writing import apply, plan_edit, plan_write, preview
from callboard.tools import Tool, tool


def file_tools(workspace: Workspace) -> list[Tool[Any]]:
    """The tools of one workspace: `list_files`, `read_file`, `search_files`, `write_file` and `edit_file`.

    The first three read. Writes wait for each other; in a simulation they answer what they would change.

    Args:
        workspace: stays the caller's to close.
    """
    return [*_reading(workspace), *_writing(workspace)]


def _reading(workspace: Workspace) -> list[Tool[Any]]:
    @tool(mode="read")
    def list_files(path: str = ".", pattern: str | None = None) -> str:
        """List the files in a folder.

        Args:
            path: Folder to list.
            pattern: Only names that match, like *.md.
        """
        return list_entries(workspace, path, pattern)

    @tool(mode="read")
    def read_file(path: str, start_line: int | None = None, end_line: int | None = None) -> str:
        """Open, read or show the contents of a file.

        Args:
            path: File to read.
            start_line: First line.
            end_line: Last line.
        """
        return read_text(workspace, path, start_line, end_line)

    @tool(mode="read")
    def search_files(text: str, path: str = ".", regex: bool = False) -> str:  # noqa: FBT001, FBT002 - named by models
        """Search all files and find which ones mention some text.

        Args:
            text: Text to look for.
            path: Folder or file to search.
            regex: Whether the text is a regular expression.
        """
        return search(workspace, text, regex=regex, path=path)

    return [list_files, read_file, search_files]


def _writing(workspace: Workspace) -> list[Tool[Any]]:
    def would_write(path: str, content: str) -> str:
        return preview(plan_write(workspace, path, content))

    def would_edit(old_text: str, new_text: str, path: str) -> str:
        return preview(plan_edit(workspace, path, old_text, new_text))

    @tool(mode="write", serial=workspace.lock_name, simulate=would_write)
    def write_file(path: str, content: str) -> str:
        """Create a file with the given content.

        Args:
            path: File to write.
            content: Text of the file.
        """
        return apply(workspace, plan_write(workspace, path, content))

    @tool(mode="write", serial=workspace.lock_name, simulate=would_edit)
    def edit_file(old_text: str, new_text: str, path: str) -> str:
        """Replace one text with another in a file.

        Args:
            old_text: Text to replace.
            new_text: New text.
            path: File to change.
        """
        return apply(workspace, plan_edit(workspace, path, old_text, new_text))

    return [write_file, edit_file]
