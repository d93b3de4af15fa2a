"""What tests of tools and agents need: a model that says what it is told to say."""

from callboard.testing.scripted import Answer, ScriptedModel, Step, call, call_raw, calls, text

__all__ = ["Answer", "ScriptedModel", "Step", "call", "call_raw", "calls", "text"]
