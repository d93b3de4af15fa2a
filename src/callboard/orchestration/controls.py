"""Tools of the engine itself: what ends a conversation or changes the run's own state."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from callboard.errors import ToolError
from callboard.tools import RegisteredTool, registered, tool
from callboard.workflow import Context, Json

# From the state, the arguments and the context to what changes in the state, and the reply to the model.
Apply = Callable[[Any, Mapping[str, Any], Context], Awaitable[tuple[Mapping[str, Any], Json]]]


@dataclass(frozen=True, slots=True)
class Control:
    """A tool that the engine answers. What it needs of the world it takes through steps.

    Its handler depends on state and arguments only, and runs again at replay: a recorded reply alone would
    leave the state without what the control changed.

    Attributes:
        definition: its name, description and parameters.
        apply: raises a ToolError to tell the model what is wrong.
        ends: after it no further call of the same answer is made.
    """

    definition: RegisteredTool
    apply: Apply
    ends: bool = False

    @property
    def name(self) -> str:
        """The name by which a model calls it."""
        return self.definition.id

    async def answer(self, state: Any, raw: str, ctx: Context) -> tuple[Mapping[str, Any], dict[str, Json]]:
        """What changes in the state, and the envelope for the model."""
        try:
            _, arguments, _ = self.definition.parse(raw)
            changed, reply = await self.apply(state, json.loads(arguments or "{}"), ctx)
        except ToolError as error:
            told = {"ok": False, "error": str(error), "code": error.code, "hint": error.hint}
            return {}, {**told, "text": json.dumps(told, ensure_ascii=False), "status": "failed"}
        return changed, {"ok": True, "value": reply, "text": json.dumps(reply), "status": "ok"}


def _finalize(text: str) -> str:
    """End the work and give the final answer.

    Args:
        text: The whole final answer, for the person who asked.
    """
    return text


async def _finalized(
    _state: Any, arguments: Mapping[str, Any], _ctx: Context
) -> tuple[Mapping[str, Any], Json]:
    text: str = arguments["text"]
    if not text.strip():
        raise ToolError(
            "the text is empty", code="finalize.empty", hint="call finalize again with the whole final answer"
        )
    return {"result": text}, {"ok": True}


FINALIZE = Control(registered(tool(name="finalize", mode="read")(_finalize)), _finalized, ends=True)
