"""What a tool's author would want to know before a model meets the tool."""

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from callboard.cli.trial import function_of
from callboard.tools.refs import pointed, subschemas

if TYPE_CHECKING:
    from callboard.tools import Dialect, Export, RegisteredTool

# Beyond it, a tool takes a noticeable part of each request.
LARGE = 1_000


def tokens(definition: Any) -> int:
    """About how many tokens a definition costs in each request: a fourth of its characters."""
    return -(-len(json.dumps(definition, separators=(",", ":"), ensure_ascii=False)) // 4)


def warnings(tool: "RegisteredTool", exports: "Mapping[Dialect, Export]") -> list[str]:
    """One line for each, the gravest first."""
    return [
        *_left_out(tool, exports),
        *_named(tool, exports),
        *_described(tool),
        *_moded(tool),
        *_loose(tool),
        *_noted(tool, exports),
        *_sized(tool, exports),
    ]


def _left_out(tool: "RegisteredTool", exports: "Mapping[Dialect, Export]") -> Iterator[str]:
    for dialect, export in exports.items():
        for left in export.left_out:
            if left.tool_id == tool.id:
                yield f"left out for {dialect}: {left.reason} [{left.code}]"


def _named(tool: "RegisteredTool", exports: "Mapping[Dialect, Export]") -> Iterator[str]:
    from callboard.orchestration import LoopConfig  # noqa: PLC0415 - for this command only

    name = exports["openai"].names[tool.id]
    if name != tool.id:
        yield f"models see it as {name!r}"
    if tool.id in LoopConfig.controls:
        yield f"a run can't have it: the loop has a tool of its own that is called {tool.id!r}"


def _described(tool: "RegisteredTool") -> Iterator[str]:
    if not tool.description:
        yield "it has no description: a model would not know what it is for"
    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    silent = [name for name, schema in properties.items() if not schema.get("description")]
    if silent:
        yield f"without a description: {', '.join(silent)}"


def _moded(tool: "RegisteredTool") -> Iterator[str]:
    if tool.kind == "write" and not says_mode(tool):
        yield 'it says no mode, so it is a write, and its calls may ask: mode="read" if it changes nothing'
    function = function_of(tool)
    if inspect.isroutine(function) and tool.output_schema is None:
        undeclared = getattr(function, "__annotations__", {}).get("return", inspect.Parameter.empty)
        if undeclared is inspect.Parameter.empty and getattr(tool.source, "id", None) is not None:
            yield "its result is undeclared: what it returns is not checked"


def says_mode(tool: "RegisteredTool") -> bool:
    """Whether the source of a decorated function names its mode; True where there is no source to look at."""
    try:
        (made,) = ast.parse(textwrap.dedent(inspect.getsource(function_of(tool)))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return True
    for decorator in getattr(made, "decorator_list", []):
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if getattr(called, "attr", None) == "tool" or getattr(called, "id", None) == "tool":
            words = decorator.keywords if isinstance(decorator, ast.Call) else []
            return any(word.arg in {"mode", None} for word in words)
    return True


def _loose(tool: "RegisteredTool") -> Iterator[str]:
    """Arguments that admit more than is good: any key, or a text of any length."""
    schema = tool.input_schema
    found: dict[str, list[str]] = {"any key": [], "no limit": []}
    for name, part in schema.get("properties", {}).items():
        for kind in sorted(_loosenesses(schema, part, set())):
            found[kind].append(name)
    if found["any key"]:
        yield f"admits any key: {', '.join(found['any key'])}"
    if found["no limit"]:
        names = ", ".join(found["no limit"])
        yield f"texts of any length: {names}; Field(max_length=...) would say where it ends"


def _loosenesses(root: Mapping[str, Any], node: Mapping[str, Any], seen: set[str]) -> set[str]:
    found: set[str] = set()
    kinds = node.get("type")
    if kinds == "object" and node.get("additionalProperties", True) is not False:
        found.add("any key")
    if kinds == "string" and not node.keys() & {"maxLength", "enum", "const", "format", "pattern"}:
        found.add("no limit")
    ref = node.get("$ref")
    if isinstance(ref, str) and ref not in seen:
        seen.add(ref)
        found |= _loosenesses(root, pointed(root, ref), seen)
    for part in subschemas(node):
        found |= _loosenesses(root, part, seen)
    return found


def _noted(tool: "RegisteredTool", exports: "Mapping[Dialect, Export]") -> Iterator[str]:
    for dialect, export in exports.items():
        for note in export.notes:
            if note.tool_id == tool.id:
                yield f"{dialect}: {note.reason} [{note.code}]"


def _sized(tool: "RegisteredTool", exports: "Mapping[Dialect, Export]") -> Iterator[str]:
    made = definition_of(tool, exports["openai"])
    if made is not None and tokens(made) > LARGE:
        yield f"it takes about {tokens(made)} tokens of each request"


def definition_of(tool: "RegisteredTool", export: "Export") -> dict[str, Any] | None:
    """The tool's definition in an export; None where it is left out."""
    name = export.names[tool.id]
    found = (made for made in export.definitions if (made.get("function") or made)["name"] == name)
    return next(found, None)
