"""`callboard tools check FILE`: would these tools work, and what would each kind of model see of them?"""

import importlib.util
import json as jsonlib
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from cyclopts import Parameter

from callboard.cli.exits import DONE, FAILED
from callboard.cli.flags import AsJson
from callboard.cli.output import print_json, print_text
from callboard.errors import ConfigError

if TYPE_CHECKING:
    from callboard.tools import Export, RegisteredTool

EXAMPLES = """\
Examples:
  callboard tools check mytools.py
  callboard tools check mytools.py --json
  callboard tools check mytools:registry

Every decorated tool of the file is registered on trial, those of its lists, toolsets and registries, too.
With MODULE:ATTRIBUTE, only what that is or holds, as `tools` of callboard.toml names it.
The file is executed to find them.
"""
Dialect = Literal["openai", "anthropic", "mcp"]
_DIALECTS: tuple[Dialect, ...] = ("openai", "anthropic", "mcp")
_FORMS = "name a Python file, such as mytools.py, or what a module holds, such as mytools:registry"
_SHAPE = ("id", "parse_input", "parse_output", "execute")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that can't work; `name` is the tool, or the file."""

    name: str
    message: str
    hint: str | None = None


@dataclass(slots=True)
class Report:
    """What was found in a file; `tools` as JSON: id, kind, description, schemas, warnings."""

    file: str
    tools: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    errors: list[Problem] = field(default_factory=list[Problem])


def check_file(
    file: Annotated[Path, Parameter(help="A Python file, or MODULE:ATTRIBUTE.")], /, *, json: AsJson = False
) -> int:
    """Register the tools of a Python file on trial, and show what models would see."""
    report = checked(file)
    if json:
        print_json(asdict(report))
    else:
        _print(report)
    return FAILED if report.errors else DONE


def checked(file: Path) -> Report:
    """Load the file, register what it holds, and note what can't work."""
    from callboard.registry import ToolRegistry  # noqa: PLC0415 - for this command only

    report = Report(str(file))
    registry: ToolRegistry[Any] = ToolRegistry()
    try:
        sources = dict(_found(file))
    except ConfigError as error:
        report.errors.append(Problem(str(file), str(error), error.hint))
        return report
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the file raises is what its author asked about
        hint = getattr(error, "hint", None)
        report.errors.append(Problem(_place(file, error), f"{type(error).__name__}: {error}", hint))
        return report
    for name, source in sources.items():
        try:
            registry.register(source)
        except Exception as error:  # noqa: BLE001 - reported by name: the next tool is checked, too
            report.errors.append(Problem(name, str(error), getattr(error, "hint", None)))
    exports: dict[Dialect, Export] = {dialect: registry.export(dialect) for dialect in _DIALECTS}
    report.tools.extend(_described(tool, exports) for tool in registry.definitions)
    if not sources:
        hint = "decorate its functions with @callboard.tool"
        report.errors.append(Problem(file.name, "no tools were found in the file", hint))
    return report


def _found(file: Path) -> Iterator[tuple[str, Any]]:
    """(name, what a registry takes) of a file, or of what `module:attribute` names.

    Raises:
        ConfigError: it is neither, or isn't there.
    """
    if file.is_file():
        yield from _sources(_module(file))
        return
    if ":" not in file.name:
        known = sorted(path.name for path in file.parent.glob("*.py"))
        close = get_close_matches(file.name, known, n=1)
        raise ConfigError(
            "there is no such file" + (f"; did you mean {str(file.parent / close[0])!r}?" if close else ""),
            hint=_FORMS,
        )
    from callboard.host.loading import tools_of  # noqa: PLC0415 - for this command only
    from callboard.registry import Toolset  # noqa: PLC0415 - same

    held = tools_of(str(file), Path.cwd())
    for number, value in enumerate(held):
        name = f"{file}[{number}]" if len(held) > 1 else str(file)
        if isinstance(value, Toolset):
            yield from _tools_in(name, value)
        else:
            yield name, value


def _module(file: Path) -> ModuleType:
    """The file as a module; its neighbours can be imported by it."""
    spec = importlib.util.spec_from_file_location(f"checked_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise ConfigError("it is no Python file", hint=_FORMS)
    module = importlib.util.module_from_spec(spec)
    folder = str(file.parent.absolute())
    sys.path.insert(0, folder)
    sys.modules[spec.name] = module  # string annotations are looked up there
    try:
        with redirect_stdout(sys.stderr):  # what it prints is no part of the report
            spec.loader.exec_module(module)
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
    return module


def _place(file: Path, error: BaseException) -> str:
    """The file, with the line of it where the error was raised."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename) == file.absolute() or frame.filename == str(file):
            return f"{file}:{frame.lineno}"
    return str(file)


def _sources(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """(name, what a registry takes): each tool once, however many names and lists hold it."""
    from callboard.tools import RegisteredTool  # noqa: PLC0415 - for this command only

    seen: set[int] = set()
    for name, value in vars(module).items():
        if name.startswith("__"):
            continue
        for inner, source in _tools_in(name, value):
            original = cast("Any", source).source if isinstance(source, RegisteredTool) else source
            if id(original) not in seen:
                seen.add(id(original))
                yield inner, source


def _tools_in(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    from callboard.registry import ToolRegistry, Toolset  # noqa: PLC0415 - for this command only
    from callboard.tools import Tool  # noqa: PLC0415 - same

    if isinstance(value, ToolRegistry | Toolset):
        registry = isinstance(value, ToolRegistry)
        held = cast("Any", value)
        entries: Iterable[Any] = held.definitions if registry else held.entries()
        yield from ((f"{name}: {entry.id}", entry) for entry in entries)
    elif isinstance(value, Tool) or _has_shape(value):
        yield name, value
    elif isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        for number, item in enumerate(items):
            if isinstance(item, Tool) or _has_shape(item):
                yield f"{name}[{number}]", item


def _has_shape(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(part in value for part in _SHAPE)
    return not isinstance(value, type) and all(hasattr(value, part) for part in _SHAPE)


def _described(tool: "RegisteredTool", exports: "Mapping[Dialect, Export]") -> dict[str, Any]:
    from callboard.orchestration import LoopConfig  # noqa: PLC0415 - for this command only

    schemas: dict[str, Any] = {}
    warnings: list[str] = []
    for dialect, export in exports.items():
        name = export.names[tool.id]
        found = (made for made in export.definitions if (made.get("function") or made)["name"] == name)
        schemas[dialect] = next(found, None)
        warnings += [
            f"left out for {dialect}: {left.reason} [{left.code}]"
            for left in export.left_out
            if left.tool_id == tool.id
        ]
        if name != tool.id and dialect == "openai":
            warnings.append(f"models see it as {name!r}")
    if tool.id in LoopConfig.controls:
        warnings.append(f"a run can't have it: the loop has a tool of its own that is called {tool.id!r}")
    if not tool.description:
        warnings.append("it has no description: a model would not know what it is for")
    warnings += _parameters(tool)
    if schemas["openai"] is not None and not schemas["openai"]["function"]["strict"]:
        warnings.append(_beyond_strict(tool))
    return {
        "id": tool.id,
        "kind": tool.kind,
        "description": tool.description,
        "fingerprint": tool.fingerprint,
        "schemas": schemas,
        "warnings": warnings,
    }


def _beyond_strict(tool: "RegisteredTool") -> str:
    from callboard.tools import export  # noqa: PLC0415 - for this command only

    (left_out,) = export([tool], "openai", strict=True).left_out
    return f"models of OpenAI may send arguments that are then refused: {left_out.reason}"


def _parameters(tool: "RegisteredTool") -> Iterator[str]:
    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    silent = [name for name, schema in properties.items() if not schema.get("description")]
    if silent:
        yield f"without a description: {', '.join(silent)}"


def _print(report: Report) -> None:
    for tool in report.tools:
        print_text(f"{tool['id']} ({tool['kind']})")
        print_text(f"  {tool['description'] or ''}".rstrip().replace("\n", "\n  "))
        for dialect, schema in tool["schemas"].items():
            shown = "left out" if schema is None else jsonlib.dumps(schema, ensure_ascii=False)
            print_text(f"  {dialect:<10} {shown}")
        for warning in tool["warnings"]:
            print_text(f"  warning    {warning}")
    for error in report.errors:
        print_text(f"error: {error.name}: {error.message}")
        if error.hint:
            print_text(f"hint: {error.hint}")
    tools, errors = len(report.tools), len(report.errors)
    print_text(f"{tools} tool{'s' * (tools != 1)}, {errors} error{'s' * (errors != 1)}")
