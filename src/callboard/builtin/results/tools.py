"""`read_result`: the part of a large result that its reader asks for."""

import json
from typing import Any, Protocol

from callboard.errors import ToolError
from callboard.tools import Tool, tool
from callboard.types import ToolContext

READ_RESULT = "read_result"
MAX_PART = 50_000  # characters of one answer


class Held(Protocol):
    """Where large results are."""

    def held(self, handle: str, ctx: ToolContext) -> str | None:
        """The JSON text of a result; None where this call's run and principal have none of that handle."""
        ...


def result_tools(results: Held) -> list[Tool[Any]]:
    """The one tool, over results that somebody else keeps."""

    @tool(mode="read")
    def read_result(handle: str, start: int = 0, length: int = MAX_PART, *, ctx: ToolContext) -> str:  # noqa: D417 - not the model's
        """Read a part of a result that was too large to be shown whole.

        Args:
            handle: The name of the result, as the shortened text gives it.
            start: The first character, counted from 0.
            length: How many characters, at most 50000.
        """
        if start < 0 or not 1 <= length <= MAX_PART:
            raise ToolError(
                f"start {start} and length {length} are no range",
                code="result.bad_range",
                hint=f"start counts from 0, length is from 1 to {MAX_PART}",
            )
        text = results.held(handle, ctx)
        if text is None:
            raise ToolError(
                "there is no result of that name here",
                code="result.no_such_handle",
                hint="use a name as it stands in a shortened result of this run",
            )
        return part(readable(text), start, length)

    return [read_result]


def readable(result: str) -> str:
    """What its reader saw of a result, whole: a text as it is, all else as JSON."""
    value: Any = json.loads(result)
    return value if isinstance(value, str) else result


def part(text: str, start: int, length: int) -> str:
    """The characters asked for, with a note of where they stand.

    Raises:
        ToolError: `result.bad_range`: they begin behind the end.
    """
    if start >= len(text):
        raise ToolError(
            f"the result ends at character {len(text)}",
            code="result.bad_range",
            hint=f"start is at most {len(text) - 1}",
        )
    end = min(start + length, len(text))
    more = f"; go on with start={end}" if end < len(text) else ", the end"
    return f"[characters {start} to {end} of {len(text)}{more}]\n{text[start:end]}"
