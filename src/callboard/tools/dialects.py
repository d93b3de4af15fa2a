"""Tool definitions as providers and MCP take them: one bad tool never spoils the others."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from callboard.errors import RegistrationError
from callboard.tools.entry import RegisteredTool
from callboard.tools.names import WireNames
from callboard.tools.refs import Schema, TooLarge, closed_view, inlined
from callboard.tools.roots import RootUnion, flat_root, is_object_root
from callboard.tools.strictness import breaks_strict

Dialect = Literal["openai", "anthropic", "mcp"]
Refs = Literal["keep", "inline"]
Strict = bool | None
# OpenAI refuses the whole request for a longer one.
_OPENAI_DESCRIPTION = 1024


class LeftOut(NamedTuple):
    """A tool that a dialect can't express."""

    tool_id: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Export:
    """The tools in one dialect.

    Attributes:
        definitions: one per tool, sorted by tool id, so that the same tools give the same bytes.
        names: the names in them, and the way back.
        left_out: the tools that are not among them, and why.
    """

    definitions: list[dict[str, Any]]
    names: WireNames
    left_out: list[LeftOut]


class _Unsayable(Exception):
    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def export(
    tools: Iterable[RegisteredTool[Any]], dialect: Dialect, *, refs: Refs = "keep", strict: bool | None = None
) -> Export:
    """Write the tools down in one dialect.

    Args:
        tools: in any order.
        dialect: `openai`, `anthropic` or `mcp`.
        refs: `keep` keeps local references; `inline` writes out those on no cycle, for models that do not
            follow them.
        strict: for `openai`. None: strict where the schema satisfies strict mode; True: the others are left
            out; False: never.

    Raises:
        ValueError: for an unknown dialect.
    """
    if dialect not in get_args(Dialect) or refs not in get_args(Refs):
        raise ValueError(f"no such dialect: {dialect!r} with refs={refs!r}")
    entries = {entry.id: entry for entry in tools}
    names = WireNames(entries)
    definitions: list[dict[str, Any]] = []
    left_out: list[LeftOut] = []
    for tool_id in sorted(entries):
        try:
            made = _fragment(entries[tool_id], dialect, refs, strict)
        except _Unsayable as error:
            left_out.append(LeftOut(tool_id, error.code, str(error)))
        else:
            definitions.append(_DIALECTS[dialect].named(made, names[tool_id]))
    return Export(definitions, names, left_out)


def _fragment(entry: RegisteredTool[Any], dialect: Dialect, refs: Refs, strict: Strict) -> dict[str, Any]:
    """The definition without its name; made once for each entry."""
    kept: dict[Any, Any] = entry.published.kept
    key = (dialect, refs, strict)
    if key not in kept:
        kept[key] = _made(entry, dialect, refs, strict)
    return kept[key]


def _made(entry: RegisteredTool[Any], dialect: Dialect, refs: Refs, strict: Strict) -> dict[str, Any]:
    try:
        schema = dict(entry.input_schema)
        if _DIALECTS[dialect].flat:
            schema = flat_root(schema)
        schema = inlined(schema) if refs == "inline" else closed_view(schema, schema)
        return _DIALECTS[dialect].body(entry, {"type": "object", **schema}, strict)
    except RootUnion as error:
        raise _Unsayable("schema.root_union", str(error)) from None
    except TooLarge:
        raise _Unsayable("schema.too_large", "with its references written out it is too large") from None
    except RegistrationError as error:
        raise _Unsayable(error.code, str(error)) from None
    except _Unsayable:
        raise
    except Exception as error:  # a type's own code makes its schema
        raise _Unsayable(
            "schema.unpublishable", f"its schema can't be made: {error or type(error).__name__}"
        ) from error


def _openai(entry: RegisteredTool[Any], schema: Schema, strict: Strict) -> dict[str, Any]:
    schema = {**schema, "required": schema.get("required", [])}
    broken = breaks_strict(schema)
    if strict and broken is not None:
        raise _Unsayable("schema.not_strict", f"its schema is beyond strict mode: {broken}")
    function: dict[str, Any] = {"name": ""}
    if entry.description:
        function["description"] = _cut(entry.description, _OPENAI_DESCRIPTION)
    return {
        "type": "function",
        "function": {**function, "parameters": schema, "strict": broken is None and strict is not False},
    }


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rsplit(None, 1)[0] + "…"


def _anthropic(entry: RegisteredTool[Any], schema: Schema, _: Strict) -> dict[str, Any]:
    made: dict[str, Any] = {"name": ""}
    if entry.description:
        made["description"] = entry.description
    return {**made, "input_schema": schema}


def _mcp(entry: RegisteredTool[Any], schema: Schema, _: Strict) -> dict[str, Any]:
    made: dict[str, Any] = {"name": ""}
    if entry.description:
        made["description"] = entry.description
    made["inputSchema"] = schema
    output = entry.output_schema
    if output is not None and is_object_root(output):
        made["outputSchema"] = {"type": "object", **output}
    reads = entry.kind == "read"
    hints: dict[str, Any] = {"readOnlyHint": reads}
    if not reads:
        hints["idempotentHint"] = entry.idempotent
    return {**made, "annotations": hints}


def _named(made: dict[str, Any], name: str) -> dict[str, Any]:
    return {**made, "name": name}


def _named_function(made: dict[str, Any], name: str) -> dict[str, Any]:
    return {**made, "function": {**made["function"], "name": name}}


class _Writer(NamedTuple):
    body: Callable[[RegisteredTool[Any], Schema, Strict], dict[str, Any]]
    named: Callable[[dict[str, Any], str], dict[str, Any]]
    flat: bool  # whether it refuses unions at the root


_DIALECTS: Mapping[str, _Writer] = {
    "anthropic": _Writer(_anthropic, _named, flat=True),
    "mcp": _Writer(_mcp, _named, flat=False),
    "openai": _Writer(_openai, _named_function, flat=True),
}
