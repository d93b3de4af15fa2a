"""A model turn: the protocol, the providers, and the choice between them; providers are imported late."""

from callboard.models.model import Dialect, Model, ModelAnswer, ModelRequest, OnDelta, ToolDefinition

__all__ = [
    "Dialect",
    "Model",
    "ModelAnswer",
    "ModelRequest",
    "OnDelta",
    "ToolDefinition",
]
