"""What the span of a workflow, or of an agent's conversation, says."""

from typing import TYPE_CHECKING, Any

from callboard.workflow.graph import Workflow
from callboard.workflow.outcome import Outcome
from callboard.workflow.run import Run

if TYPE_CHECKING:
    from callboard.telemetry import Open, Spans


def opened(workflow: Workflow[Any, Any], run: Run, spans: "Spans") -> "Open":
    """The span of one way through a workflow: `invoke_agent {agent}` where it is an agent's conversation."""
    about = {"gen_ai.conversation.id": run.id.partition("/")[0], "callboard.run": run.id}
    if workflow.agent is None:
        return spans.open("invoke_workflow", workflow.id, {**about, "gen_ai.workflow.name": workflow.id})
    return spans.open("invoke_agent", workflow.agent, {**about, "gen_ai.agent.name": workflow.agent})


def tell(span: "Open", outcome: Outcome) -> None:
    """How it ended."""
    span.note(status=outcome.status, rounds=outcome.rounds)
    if outcome.status != "completed":
        span.fail(outcome.reason or outcome.status, outcome.message)
