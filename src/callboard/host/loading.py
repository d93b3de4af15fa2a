"""From `tools = ["mytools:registry"]` to tools: the modules of the configuration's folder come first."""

import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager, redirect_stdout
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from callboard.errors import ConfigError
from callboard.registry import ToolRegistry, Toolset


def load_tools(names: Iterable[str], folder: Path, file: Path | None = None) -> list[Any]:
    """What the configuration names in `tools`, as `tools_of` finds it; `file` is the one it stands in.

    Raises:
        ConfigError: as `tools_of`; names the file and the place in it.
    """
    found: list[Any] = []
    for number, name in enumerate(names):
        try:
            found.extend(tools_of(name, folder))
        except ConfigError as error:
            where = f"{file or 'the configuration'}: tools[{number}]"
            raise ConfigError(f"{where}: {error}", hint=error.hint) from error
    return found


def tools_of(name: str, folder: Path) -> list[Any]:
    """What a registry takes, for ``module:attribute``: a tool, a toolset, or all tools of a registry.

    What the module prints while it loads goes to standard error: standard output belongs to the command.

    Raises:
        ConfigError: the module or attribute isn't there, fails to import, or is nothing that holds tools.
    """
    with _importable(folder), redirect_stdout(sys.stderr):
        return list(_tools_in(name, _resolved(name, folder)))


def once(tools: Iterable[Any]) -> Generator[Any]:
    """Each tool once, also where a registry that holds it and the tool itself were named."""
    seen: set[int] = set()
    for tool in tools:
        source = id(getattr(tool, "source", tool))
        if source not in seen:
            seen.add(source)
            yield tool


def _resolved(name: str, folder: Path) -> Any:
    module_name, _, attribute = name.partition(":")
    try:
        value: Any = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and not module_name.startswith(error.name):
            raise ConfigError(f"{name!r} needs the module {error.name!r}, which is not installed") from error
        here = (path.stem for path in folder.glob("*.py"))
        raise ConfigError(
            f"there is no module {module_name!r}{_meant(module_name, here)}",
            hint=f"it is looked for in {folder} and among the installed packages",
        ) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a test's skip, or an exit
        raise ConfigError(
            f"importing {module_name!r} failed: {type(error).__name__}: {error}",
            hint=getattr(error, "hint", None),
        ) from error
    for part in attribute.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            names = [name for name in dir(value) if not name.startswith("_")]
            raise ConfigError(
                f"{module_name!r} has no {attribute!r}{_meant(part, names)}",
                hint="name a tool, a list of tools, a Toolset or a ToolRegistry of the module",
            ) from None
    return value


def _meant(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _tools_in(name: str, value: Any) -> Iterable[Any]:
    if isinstance(value, ToolRegistry):
        return cast("ToolRegistry[Any]", value).definitions
    if isinstance(value, Toolset) or callable(value) or hasattr(value, "execute"):
        return (value,)
    if isinstance(value, (list, tuple)):
        return value  # pyright: ignore[reportUnknownVariableType] - each is checked when it is registered
    raise ConfigError(
        f"{name!r} is a {type(value).__name__}, which holds no tools",
        hint="name a tool, a list of tools, a Toolset or a ToolRegistry",
    )


@contextmanager
def _importable(folder: Path) -> Generator[None]:
    """Modules may import their neighbours while they load, and nothing stays on the path."""
    path = str(folder)
    sys.path.insert(0, path)
    try:
        yield
    finally:
        if path in sys.path:
            sys.path.remove(path)
