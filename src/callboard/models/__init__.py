"""A model turn: the protocol, the choice of a model and its opening; providers are imported when asked."""

from callboard.models.choose import Choice, choose
from callboard.models.model import Dialect, Model, ModelAnswer, ModelRequest, OnDelta, ToolDefinition
from callboard.models.opening import open_model
from callboard.models.traced import TracedModel

__all__ = [
    "Choice",
    "Dialect",
    "Model",
    "ModelAnswer",
    "ModelRequest",
    "OnDelta",
    "ToolDefinition",
    "TracedModel",
    "choose",
    "open_model",
]
