from callboard import ToolRegistry, tool


@tool(mode="read")
def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


tools = ToolRegistry().register(add)
print(tools.invoke("add", '{"a": 1, "b": 2}').value)
