"""What tests of tools and agents need: a scripted model, governed calls, their records, a tripwire."""

from typing import TYPE_CHECKING

from callboard.lazy import lazily

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

__getattr__ = lazily(__name__, _MODULES)


def __dir__() -> list[str]:
    return __all__
