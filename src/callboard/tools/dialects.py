"""Tool definitions as providers and MCP take them: one bad tool never spoils the others."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Literal, NamedTuple, get_args

from callboard.errors import RegistrationError
from callboard.tools.entry import RegisteredTool
from callboard.tools.gemini import RequiredCycle, for_gemini
from callboard.tools.names import WireNames
from callboard.tools.refs import Schema, TooLarge, closed_view, inlined, mapped
from callboard.tools.roots import RootUnion, flat_root, is_object_root
from callboard.tools.rules import RULES, broken_rule
from callboard.tools.strictness import breaks_strict
from callboard.tools.walk import is_dict, is_list

Dialect = Literal["openai", "anthropic", "gemini", "mcp"]
Refs = Literal["keep", "inline"]
Strict = bool | None


class LeftOut(NamedTuple):
    """A tool that a dialect can't express."""

    tool_id: str
    code: str
    reason: str


class Note(NamedTuple):
    """What a definition does not say of its tool, or not as it was asked for."""

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
        notes: what those that are among them do not say: `schema.not_strict`, where strict mode was given up;
            `schema.loosened`, where a condition is judged by the tool only.
    """

    definitions: list[dict[str, Any]]
    names: WireNames
    left_out: list[LeftOut]
    notes: list[Note] = field(default_factory=list[Note])


class _Made(NamedTuple):
    """A definition without its name, and (code, reason) of what it does not say."""

    definition: dict[str, Any]
    notes: tuple[tuple[str, str], ...] = ()


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
        dialect: `openai`, `anthropic`, `gemini` or `mcp`.
        refs: `keep` keeps local references; `inline` writes out those on no cycle, for models that do not
            follow them.
        strict: for `openai`. None: strict where the schema satisfies strict mode, if the tool lets it;
            True: the others are left out; False: never.

    Raises:
        ValueError: for an unknown dialect.
    """
    if dialect not in get_args(Dialect) or refs not in get_args(Refs):
        raise ValueError(f"no such dialect: {dialect!r} with refs={refs!r}")
    entries = {entry.id: entry for entry in tools}
    names = WireNames(entries)
    definitions: list[dict[str, Any]] = []
    left_out: list[LeftOut] = []
    notes: list[Note] = []
    for tool_id in sorted(entries):
        try:
            made = _fragment(entries[tool_id], dialect, refs, strict)
        except _Unsayable as error:
            left_out.append(LeftOut(tool_id, error.code, str(error)))
        else:
            definitions.append(_DIALECTS[dialect].named(made.definition, names[tool_id]))
            notes.extend(Note(tool_id, *note) for note in made.notes)
    return Export(definitions, names, left_out, notes)


def _fragment(entry: RegisteredTool[Any], dialect: Dialect, refs: Refs, strict: Strict) -> _Made:
    """The definition without its name; made once for each entry."""
    kept: dict[Any, Any] = entry.published.kept
    key = (dialect, refs, strict)
    if key not in kept:
        kept[key] = _made(entry, dialect, refs, strict)
    return kept[key]


def _made(entry: RegisteredTool[Any], dialect: Dialect, refs: Refs, strict: Strict) -> _Made:
    writer = _DIALECTS[dialect]
    try:
        schema = dict(entry.input_schema)
        if RULES[dialect].root:
            schema = flat_root(schema)
        schema = inlined(schema) if refs == "inline" else closed_view(schema, schema)
        made = writer.body(entry, {"type": "object", **schema}, strict)
        broken = broken_rule(writer.arguments(made.definition), RULES[dialect])
    except RootUnion as error:
        raise _Unsayable("schema.root_union", str(error)) from None
    except RequiredCycle as error:
        raise _Unsayable("schema.recursive_unsupported", str(error)) from None
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
    if broken is not None:
        raise _Unsayable(*broken)
    return made


def _openai(entry: RegisteredTool[Any], schema: Schema, strict: Strict) -> _Made:
    schema = {"properties": {}, **schema, "required": schema.get("required", [])}
    broken = breaks_strict(schema)
    schema = _with_items(schema)
    beyond = f"its schema is beyond strict mode: {broken}"
    if strict and broken is not None:
        raise _Unsayable("schema.not_strict", beyond)
    wanted = strict is not False and entry.strict is not False
    function = {"name": "", **_told(entry, RULES["openai"].description), "parameters": schema}
    function["strict"] = wanted and broken is None
    notes = (("schema.not_strict", beyond),) if wanted and broken is not None else ()
    return _Made({"type": "function", "function": function}, notes)


def _with_items(node: Any) -> Any:
    """The schema with a word on the items of every list: without one, the API refuses the request."""
    if not is_dict(node):
        return node
    made = mapped(node, _with_items)
    kind = made.get("type")
    is_open = "items" not in made and (kind == "array" or (is_list(kind) and "array" in kind))
    return {**made, "items": {}} if is_open else made


def _told(entry: RegisteredTool[Any], longest: int | None = None) -> dict[str, Any]:
    text = entry.description
    return {"description": text if longest is None else _cut(text, longest)} if text else {}


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rsplit(None, 1)[0] + "…"


def _anthropic(entry: RegisteredTool[Any], schema: Schema, _: Strict) -> _Made:
    return _Made({"name": "", **_told(entry), "input_schema": schema})


def _gemini(entry: RegisteredTool[Any], schema: Schema, _: Strict) -> _Made:
    made, lost = for_gemini(schema)
    reason = f"models don't see what its schema says with {', '.join(map(repr, lost))}"
    notes = (("schema.loosened", reason),) if lost else ()
    return _Made({"name": "", **_told(entry), "parametersJsonSchema": made}, notes)


def _mcp(entry: RegisteredTool[Any], schema: Schema, _: Strict) -> _Made:
    made: dict[str, Any] = {"name": "", **_told(entry), "inputSchema": schema}
    output = entry.output_schema
    if output is not None and is_object_root(output):
        made["outputSchema"] = {"type": "object", **output}
    reads = entry.kind == "read"
    hints: dict[str, Any] = {"readOnlyHint": reads}
    if not reads:
        hints["idempotentHint"] = entry.idempotent
    return _Made({**made, "annotations": hints})


def _named(made: dict[str, Any], name: str) -> dict[str, Any]:
    return {**made, "name": name}


def _named_function(made: dict[str, Any], name: str) -> dict[str, Any]:
    return {**made, "function": {**made["function"], "name": name}}


def _parameters(made: dict[str, Any]) -> Schema:
    return made["function"]["parameters"]


class _Writer(NamedTuple):
    body: Callable[[RegisteredTool[Any], Schema, Strict], _Made]
    named: Callable[[dict[str, Any], str], dict[str, Any]]
    arguments: Callable[[dict[str, Any]], Schema]  # where the definition holds their schema


_DIALECTS: Mapping[str, _Writer] = {
    "anthropic": _Writer(_anthropic, _named, itemgetter("input_schema")),
    "gemini": _Writer(_gemini, _named, itemgetter("parametersJsonSchema")),
    "mcp": _Writer(_mcp, _named, itemgetter("inputSchema")),
    "openai": _Writer(_openai, _named_function, _parameters),
}
