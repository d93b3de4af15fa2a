"""What the operator wrote: `callboard.toml`, as frozen models."""

from callboard.config.loading import load
from callboard.config.models import Config, Limits, ModelConfig, Models, Policy, State

__all__ = ["Config", "Limits", "ModelConfig", "Models", "Policy", "State", "load"]
