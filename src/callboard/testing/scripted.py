"""A model that answers what a test wrote down for it."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from callboard.conversation import ToolCall
from callboard.errors import ModelError
from callboard.models import Dialect, ModelAnswer, ModelRequest, OnDelta


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a scripted answer; `arguments` is the text that the model is to have sent."""

    name: str
    arguments: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """One scripted answer. Calls without an id get one from the model, counted per script."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    finish_reason: str | None = None
    usage: Mapping[str, int] = field(default_factory=lambda: {"input_tokens": 1, "output_tokens": 1})

    def cut_off(self) -> "Answer":
        """The same answer, ended at the provider's limit."""
        return replace(self, finish_reason="length")


# What a script may hold at one place: an answer, an error that the request ends with, or a function of the
# request that gives one of these.
Item = Answer | BaseException
Step = Item | Callable[[ModelRequest], Item]


def text(said: str, *, finish_reason: str | None = None) -> Answer:
    """An answer of prose only."""
    return Answer(said, finish_reason=finish_reason)


def call(name: str, /, **arguments: Any) -> Answer:
    """An answer with one call."""
    return Answer(calls=(Call(name, json.dumps(arguments, ensure_ascii=False)),))


def call_raw(name: str, arguments: str, *, id: str | None = None) -> Answer:  # noqa: A002 - a call's id
    """An answer with one call whose arguments are this very text, JSON or not."""
    return Answer(calls=(Call(name, arguments, id),))


def calls(*answers: Answer, say: str = "", finish_reason: str | None = None) -> Answer:
    """Several calls in one answer, with what is said beside them."""
    together = tuple(one for answer in answers for one in answer.calls)
    said = say or "".join(answer.text for answer in answers)
    return Answer(said, together, finish_reason)


class ScriptedModel:
    """A model that gives its answers in order: one list, or one per agent where several run.

    ::

        model = ScriptedModel([call("add", a=1, b=2), text("3")])
        model = ScriptedModel(main=[call("ask_scout"), text("done")], scout=[text("nothing there")])

    A keyed script serves the agent of that path, else of that last part of it: `scout` answers for
    ``main/scout``.

    Attributes:
        requests: every request in the order in which it came.
    """

    def __init__(
        self,
        script: Iterable[Step] | None = None,
        /,
        *,
        name: str = "scripted",
        dialect: Dialect = "openai",
        finishes_with_text: bool = True,
        **agents: Iterable[Step],
    ) -> None:
        if (script is None) == (not agents):
            raise ValueError(
                "give one script, or scripts by agent name: ScriptedModel([...]) or (main=[...])"
            )
        self.name = name
        self.dialect: Dialect = dialect
        self.finishes_with_text = finishes_with_text
        self.requests: list[ModelRequest] = []
        self.closed = False
        self._one = None if script is None else list(script)
        self._agents = {agent: list(steps) for agent, steps in agents.items()}
        self._called = 0

    async def answer(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        """The next scripted answer of the asking agent; its text goes to `on_delta` word by word.

        Raises:
            ModelError: `model.script_over` when nothing is left for that agent, `model.script_unknown_agent`
                when no script is for it; and whatever the script says.
        """
        self.requests.append(request)
        step = self._next(request)
        item = step(request) if callable(step) else step
        if isinstance(item, BaseException):
            raise item
        for piece in _pieces(item.text):
            on_delta(piece)
        made = tuple(self._numbered(one) for one in item.calls)
        reason = item.finish_reason or ("tool_call" if made else "stop")
        return ModelAnswer(item.text, made, dict(item.usage), reason, self.name)

    async def close(self) -> None:
        """Only notes that it was closed."""
        self.closed = True

    def assert_complete(self) -> None:
        """Check that every scripted answer was given.

        Raises:
            AssertionError: names what is left, by agent.
        """
        scripts = {"the script": self._one} if self._one is not None else self._agents
        left = [f"{agent}: {', '.join(map(_shown, steps))}" for agent, steps in scripts.items() if steps]
        if left:
            raise AssertionError(f"the scripted model was not asked for: {'; '.join(left)}")

    def _next(self, request: ModelRequest) -> Step:
        steps = self._one
        if steps is None:
            agent = request.agent
            steps = self._agents.get(agent, self._agents.get(agent.rsplit("/", 1)[-1]))
            if steps is None:
                raise ModelError(
                    f"the scripted model has no script for the agent {agent!r}",
                    code="model.script_unknown_agent",
                    hint=f"scripts are there for: {', '.join(self._agents)}",
                )
        if not steps:
            before = len(self.requests) - 1
            raise ModelError(
                f"the script of the agent {request.agent!r} is over after {before} "
                f"request{'s' * (before != 1)}",
                code="model.script_over",
                hint="add an answer to the script, or end the run earlier",
            )
        return steps.pop(0)

    def _numbered(self, one: Call) -> ToolCall:
        self._called += 1
        return ToolCall(id=one.id or f"call_{self._called}", name=one.name, arguments=one.arguments)


def _pieces(said: str) -> list[str]:
    words = said.split(" ")
    return [word + " " for word in words[:-1]] + [words[-1]] if said else []


def _shown(step: Step) -> str:
    if isinstance(step, Answer):
        return "calls " + " + ".join(one.name for one in step.calls) if step.calls else f"text {step.text!r}"
    return repr(step)
