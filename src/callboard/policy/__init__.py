"""Decisions: who makes them, on what view of a call, and the host's default policy."""

from callboard.policy.decisions import UNGOVERNED, Authorize, CallView, Decision, Verdict
from callboard.policy.modes import ModePolicy, Rule

__all__ = ["UNGOVERNED", "Authorize", "CallView", "Decision", "ModePolicy", "Rule", "Verdict"]
