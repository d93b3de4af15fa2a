"""Tools under string annotations: what they mention is found where they are defined."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Optional

from pydantic import BaseModel, Field

from callboard.tools import Tool, tool

if TYPE_CHECKING:
    from callboard.types import ToolContext


class Size(BaseModel):
    width: int


@tool(mode="read")
def measure(size: Size, unit: Optional[str] = None, *, ctx: ToolContext) -> str:  # noqa: UP045 - the case
    return f"{size.width}{unit or ''}"


@tool
def labelled(label: Annotated[str, Field(description="what to print")], times: int | None = None) -> str:
    return label * (times or 1)


def made_locally() -> tuple[Tool[Any], Tool[Any]]:
    @dataclass
    class Local:
        x: int

    @tool
    def plot(point: Local) -> int:
        return point.x

    class Plotter:
        Inner = Local

        @tool
        def draw(self, point: Inner) -> int:
            return point.x * 2

    return plot, Plotter().draw


def captures(kind: type[Any]) -> Any:
    def probe(value: kind) -> int:  # pyright: ignore[reportInvalidTypeForm]
        return len([kind, value])

    return probe


# The names below stand nowhere: that is the case.
# pyright: reportUndefinedVariable=false, reportUnknownParameterType=false


def unresolved(value: Nowhere) -> None: ...  # noqa: F821


def unresolved_result(value: int) -> Nowhere: ...  # noqa: F821
