"""Profile in, run out: one agent's conversation, and the modes that are made of it."""

from callboard.orchestration.agent import Agent, AgentState, Conversation
from callboard.orchestration.controls import FINALIZE, Control
from callboard.orchestration.history import fill, start
from callboard.orchestration.loop import LoopConfig, run_loop

__all__ = [
    "FINALIZE",
    "Agent",
    "AgentState",
    "Control",
    "Conversation",
    "LoopConfig",
    "fill",
    "run_loop",
    "start",
]
