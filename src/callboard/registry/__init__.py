"""Seed 003's ToolRegistry: the face of catalog and gate."""

from callboard.calls import system_secrets
from callboard.catalog import Toolset
from callboard.registry.registry import ToolRegistry

__all__ = ["ToolRegistry", "Toolset", "system_secrets"]
