"""`callboard tools check FILE`: would these tools work, and what would each kind of model see of them?"""

import json as jsonlib
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from cyclopts import Parameter

from callboard.cli.exits import DONE, FAILED
from callboard.cli.flags import AsJson
from callboard.cli.output import print_json, print_text
from callboard.cli.trial import Problem, on_trial, place_of

if TYPE_CHECKING:
    from callboard.tools import Dialect, Export, RegisteredTool

EXAMPLES = """\
Examples:
  callboard tools check mytools.py
  callboard tools check mytools.py --full
  callboard tools check mytools:registry --json

Every decorated tool of the file is registered on trial, those of its lists, toolsets and registries, too.
With MODULE:ATTRIBUTE, only what that is or holds, as `tools` of callboard.toml names it.
The file is executed to find them; the tools are not called.
"""
# Where each dialect keeps the schema of the arguments.
_HOLDERS: "Mapping[Dialect, str]" = {
    "openai": "parameters",
    "anthropic": "input_schema",
    "gemini": "parametersJsonSchema",
    "mcp": "inputSchema",
}


@dataclass(slots=True)
class Report:
    """What was found in a file; `tools` as JSON: id, kind, place, schemas, sample, tokens, warnings."""

    file: str
    tools: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    errors: list[Problem] = field(default_factory=list[Problem])


def check_file(
    file: Annotated[Path, Parameter(help="A Python file, or MODULE:ATTRIBUTE.")],
    /,
    *,
    json: AsJson = False,
    full: Annotated[
        bool,
        Parameter(negative="", show_default=False, help="Print each dialect's whole definition."),
    ] = False,
) -> int:
    """Register the tools of a Python file on trial, and show what models would see."""
    report = checked(file)
    if json:
        print_json(asdict(report))
    else:
        _print(report, full=full)
    return FAILED if report.errors else DONE


def checked(file: Path) -> Report:
    """Load the file, register what it holds, and note what can't work."""
    from callboard.tools import export  # noqa: PLC0415 - for this command only

    trial = on_trial(file)
    found = trial.registry.definitions
    exports: dict[Dialect, Export] = {dialect: export(found, dialect) for dialect in _HOLDERS}
    tools = [_described(tool, exports) for tool in found]
    return Report(str(file), tools, trial.problems)


def _described(tool: "RegisteredTool", exports: "Mapping[Dialect, Export]") -> dict[str, Any]:
    from callboard.cli.advice import definition_of, tokens, warnings  # noqa: PLC0415 - for this command only
    from callboard.tools.samples import sample  # noqa: PLC0415 - same

    schemas = {dialect: definition_of(tool, export) for dialect, export in exports.items()}
    made = sample(tool)
    return {
        "id": tool.id,
        "kind": tool.kind,
        "description": tool.description,
        "place": place_of(tool),
        "fingerprint": tool.fingerprint,
        "parameters": _parameters(tool),
        "schemas": schemas,
        "sample": None if made is None else jsonlib.loads(made),
        "tokens": None if schemas["openai"] is None else tokens(schemas["openai"]),
        "warnings": warnings(tool, exports),
    }


def _parameters(tool: "RegisteredTool") -> dict[str, Any] | None:
    try:
        return dict(tool.input_schema)
    except Exception:  # noqa: BLE001 - a type's own code makes its schema; each dialect says that it failed
        return None


def _print(report: Report, *, full: bool) -> None:
    for tool in report.tools:
        size = "" if tool["tokens"] is None else f", about {tool['tokens']} tokens"
        place = "" if tool["place"] is None else f"  {tool['place']}"
        print_text(f"{tool['id']} ({tool['kind']}{size}){place}")
        if tool["description"]:
            print_text(f"  {tool['description']}".rstrip().replace("\n", "\n  "))
        for line in _whole(tool["schemas"]) if full else _compared(tool):
            print_text(f"  {line}")
        print_text(f"  sample     {_call(tool)}")
        for warning in tool["warnings"]:
            print_text(f"  warning    {warning}")
        print_text("")
    for error in report.errors:
        print_text(f"error: {error.line()}")
        if error.hint:
            print_text(f"hint: {error.hint}")
    tools, errors = len(report.tools), len(report.errors)
    print_text(f"{tools} tool{'s' * (tools != 1)}, {errors} error{'s' * (errors != 1)}")


def _call(tool: Mapping[str, Any]) -> str:
    if tool["sample"] is None:
        return "none was found: examples in its schema would help"
    arguments = jsonlib.dumps(tool["sample"], ensure_ascii=False)
    return f"callboard tools call {shlex.quote(tool['id'])} {shlex.quote(arguments)}"


def _whole(schemas: Mapping[str, Any]) -> Iterator[str]:
    for dialect, schema in schemas.items():
        shown = "left out" if schema is None else jsonlib.dumps(schema, ensure_ascii=False)
        yield f"{dialect:<10} {shown}"


def _compared(tool: Mapping[str, Any]) -> Iterator[str]:
    """The schema as it is published, then for each dialect only what differs."""
    from callboard.cli.comparing import differences  # noqa: PLC0415 - for this command only

    yield f"{'schema':<10} {jsonlib.dumps(tool['parameters'], ensure_ascii=False)}"
    for dialect, holder in _HOLDERS.items():
        definition = tool["schemas"][dialect]
        if definition is None:
            yield f"{dialect:<10} left out"
            continue
        function = cast("dict[str, Any]", definition.get("function", definition))
        lines = list(differences(tool["parameters"], function[holder]))
        strict = ", strict" if function.get("strict") else ""
        yield f"{dialect:<10} {'differs' if lines else 'the same'}{strict}"
        yield from (f"{'':<10} {line}" for line in lines)
