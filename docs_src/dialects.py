from typing import Annotated, Literal

from pydantic import BaseModel, Field

from callboard import ToolRegistry, tool


class Chain(BaseModel):
    word: str
    next: "Chain | None"


@tool(mode="read")
def find(
    text: Annotated[str, Field(max_length=200)],
    place: str | list[str],
    order: Literal["new", "old"] = "new",
) -> list[str]:
    """Find notes."""
    return [f"{text} in {place}, {order} first"]


@tool(mode="read")
def say(chain: Chain) -> None:
    """Say the words of a chain."""


registry = ToolRegistry().register_all([find, say])
made = registry.export("gemini")
print([each["name"] for each in made.definitions])
print([(left.tool_id, left.code) for left in made.left_out])

properties = made.definitions[0]["parametersJsonSchema"]["properties"]
print(properties["text"])
print(properties["place"])
print(properties["order"])

for note in registry.export("openai").notes:
    print(note.tool_id, note.code)
