"""One turn with a language model: a request goes in, an answer with text and calls comes back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from callboard.conversation import Message, ToolCall

Dialect = Literal["openai", "anthropic", "gemini", "mcp"]
OnDelta = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as the model is shown it; `name` is its wire name, `parameters` a JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    strict: bool | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What one turn is asked.

    Attributes:
        agent: the path of the asking agent.
        messages: the conversation so far, system messages included.
        tools: the tools that the model may call now.
        settings: `temperature`, `max_tokens`, `timeout` (seconds) and whatever else the provider knows.
    """

    agent: str
    messages: Sequence[Message]
    tools: Sequence[ToolDefinition] = ()
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What the model said.

    Attributes:
        text: its prose; empty where it only calls.
        calls: its calls in order, ids and argument texts as they came.
        usage: counts by name: `input_tokens`, `output_tokens` and what else the provider reports.
        finish_reason: `stop`, `tool_call`, `length` (cut off at a limit: the calls may be incomplete),
            `content_filter` or `error`; None where the provider gave none.
        model: the name that the provider gave itself.
        kept: JSON that the provider wants to see again with this answer, such as signed thoughts; for
            `kept` of the message. None where it wants nothing.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict[str, int])
    finish_reason: str | None = None
    model: str = ""
    kept: Mapping[str, Any] | None = None

    @property
    def truncated(self) -> bool:
        """Whether the answer was cut off at a limit."""
        return self.finish_reason == "length"

    def to_json(self) -> dict[str, Any]:
        """The answer as JSON, for a record."""
        made: dict[str, Any] = {
            "text": self.text,
            "calls": [dict(call) for call in self.calls],
            "usage": dict(self.usage),
            "finish_reason": self.finish_reason,
            "model": self.model,
        }
        return made if self.kept is None else made | {"kept": dict(self.kept)}

    @classmethod
    def from_json(cls, made: Mapping[str, Any]) -> "ModelAnswer":
        """The answer that `to_json` wrote."""
        calls = tuple(
            ToolCall(id=call["id"], name=call["name"], arguments=call["arguments"])
            for call in made.get("calls", ())
        )
        return cls(
            made["text"],
            calls,
            dict(made.get("usage", {})),
            made.get("finish_reason"),
            made.get("model", ""),
            made.get("kept"),
        )


class Model(Protocol):
    """A language model that can be asked."""

    @property
    def name(self) -> str:
        """The name by which it was chosen."""
        ...

    @property
    def dialect(self) -> Dialect:
        """How tools are to be described to it."""
        ...

    @property
    def finishes_with_text(self) -> bool:
        """Whether it writes prose; one that does not ends with an empty answer and results are shown."""
        ...

    async def answer(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        """Ask for one turn; pieces of text go to `on_delta` as they arrive.

        Raises:
            ModelError: when there is no answer; `code` and `hint` say why and what to do.
        """
        ...

    async def close(self) -> None:
        """Let go of connections and processes. A second call does nothing."""
        ...
