"""Events in, state of a surface out: the same fold serves the terminal, exports and history."""

from callboard.views.fold import REDUCERS, abandon, apply, fold
from callboard.views.metrics import Measure, ToolFigures, figures, measure
from callboard.views.state import Card, Entry, Footer, Heading, Notice, Phase, RunState, Said, shortened

__all__ = [
    "REDUCERS",
    "Card",
    "Entry",
    "Footer",
    "Heading",
    "Measure",
    "Notice",
    "Phase",
    "RunState",
    "Said",
    "ToolFigures",
    "abandon",
    "apply",
    "figures",
    "fold",
    "measure",
    "shortened",
]
