"""A model turn: the protocol, the choice of a model and its opening; providers are imported when asked."""

from callboard.models.choose import Choice, choose
from callboard.models.model import Dialect, Model, ModelAnswer, ModelRequest, OnDelta, ToolDefinition
from callboard.models.opening import open_model

__all__ = [
    "Choice",
    "Dialect",
    "Model",
    "ModelAnswer",
    "ModelRequest",
    "OnDelta",
    "ToolDefinition",
    "choose",
    "open_model",
]
