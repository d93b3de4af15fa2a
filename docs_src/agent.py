import asyncio

from callboard import Host, tool
from callboard.testing import ScriptedModel, call, text


@tool(mode="read")
def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


async def main() -> None:
    # A model for tests: it says what it is told to say. Leave `model` away to use a real one.
    model = ScriptedModel([call("add", a=17, b=25), text("17 and 25 make 42.")])
    async with Host(tools=[add]) as host:
        run = host.start("add 17 and 25", model=model)
        async for event in run.events():
            print(event.type)
        result = await run.result()
    print(result.status, "-", result.text)


asyncio.run(main())
