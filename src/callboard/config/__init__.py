"""What the operator wrote: `callboard.toml`, as frozen models."""

from callboard.config.loading import CONFIG, PROFILES, load
from callboard.config.models import Config, Limits, ModelConfig, Models, Policy, State, StoreTable

__all__ = [
    "CONFIG",
    "PROFILES",
    "Config",
    "Limits",
    "ModelConfig",
    "Models",
    "Policy",
    "State",
    "StoreTable",
    "load",
]
