"""`callboard tools export`: definitions as a provider's API takes them, ready for a request."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from callboard.cli.exits import DONE, FAILED
from callboard.cli.flags import AsJson, ConfigPath
from callboard.cli.output import print_error, print_json, print_note
from callboard.cli.trial import on_trial

if TYPE_CHECKING:
    from callboard.registry import ToolRegistry
    from callboard.tools import Export

EXAMPLES = """\
Examples:
  callboard tools export --dialect openai
  callboard tools export --dialect gemini mytools.py > tools.json
  callboard tools export --dialect anthropic --tools add,read_file --refs inline

Printed is the value of `tools` in a request to that API (OpenAI: Chat
Completions; MCP: in the answer to tools/list). The same tools give the same
bytes. What a dialect can't express is left out, and told on standard error.

Exit codes: 0 all are there, 1 one was left out or is not there,
2 wrong usage or configuration.
"""
_STRICT: dict[str, bool | None] = {"auto": None, "only": True, "never": False}


def export_tools(
    file: Annotated[
        Path | None,
        Parameter(help="A Python file, or MODULE:ATTRIBUTE; else the tools of the configuration."),
    ] = None,
    /,
    *,
    dialect: Annotated[Literal["openai", "anthropic", "gemini", "mcp"], Parameter(help="Who reads them.")],
    refs: Annotated[
        Literal["keep", "inline"],
        Parameter(help="inline: written out, for models that do not follow references."),
    ] = "keep",
    tools: Annotated[str | None, Parameter(help="Only these; several with commas between them.")] = None,
    agent: Annotated[str | None, Parameter(help="Only what this agent may see.")] = None,
    strict: Annotated[
        Literal["auto", "only", "never"],
        Parameter(
            help="OpenAI's strict mode. auto: where a schema allows it; only: the others are left out."
        ),
    ] = "auto",
    json: AsJson = False,
    config: ConfigPath = None,
) -> int:
    """Print the definitions of tools as a provider's API takes them."""
    from callboard.tools import export  # noqa: PLC0415 - for this command only
    from callboard.types import ExecutionOptions  # noqa: PLC0415 - same

    wanted = None if tools is None else frozenset(name.strip() for name in tools.split(",") if name.strip())

    def read(registry: "ToolRegistry[Any]") -> _Read:
        seen = registry.definitions
        if agent is not None:
            seen = registry.visible_to(ExecutionOptions(agent=agent))
        chosen = [tool for tool in seen if wanted is None or tool.id in wanted]
        made = export(chosen, dialect, refs=refs, strict=_STRICT[strict])
        return _Read(made, _missing(wanted or (), made, registry.ids()))

    if file is None:
        made = asyncio.run(_of_host(config, read))
    else:
        trial = on_trial(file)
        made = read(trial.registry)
        made.problems[:0] = [(problem.line(), problem.hint) for problem in trial.problems]
    value = _value(dialect, made.export)
    print_json(value if not json else _report(value, made))
    _tell(made)
    return FAILED if made.problems or made.export.left_out else DONE


@dataclass(frozen=True, slots=True)
class _Read:
    """What was exported, and (text, hint) of what was asked for and is not there."""

    export: "Export"
    problems: list[tuple[str, str | None]]


async def _of_host(config: Path | None, read: "Callable[[ToolRegistry[Any]], _Read]") -> _Read:
    from callboard.host import Host  # noqa: PLC0415 - for this command only

    async with Host(config) as host:
        return read(host.registry)


def _missing(wanted: Iterable[str], export: "Export", known: Sequence[str]) -> list[tuple[str, str | None]]:
    """What is said of each tool that was named and is not among those that can be seen."""
    found: list[tuple[str, str | None]] = []
    for name in sorted(wanted):
        if name not in export.names:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close and close[0] != name else None
            reason = "this agent may not see it" if name in known else "there is no such tool"
            found.append((f"{name}: {reason}", hint))
    return found


def _value(dialect: str, export: "Export") -> list[dict[str, Any]]:
    """What stands under `tools` in a request."""
    if dialect == "gemini":
        return [{"functionDeclarations": export.definitions}] if export.definitions else []
    return export.definitions


def _report(value: list[dict[str, Any]], made: _Read) -> dict[str, Any]:
    return {
        "tools": value,
        "names": dict(made.export.names),
        "left_out": [left._asdict() for left in made.export.left_out],
        "notes": [note._asdict() for note in made.export.notes],
        "errors": [text for text, _ in made.problems],
    }


def _tell(made: _Read) -> None:
    """What is missing, and what is not as it was asked for, on standard error."""
    for text, hint in made.problems:
        print_error(text, hint=hint)
    for left in made.export.left_out:
        print_error(f"{left.tool_id}: left out: {left.reason} [{left.code}]")
    for note in made.export.notes:
        print_note(f"{note.tool_id}: {note.reason} [{note.code}]")
    for tool_id, name in made.export.names.items():
        if name != tool_id:
            print_note(f"{tool_id}: models see it as {name!r}")
