"""Spans of calls, agents and model turns. Importing this room imports opentelemetry."""

from callboard.telemetry.calls import heard, traced
from callboard.telemetry.spans import Open, Spans, global_tracer

__all__ = ["Open", "Spans", "global_tracer", "heard", "traced"]
