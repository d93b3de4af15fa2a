"""Figures of calls: a pure function over what was recorded."""

from collections.abc import Iterable
from random import Random

import pytest

from callboard import Decision, ToolError, ToolRegistry, tool
from callboard.events import ToolCallRecord
from callboard.policy import CallView
from callboard.types import ExecutionOptions
from callboard.views import Measure, figures, measure


def calls(
    tool_id: str, milliseconds: Iterable[float], status: str = "ok", code: str | None = None
) -> list[Measure]:
    return [Measure(tool_id, status, code, int(ms * 1e6), False) for ms in milliseconds]


def test_nothing_gives_nothing() -> None:
    assert figures([]) == []


def test_calls_are_counted_by_tool_and_end_the_busiest_first() -> None:
    some = [
        *calls("b", [1]),
        *calls("a", [1, 2, 3]),
        *calls("a", [4], "failed", "disk.full"),
        *calls("a", [9_999], "denied", "permission.denied"),
        *calls("a", [5, 6], "failed", "args.invalid"),
        Measure("a", "ok", None, 7_000_000, True),
    ]
    Random(7).shuffle(some)
    first, second = figures(some)

    assert (first.tool, first.calls, first.simulated, second.tool) == ("a", 8, 1, "b")
    assert first.statuses == {"ok": 4, "failed": 3, "denied": 1}
    assert first.codes == {"args.invalid": 2, "disk.full": 1, "permission.denied": 1}
    assert (first.p50_ms, first.p95_ms, first.max_ms) == (4, 7, 7)


@pytest.mark.parametrize(
    ("number", "half", "most"),
    [(1, 1, 1), (2, 1, 2), (3, 2, 3), (20, 10, 19), (21, 11, 20), (1000, 500, 950)],
)
def test_a_share_of_the_calls_took_at_most_so_long(number: int, half: float, most: float) -> None:
    (one,) = figures(calls("a", range(1, number + 1)))

    assert (one.p50_ms, one.p95_ms, one.max_ms) == (half, most, number)


def test_denied_calls_alone_have_no_times() -> None:
    (one,) = figures(calls("a", [1], "denied", "permission.denied"))

    assert one.to_json() == {
        "tool": "a",
        "calls": 1,
        "statuses": {"denied": 1},
        "codes": {"permission.denied": 1},
        "simulated": 0,
        "p50_ms": None,
        "p95_ms": None,
        "max_ms": None,
    }


async def test_a_registry_gives_the_figures_of_its_log() -> None:
    @tool(mode="read")
    def works() -> int:
        return 1

    @tool
    def fails() -> None:
        raise ToolError("no disk", code="disk.none")

    def policy(view: CallView) -> Decision:
        return Decision("deny" if view.agent == "guest" else "allow", ("guests may not",))

    tools = ToolRegistry(authorize=policy).register_all([works, fails])
    await tools.invoke_batch([("works", None)] * 3 + [("fails", None)] * 2)
    await tools.invoke_batch([("works", None), ("none", None)], execution=ExecutionOptions(agent="guest"))
    made = {each.tool: each for each in tools.metrics()}

    assert made["works"].statuses == {"ok": 3, "denied": 1}
    assert made["works"].max_ms is not None
    assert made["fails"].codes == {"disk.none": 2}
    assert made["none"].codes == {"tool.unavailable": 1}
    assert tools.metrics() == figures(measure(e) for e in tools.events if isinstance(e, ToolCallRecord))
