"""A run as a stream of events, for tests of what is shown."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from callboard.events import RunEvent


class Told:
    """A started run that tells prepared events, as the host's handle does."""

    def __init__(self, events: Iterable[RunEvent], result: Any) -> None:
        self._events = list(events)
        self._result = result

    async def events(self) -> AsyncIterator[RunEvent]:
        for event in self._events:
            await asyncio.sleep(0)
            yield event

    async def result(self) -> Any:
        if isinstance(self._result, BaseException):
            raise self._result
        return self._result


@dataclass
class Script:
    """Makes events of run r1, a second apart."""

    def __post_init__(self) -> None:
        self.events: list[RunEvent] = []

    def add(self, type_: Any, path: str = "p", **data: Any) -> None:
        number = 0 if type_ == "text.delta" else len(self.events) + 1
        self.events.append(RunEvent("r1", path, number, type_, 1000.0 + len(self.events), data))

    def call(self, invocation: str, tool: str, arguments: str, **finished: Any) -> None:
        fact: dict[str, Any] = {
            "invocation_id": invocation,
            "tool_id": tool,
            "kind": "read",
            "parents": [],
            "arguments": arguments,
        }
        self.add("call.requested", call=f"m{invocation}", tool=tool, arguments=arguments, agent="main")
        self.add("call.started", **fact)
        fact |= {"status": "ok", "duration_ns": 12_000_000, **finished}
        self.add("call.finished", **fact)
        status = finished.get("status", "ok")
        self.add("call.answered", call=f"m{invocation}", ok=status == "ok", status=status, text="")


def main_job() -> tuple[list[RunEvent], Any]:
    """Two rounds, three calls, streamed text, a notice; and the run's result."""
    script = Script()
    script.add("run.started", simulate=False)
    script.add("node.started", node="ask", visit=1, round=1)
    script.add("model.started", agent="main", model="scripted")
    script.add("text.delta", agent="main", text="Let me ")
    script.add("text.delta", agent="main", text="look.")
    script.add("model.finished", agent="main", text="Let me look.", usage={"output_tokens": 7})
    script.call("1", "read_file", '{"path":"notes.md"}', result='"# Notes\\nfirst\\u001b[2J"')
    denied = {"code": "permission.denied", "message": "no", "hint": "ask first"}
    script.call(
        "2", "write_file", '{"path":"a.md","content":"x"}', kind="write", status="denied", failure=denied
    )
    script.call("3", "add", '{"a":1,"b":2}', result="3", simulated=True, repaired=True)
    script.add("notice", code="tool.left_out", text="`odd` can't be expressed")
    script.add("node.started", node="ask", visit=2, round=2)
    script.add("model.finished", agent="main", text="Done: 3.", usage={"output_tokens": 4})
    script.add("run.finished", path="end", status="completed", reason=None, rounds=2, value="Done: 3.")
    result = SimpleNamespace(
        id="r1",
        status="completed",
        reason=None,
        text="Done: 3.",
        rounds=2,
        usage={"output_tokens": 11},
        message="",
    )
    return script.events, result
