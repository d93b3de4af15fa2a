"""loop: one agent with tools, until it has an answer."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict

from callboard.conversation import Message
from callboard.orchestration.agent import Agent, AgentState, Conversation
from callboard.orchestration.controls import FINALIZE
from callboard.orchestration.history import start
from callboard.workflow import Budget, Outcome, Run, WorkflowEngine

DEFAULT_PROMPT = (
    "You work for the person who asks. Use the tools to find out what you need and to do what is asked; "
    "do not guess what a tool can tell you. When a call fails, read its error and its hint before you go on. "
    "When you are done, answer in plain words."
)


class LoopConfig(BaseModel):
    """The loop mode as a profile gives it. Other types and figures outside their range are refused.

    Attributes:
        controls: the names of the tools that are the mode's own.
        prompt: the system message; empty means none.
        model: the name of the model; None leaves it to the host.
        tools: the tools that the agent may see and call; None means all.
        text_ends: an answer with text and without calls is the final one; else it is a silent round.
        max_rounds: requests to the model.
        seconds: of work, at most a day; time in which a person is asked does not count.
        streak: silent rounds in a row that end the run.
        max_repeats: rounds in a row with the same calls and the same results that end the run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    controls: ClassVar[tuple[str, ...]] = (FINALIZE.name,)

    mode: Literal["loop"] = "loop"
    prompt: str = DEFAULT_PROMPT
    model: str | None = None
    tools: Annotated[frozenset[str], Strict(strict=False)] | None = None
    text_ends: bool = True
    max_rounds: Annotated[int, Field(ge=1, le=50)] = 20
    seconds: Annotated[float, Field(ge=10, le=86_400, allow_inf_nan=False)] = 300
    streak: Annotated[int, Field(ge=1, le=50)] = 3
    max_repeats: Annotated[int, Field(ge=2, le=50)] = 5

    def agent(self) -> Agent:
        """The one agent of this mode."""
        return Agent(
            path="main",
            grant=self.tools,
            model=self.model,
            text_ends=self.text_ends,
            streak=self.streak,
            max_repeats=self.max_repeats,
        )


async def run_loop(config: LoopConfig, goal: str, run: Run, history: Sequence[Message] = ()) -> Outcome:
    """Run one agent until it finalizes, answers, or a limit ends it.

    Args:
        config: the profile.
        goal: what the person asks.
        run: what the run shares; needs `tools` and `models`.
        history: the conversation before; calls that were left open in it are answered.

    Returns:
        Its value is the final text, or the newest prose where the run did not complete.
    """
    engine = WorkflowEngine(
        Conversation(config.agent(), (FINALIZE,)).workflow(),
        budget=Budget(config.max_rounds, config.seconds),
    )
    return await engine.execute(AgentState(messages=start(config.prompt, goal, history)), run)
