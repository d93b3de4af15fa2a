from typing import Any

from callboard import ToolRegistry


def need_object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("an object is needed")
    return {}


def need_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is needed")
    return value


get_status: dict[str, Any] = {
    "id": "get_status",
    "kind": "read",
    "description": "Reads the status of the demo service",
    "parse_input": need_object,
    "execute": lambda: "the service is up",
    "parse_output": need_text,
}
tools = ToolRegistry().register(get_status).seal()
result = tools.invoke("get_status", {})
print(result.value, result.invocation.invocation_id)
