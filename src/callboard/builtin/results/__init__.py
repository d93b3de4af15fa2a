"""Reading on in results that were too large to be shown at once."""

from callboard.builtin.results.tools import READ_RESULT, Held, result_tools

__all__ = ["READ_RESULT", "Held", "result_tools"]
