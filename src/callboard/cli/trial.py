"""Tools of a file, registered on trial: what it holds, and what of it can't work, with the place."""

import importlib.util
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from callboard.errors import ConfigError

if TYPE_CHECKING:
    from callboard.registry import ToolRegistry

_FORMS = "name a Python file, such as mytools.py, or what a module holds, such as mytools:registry"
_SHAPE = ("id", "parse_input", "parse_output", "execute")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that can't work.

    Attributes:
        name: the tool, or the file.
        message: what is wrong.
        hint: the next step.
        place: ``file:line`` of the tool, where it is known.
    """

    name: str
    message: str
    hint: str | None = None
    place: str | None = None

    def line(self) -> str:
        """As a person reads it."""
        place = "" if self.place is None or self.name.startswith(self.place) else f"{self.place}: "
        return f"{place}{self.name}: {self.message}"


@dataclass(slots=True)
class Trial:
    """A registry of its own with the tools that can work, and what can't."""

    registry: "ToolRegistry[Any]"
    problems: list[Problem] = field(default_factory=list[Problem])


def on_trial(file: Path) -> Trial:
    """Load the file, register what it holds, and note what can't work."""
    from callboard.registry import ToolRegistry  # noqa: PLC0415 - for these commands only

    trial = Trial(ToolRegistry())
    try:
        sources = dict(_found(file))
    except ConfigError as error:
        trial.problems.append(Problem(str(file), str(error), error.hint))
        return trial
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the file raises is what its author asked about
        hint = getattr(error, "hint", None)
        trial.problems.append(Problem(_raised(file, error), f"{type(error).__name__}: {error}", hint))
        return trial
    for name, source in sources.items():
        try:
            trial.registry.register(source)
        except Exception as error:  # noqa: BLE001 - reported by name: the next tool is checked, too
            hint = getattr(error, "hint", None)
            trial.problems.append(Problem(name, str(error), hint, place_of(source)))
    if not sources:
        hint = "decorate its functions with @callboard.tool"
        trial.problems.append(Problem(file.name, "no tools were found in the file", hint))
    return trial


def function_of(source: Any) -> Any:
    """The plain function of whatever was registered; what is no function has none."""
    from callboard.tools import RegisteredTool, Tool  # noqa: PLC0415 - for these commands only

    if isinstance(source, RegisteredTool):
        source = cast("Any", source).source
    if isinstance(source, Tool):
        return cast("Any", source).function
    if isinstance(source, Mapping):
        return cast("Mapping[str, Any]", source).get("execute")
    return getattr(source, "execute", None) or source


def place_of(source: Any) -> str | None:
    """``file:line`` of a tool's function."""
    code = getattr(function_of(source), "__code__", None)
    if code is None:
        return None
    path = Path(code.co_filename)
    here = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return f"{here}:{code.co_firstlineno}"


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
    from callboard.host.loading import tools_of  # noqa: PLC0415 - for these commands only
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


def _raised(file: Path, error: BaseException) -> str:
    """The file, with the line of it where the error was raised."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename) == file.absolute() or frame.filename == str(file):
            return f"{file}:{frame.lineno}"
    return str(file)


def _sources(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """(name, what a registry takes): each tool once, however many names and lists hold it."""
    from callboard.tools import RegisteredTool  # noqa: PLC0415 - for these commands only

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
    from callboard.registry import ToolRegistry, Toolset  # noqa: PLC0415 - for these commands only
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
