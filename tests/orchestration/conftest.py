"""A run of the loop over real tools, with a scripted model."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from callboard.conversation import Message
from callboard.events import RunEvent
from callboard.orchestration import LoopConfig, run_loop
from callboard.registry import ToolRegistry
from callboard.testing import ScriptedModel
from callboard.tools import tool
from callboard.workflow import Outcome, Run


@tool(mode="read")
def echo(a: int = 0) -> str:
    """Say it again.

    Args:
        a: What is said.
    """
    return f"echo {a}"


class Loop:
    """Runs the loop over a script; keeps its events, its run and the model that was asked."""

    def __init__(self) -> None:
        self.events: list[RunEvent] = []
        self.run = Run(id="r", listener=self.events.append)
        self.model = ScriptedModel([])
        self.finishes_with_text = True

    async def __call__(
        self,
        script: Iterable[Any],
        *tools: Any,
        goal: str = "q",
        history: Sequence[Message] = (),
        **config: Any,
    ) -> Outcome:
        registry: ToolRegistry[Any] = ToolRegistry()
        registry.register_all([echo, *tools])
        self.model = ScriptedModel(script, finishes_with_text=self.finishes_with_text)
        self.run.tools = registry
        self.run.models = lambda _name: self.model
        return await run_loop(LoopConfig(**config), goal, self.run, history)

    def told(self, request: int = -1) -> list[str]:
        """What the tools' messages of a request say."""
        return [m["content"] for m in self.model.requests[request].messages if m["role"] == "tool"]

    def types(self) -> list[str]:
        return [event.type for event in self.events]


@pytest.fixture
def loop() -> Loop:
    return Loop()
