import asyncio
from typing import TypedDict

from callboard import ToolRegistry, tool
from callboard.workflow import Budget, Context, Node, Workflow, WorkflowEngine, route


@tool(mode="read")
async def look_up(place: str, word: str) -> str:
    """Look for a word in one place."""
    return f"{word} in {place}"


registry: ToolRegistry = ToolRegistry().register(look_up).seal()


class State(TypedDict, total=False):
    question: str
    found: list[str]
    answer: str


async def search(state: State, ctx: Context) -> State:
    places = ("docs", "issues")
    results = await asyncio.gather(
        *[ctx.tools.invoke("look_up", {"place": place, "word": state.get("question")}) for place in places]
    )
    return {"found": [result.value for result in results]}


async def summarise(state: State) -> State:
    return {"answer": " and ".join(state.get("found", []))}


workflow = Workflow[State, str](
    id="research",
    nodes=[
        Node("search", search, [route.to("summarise")], starts_round=True),
        Node("summarise", summarise, [route.deliver("answer")]),
    ],
)
engine = WorkflowEngine(workflow, budget=Budget(rounds=3, seconds=60)).bind_tools(registry)
print(asyncio.run(engine.run({"question": "lock"})))
