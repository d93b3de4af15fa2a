"""The gate: the one way to execute a tool, and the protocols that it needs from whoever holds it."""

from callboard.calls.drive import Passage, batch, drive
from callboard.calls.gate import gate
from callboard.calls.ports import BeforeHook, Blobs, Ports
from callboard.calls.sources import system_secrets

__all__ = ["BeforeHook", "Blobs", "Passage", "Ports", "batch", "drive", "gate", "system_secrets"]
