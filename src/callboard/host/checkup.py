"""Looking over an installation and a folder: what works, what may not, what does not, and the next step.

Nothing is changed, and nothing that is broken stops the rest: each look is one of its own.
"""

import os
import platform
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from callboard import __version__
from callboard.builtin.files import Workspace, file_tools
from callboard.builtin.results import READ_RESULT
from callboard.config import Config, load
from callboard.config.amounts import shown_size
from callboard.errors import CallboardError, ConfigError, ModelError
from callboard.host.loading import once, tools_of
from callboard.host.profiles import READY_MADE, check_tools, profile
from callboard.models import choose, open_model
from callboard.models.engine import installed
from callboard.models.services import SERVICES
from callboard.registry import ToolRegistry, Toolset
from callboard.store.examining import Examined, examine
from callboard.store.folder import FILE
from callboard_worker import landlock

Level = Literal["ok", "warning", "problem"]

_LITTLE, _TOO_LITTLE = 500_000_000, 20_000_000  # bytes that are free on the disk
_LARGE = 1_000_000_000  # bytes of a store that nothing bounds
_SECCOMP = Path("/proc/sys/kernel/seccomp/actions_avail")
_OTHERS = {"keyring": "keyring", "otel": "opentelemetry", "local": "needle"}  # extras, by what they bring


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        area: python, configuration, tools, profiles, store, models, extras or kernel.
        level: ok; warning: something may not work; problem: something does not.
        text: what was found.
        hint: the next step, where there is one.
    """

    area: str
    level: Level
    text: str
    hint: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The finding as JSON."""
        return asdict(self)


@dataclass(slots=True)
class _Folder:
    """What the looks find out for each other."""

    config: Config
    readable: bool
    environ: Mapping[str, str]
    ids: list[str] = field(default_factory=list[str])


def check_up(path: Path | None = None, environ: Mapping[str, str] | None = None) -> list[Finding]:
    """Look at everything.

    Args:
        path: the configuration; None: that of the current folder, if it is there.
        environ: where keys are looked up; None: this process's environment.
    """
    found: list[Finding] = []
    config, readable = Config().located(Path.cwd(), None), False
    try:
        config, readable = load(path), True
        found.append(Finding("configuration", "ok", str(config.path or "none: the defaults are in force")))
    except ConfigError as error:
        found.append(Finding("configuration", "problem", str(error), error.hint))
    except Exception as error:  # noqa: BLE001 - told: whatever it is, the rest is looked at
        found.append(_broken("configuration", error))
    around = _Folder(config, readable, os.environ if environ is None else environ)
    for area, look in _LOOKS.items():
        try:
            found.extend(look(around))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - same
            found.append(_broken(area, error))
    return found


def _broken(area: str, error: BaseException) -> Finding:
    hint = getattr(error, "hint", None)
    return Finding(area, "problem", f"can't be looked at: {type(error).__name__}: {error}", hint)


def _python(_: _Folder) -> Iterator[Finding]:
    here = f"Callboard {__version__}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    level: Level = "ok" if sys.platform == "linux" else "warning"
    hint = None if level == "ok" else "Callboard is made and tested for Linux"
    yield Finding("python", level, f"{here}, {platform.system()} {platform.release()}", hint)


def _tools(around: _Folder) -> Iterator[Finding]:
    """Each is registered on trial, beside the first-party ones."""
    trial: ToolRegistry[Any] = ToolRegistry()
    workspace = Workspace(around.config.folder)
    try:
        trial.register_toolset(Toolset("files", file_tools(workspace)))
    finally:
        workspace.close()
    failed, loaded = 0, list[Any]()
    for name in around.config.tools:
        try:
            loaded += tools_of(name, around.config.folder)
        except CallboardError as error:
            failed += 1
            yield Finding("tools", "problem", f"{name}: {error}", error.hint)
    for tool in once(loaded):
        try:
            if isinstance(tool, Toolset):
                trial.register_toolset(tool)
            else:
                trial.register(tool)
        except CallboardError as error:
            failed += 1
            yield Finding("tools", "problem", str(error), error.hint)
    around.ids = [*trial.ids(), READ_RESULT]
    if not failed:
        yield Finding("tools", "ok", f"{len(around.ids)} tools: {', '.join(sorted(around.ids))}")


def _profiles(around: _Folder) -> Iterator[Finding]:
    if not around.readable:
        return
    for name in sorted({*READY_MADE, *around.config.profiles}):
        try:
            chosen = profile(name, around.config)
            check_tools(name, chosen, around.ids, around.config)
        except CallboardError as error:
            yield Finding("profiles", "problem", f"{name}: {error}", error.hint)
        else:
            granted = "all tools" if chosen.tools is None else ", ".join(sorted(chosen.tools))
            yield Finding("profiles", "ok", f"{name}: {granted}")


def _store(around: _Folder) -> Iterator[Finding]:
    folder = around.config.state_folder
    if not os.path.lexists(folder):
        if os.access(folder.parent, os.W_OK | os.X_OK):
            yield Finding("store", "ok", f"{folder} is not there; the first run makes it")
        else:
            yield Finding(
                "store", "problem", f"{folder} can't be made", "set [state] folder to another place"
            )
        return
    try:
        seen = examine(folder)
    except FileNotFoundError:
        yield Finding("store", "ok", f"{folder} holds no store; the first run makes it")
    except OSError as error:
        yield Finding(
            "store",
            "problem",
            f"{folder} can't be read: {error.strerror}",
            "check who owns the folder, and what is in it",
        )
    except sqlite3.Error as error:
        yield Finding(
            "store", "problem", f"{folder / FILE} can't be read: {error}", "move it away, or restore a copy"
        )
    else:
        yield from _seen(folder / FILE, seen, around.config)


def _seen(file: Path, seen: Examined, config: Config) -> Iterator[Finding]:
    held = f"{seen.runs} run{'s' * (seen.runs != 1)}, {seen.calls} call{'s' * (seen.calls != 1)}"
    free = f"{shown_size(seen.free)} free on its disk"
    yield Finding("store", "ok", f"{file}: {shown_size(seen.size)}, {held}, {free}")
    if seen.damage:
        text = f"{file} is damaged: {'; '.join(seen.damage)}"
        yield Finding("store", "problem", text, "restore a copy, or move the file away")
    yield from _whose(file, seen)
    if not os.access(file, os.W_OK):
        yield Finding("store", "problem", f"{file} can't be written", "check who owns it")
    if seen.open_to_others:
        yield Finding("store", "warning", f"others can read {file}", f"chmod 600 {file}")
    if seen.free < _LITTLE:
        level: Level = "problem" if seen.free < _TOO_LITTLE else "warning"
        yield Finding("store", level, f"its disk has {shown_size(seen.free)} left", "callboard runs prune")
    if seen.size > _LARGE and config.store == type(config.store)():
        hint = "say in [store] what is kept, or use callboard runs prune"
        yield Finding("store", "warning", f"it has {shown_size(seen.size)}, and nothing bounds it", hint)
    if seen.living:
        yield Finding("store", "ok", f"runs that are going on: {seen.living}")
    if seen.abandoned:
        text = f"the process of these runs is gone: {', '.join(seen.abandoned)}"
        yield Finding("store", "warning", text, "callboard runs ends them and shows what was open in them")


def _whose(file: Path, seen: Examined) -> Iterator[Finding]:
    """By whom it was written."""
    if seen.foreign is not None:
        text = f"{file} belongs to another program (it has the table {seen.foreign!r} and no version)"
        yield Finding("store", "problem", text, "set [state] folder to another place")
    if seen.version is not None and seen.version > seen.known:
        text = f"{file} was written by a newer Callboard (tables {seen.version}, known {seen.known})"
        yield Finding("store", "problem", text, "upgrade Callboard")
    if seen.version is not None and seen.version < seen.known:
        yield Finding("store", "ok", f"it has tables of version {seen.version}: the next run upgrades them")


def _models(around: _Folder) -> Iterator[Finding]:
    models, environ = around.config.models, around.environ
    choice = choose(None, models.default, environ, models.named)
    yield from _model(choice.name, "problem", around, f"a run uses {choice.name} ({choice.reason})")
    for name in models.named:
        if name != choice.name:
            yield from _model(name, "warning", around, f"[models.{name}] can be used")
    variables = sorted({key for service in SERVICES.values() for key in service.keys})
    there = [name for name in variables if environ.get(name)]
    yield Finding("models", "ok", f"keys in the environment: {', '.join(there) or 'none'}")


def _model(name: str, level: Level, around: _Folder, works: str) -> Iterator[Finding]:
    try:
        open_model(name, around.config.models.named, around.environ)
    except ModelError as error:
        yield Finding("models", level, f"{works.partition(' can be')[0]}: {error}", error.hint)
    else:
        yield Finding("models", "ok", works)


def _extras(_: _Folder) -> Iterator[Finding]:
    brought = {extra: (module,) for extra, module in _OTHERS.items()}
    brought |= {service.extra: service.modules for service in SERVICES.values() if "," not in service.extra}
    there = [extra for extra, modules in sorted(brought.items()) if all(map(_importable, modules))]
    missing = sorted(brought.keys() - set(there))
    yield Finding("extras", "ok", f"installed: {', '.join(there) or 'none'}")
    if missing:
        names = ", ".join(missing)
        yield Finding("extras", "ok", f"not installed: {names}", f"pip install 'callboard[{missing[0]}]'")


def _importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError, AttributeError):  # the package around it is missing or broken
        return False


def _kernel(_: _Folder) -> Iterator[Finding]:
    """What the embedded model is confined by."""
    try:
        installed()
        engine: str | None = None
    except ModelError as error:
        engine = str(error)
    yield Finding("kernel", "ok", "the embedded model is here" if engine is None else engine)
    missing = [
        name
        for name, there in (("Landlock", landlock.abi() > 0), ("seccomp", _SECCOMP.exists()))
        if not there
    ]
    if missing:
        text = f"this kernel has no {' and no '.join(missing)}: the embedded model is not run without"
        yield Finding("kernel", "warning", text, "use a model of a provider or a server, with --model")
    else:
        yield Finding("kernel", "ok", f"Landlock (version {landlock.abi()}) and seccomp confine it")


_LOOKS: Mapping[str, Callable[[_Folder], Iterator[Finding]]] = {
    "python": _python,
    "tools": _tools,
    "profiles": _profiles,
    "store": _store,
    "models": _models,
    "extras": _extras,
    "kernel": _kernel,
}
