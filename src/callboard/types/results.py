"""What a call gives back."""

from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct
from pydantic_core import to_json

from callboard.conversation import ContentPart, text_of
from callboard.events import Failure, ToolCallRecord

T = TypeVar("T")


class ToolResult(Struct, Generic[T], frozen=True):
    """`value` for the program, `content` for the model, `invocation` as the receipt.

    `content` is text, or the typed parts in order where the tool returned such.
    """

    value: T
    content: str | tuple[ContentPart, ...]
    invocation: ToolCallRecord

    @property
    def text(self) -> str:
        """The content for a reader of text only; what is no text becomes a handle in its place."""
        return self.content if isinstance(self.content, str) else text_of(self.content)


class CallOutcome(NamedTuple):
    """How one call of a batch ended: exactly one of `result` and `error` is there."""

    invocation: ToolCallRecord | None  # None only where a host's own error refused to carry it
    result: ToolResult[Any] | None
    error: Exception | None

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self.result is not None

    @property
    def text(self) -> str:
        """What the model sees: the result as text, or the failure's envelope."""
        if self.result is not None:
            return self.result.text
        failure = None if self.invocation is None else self.invocation.failure
        if failure is None:
            failure = Failure("call.failed", str(self.error) or type(self.error).__name__, None)
        told = {"ok": False, "error": failure.message, "code": failure.code, "hint": failure.hint}
        return to_json(told).decode()
