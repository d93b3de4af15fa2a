"""What tests of tools and agents need: a scripted model, governed calls, their records, a tripwire."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callboard.testing.calling import CallTool
    from callboard.testing.recording import RecordedCall, RecordedCalls
    from callboard.testing.scripted import Answer, ScriptedModel, Step, call, call_raw, calls, text
    from callboard.testing.tripwire import Tripwire

# name -> module: imported at the first look, so that the pytest plugin in this room costs nothing
_MODULES = {
    "Answer": "scripted",
    "CallTool": "calling",
    "RecordedCall": "recording",
    "RecordedCalls": "recording",
    "ScriptedModel": "scripted",
    "Step": "scripted",
    "Tripwire": "tripwire",
    "call": "scripted",
    "call_raw": "scripted",
    "calls": "scripted",
    "text": "scripted",
}

__all__ = [
    "Answer",
    "CallTool",
    "RecordedCall",
    "RecordedCalls",
    "ScriptedModel",
    "Step",
    "Tripwire",
    "call",
    "call_raw",
    "calls",
    "text",
]


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'callboard.testing' has no attribute {name!r}")
    value = getattr(import_module(f"callboard.testing.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
