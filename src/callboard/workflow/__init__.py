"""Workflows: nodes, routes, rounds, budgets and children, over steps that can be recorded and replayed."""

from callboard.workflow.context import Context
from callboard.workflow.engine import WorkflowEngine
from callboard.workflow.graph import Node, Route, Workflow, route
from callboard.workflow.outcome import Budget, Outcome, Status
from callboard.workflow.recorded import Json
from callboard.workflow.run import Child, Emitter, Limit, Run, RunListener, Tools
from callboard.workflow.stops import Deadline, WorkClock
from callboard.workflow.tools import BoundTools

__all__ = [
    "BoundTools",
    "Budget",
    "Child",
    "Context",
    "Deadline",
    "Emitter",
    "Json",
    "Limit",
    "Node",
    "Outcome",
    "Route",
    "Run",
    "RunListener",
    "Status",
    "Tools",
    "WorkClock",
    "Workflow",
    "WorkflowEngine",
    "route",
]
