import asyncio

from callboard import Decision, ToolError, ToolRegistry, tool
from callboard.policy import CallView
from callboard.types import ApprovalAnswer, ApprovalRequest

notes: list[str] = []


@tool
async def save_note(text: str) -> str:
    """Save a note.

    Args:
        text: what to remember
    """
    notes.append(text)
    return f"note {len(notes)} saved"


@tool(mode="read")
def list_notes() -> list[str]:
    """List all notes."""
    return notes


def policy(view: CallView) -> Decision:
    """Reads run, writes ask, and nobody writes secrets."""
    if view.kind == "read":
        return Decision("allow", ("reads are free",))
    if "secret" in view.arguments["text"]:
        return Decision("deny", ("no secrets in notes",))
    return Decision("ask", ("writes ask",))


class Colleague:
    """Somebody who can be asked: here, one who agrees to all that is short."""

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        return ApprovalAnswer(len(request.arguments) < 60, request.digest, by="a colleague")


async def main() -> None:
    tools = ToolRegistry(authorize=policy, approver=Colleague()).register_all([save_note, list_notes]).seal()

    result = await tools.invoke_async("save_note", {"text": "call Ada back"})
    print(result.value, result.invocation.reasons)

    try:
        await tools.invoke_async("save_note", {"text": "the secret is 42"})
    except ToolError as error:
        print(error.code, "-", error)

    outcomes = await tools.invoke_batch([("list_notes", {}), ("save_note", {"txet": "oops"})])
    for outcome in outcomes:
        print(outcome.text)

    print([made["name"] for made in tools.export("anthropic").definitions])


asyncio.run(main())
