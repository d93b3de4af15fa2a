"""What registering costs: 10,000 tools with different signatures, fully checked, then listed and exported.

CPU seconds of this process, which does nothing else; memory is what it grew by. The machine's speed is in
them: `benchmarks/gate.py` prints the floor of the same machine. `python benchmarks/registration.py [tools]`
"""

import gc
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from jsonschema_rs import Draft202012Validator
from pydantic import TypeAdapter

from callboard import ToolRegistry, tool

GOALS = {
    "functions": "3.5 s, 150 MB, linear",
    "JSON Schemas": "0.5 s",
    "listed again": "10 ms",
}
_KINDS = ("int", "str", "float | None", "list[int]", "dict[str, float]", "bool", "Literal['a', 'b']", "Path")
_PAGE = 4096


def functions(number: int) -> list[Callable[..., Any]]:
    """Functions whose parameters differ in name and in type."""
    source = "\n".join(
        f'''
def tool_{i}(first_{i}: {_KINDS[i % 8]}, other: {_KINDS[i // 8 % 8]}, limit_{i % 50}: int = {i}) -> str:
    """Do thing {i}.

    Args:
        first_{i}: what it is about
        other: what else
    """
    return ""
'''
        for i in range(number)
    )
    names: dict[str, Any] = {}
    exec(f"from pathlib import Path\nfrom typing import Literal\n{source}", names)  # noqa: S102 - our own text
    return [names[f"tool_{i}"] for i in range(number)]


def schema_tools(number: int) -> list[dict[str, Any]]:
    """Seed 003's form, as a bridge to a server makes it: a JSON Schema and one function for all."""

    def execute(value: Any) -> Any:
        return value

    def same(value: Any) -> Any:
        return value

    return [
        {
            "id": f"remote_{i}",
            "kind": "read",
            "description": f"Do thing {i}.",
            "schema": {
                "type": "object",
                "properties": {
                    f"path_{i}": {"type": "string", "description": "what it is about"},
                    "limit": {"type": "integer", "minimum": 1},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": [f"path_{i}"],
                "additionalProperties": False,
            },
            "parse_output": same,
            "execute": execute,
        }
        for i in range(number)
    ]


def memory() -> float:
    """Resident megabytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE / 1e6


def timed(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def registered(tools: Iterable[Any]) -> tuple[ToolRegistry, float, float]:
    """A registry with the tools, the seconds that it took, and the megabytes."""
    gc.collect()
    registry, before = ToolRegistry(), memory()

    def register() -> None:
        for each in tools:
            registry.register(each)

    seconds = timed(register)
    return registry, seconds, memory() - before


def of_functions(number: int) -> dict[str, tuple[str, str]]:
    """The rows of tools made from functions."""
    registered([tool(each) for each in functions(20)])
    quarter = registered([tool(each) for each in functions(number // 4)])[1]
    registry, seconds, grown = registered([tool(each) for each in functions(number)])

    def listed() -> str:
        return f"{timed(lambda: list(registry.definitions)) * 1e3:.1f} ms"

    def exported() -> str:
        return f"{timed(lambda: registry.export('openai')) * 1e3:.0f} ms"

    each = seconds / number * 1e6
    remark = f"{each:.0f} us each, {grown:.0f} MB, {seconds / quarter:.1f} times a quarter's"
    plain: list[Any] = list(functions(number))
    bare = timed(lambda: [TypeAdapter[Any](each) for each in plain])
    return {
        "pydantic alone": (f"{bare:.2f} s", "a TypeAdapter of each"),
        "functions": (f"{seconds:.2f} s", remark),
        "listed": (listed(), ""),
        "listed again": (listed(), ""),
        "exported, OpenAI": (exported(), ""),
        "exported again": (exported(), ""),
    }


def of_schemas(number: int) -> dict[str, tuple[str, str]]:
    """The rows of tools that come with a JSON Schema."""
    schemas = [each["schema"] for each in schema_tools(number)]
    bare = timed(lambda: [Draft202012Validator(each) for each in schemas])
    _, seconds, grown = registered(schema_tools(number))
    return {
        "jsonschema-rs alone": (f"{bare:.2f} s", "a validator of each"),
        "JSON Schemas": (f"{seconds:.2f} s", f"{seconds / number * 1e6:.0f} us each, {grown:.0f} MB"),
    }


def main(number: int) -> None:
    rows = {**of_functions(number), **of_schemas(number)}
    print(f"{f'{number:,} tools':26}{'':>10}  goal")
    for name, (figure, remark) in rows.items():
        print(f"{name:26}{figure:>10}  {GOALS.get(name, ''):24}{remark}".rstrip())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
