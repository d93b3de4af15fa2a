"""From `tools = ["mytools:registry"]` to tools: the modules of the configuration's folder come first."""

import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from callboard.errors import ConfigError
from callboard.registry import ToolRegistry, Toolset


def load_tools(names: Iterable[str], folder: Path) -> list[Any]:
    """What a registry takes, for each ``module:attribute``: a tool, a toolset, or all tools of a registry.

    What the modules print while they load goes to standard error: standard output belongs to the command.

    Raises:
        ConfigError: the module or attribute isn't there, fails to import, or is nothing that holds tools.
    """
    found: list[Any] = []
    with _importable(folder), redirect_stdout(sys.stderr):
        for name in names:
            found.extend(_tools_in(name, _resolved(name, folder)))
    return found


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
            raise ConfigError(
                f"tools: {name!r} needs the module {error.name!r}, which is not installed"
            ) from error
        raise ConfigError(
            f"tools: there is no module {module_name!r}",
            hint=f"it is looked for in {folder} and among the installed packages",
        ) from error
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"tools: importing {module_name!r} failed: {type(error).__name__}: {error}"
        ) from error
    for part in attribute.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise ConfigError(f"tools: {module_name!r} has no {attribute!r}") from None
    return value


def _tools_in(name: str, value: Any) -> Iterable[Any]:
    if isinstance(value, ToolRegistry):
        return cast("ToolRegistry[Any]", value).definitions
    if isinstance(value, Toolset) or callable(value) or hasattr(value, "execute"):
        return (value,)
    if isinstance(value, (list, tuple)):
        return value  # pyright: ignore[reportUnknownVariableType] - each is checked when it is registered
    raise ConfigError(
        f"tools: {name!r} is a {type(value).__name__}, which holds no tools",
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
