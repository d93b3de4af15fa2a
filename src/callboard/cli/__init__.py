"""The terminal: the command `callboard`."""

from callboard.cli.commands import app, main

__all__ = ["app", "main"]
