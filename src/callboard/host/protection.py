"""What no tool may write, or even read: what decides about tools, what runs at the next start, records."""

import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import callboard
from callboard.config import CONFIG, PROFILES, Config

# What the store keeps in its folder, with what SQLite keeps beside it.
_STORE = ("callboard.db", "callboard.db-wal", "callboard.db-shm", "callboard.db-journal", "owners")


def protected(root: Path, config: Config) -> list[str]:
    """The paths in `root` that file tools must leave alone, relative to it.

    They are compared by where they really are: a link, a `..` or another spelling changes nothing.

    - `callboard.toml` and `profiles` right below the root: whoever starts Callboard there obeys them;
    - the file and profiles of this configuration, wherever they are;
    - the Python environment, Callboard itself, and the modules that `tools` made this process load: what is
      written there runs with the next start. So would a new module with the name of a loaded one.

    Args:
        root: the workspace, as a path without links.
        config: this host's configuration.
    """
    held = [root / CONFIG, root / PROFILES, config.folder / CONFIG, config.folder / PROFILES]
    if config.path is not None:
        held.append(config.path)
    held += [Path(callboard.__file__).parent, *_environment(root)]
    names: set[str] = set()
    if config.tools:
        held += _modules(config.folder)
        names.update(_shadows(config.folder.resolve(), root))
    names.update(path for each in held for path in _relative(each, root))
    return sorted(names)


def private(root: Path, config: Config) -> list[str]:
    """What file tools must not even open: the records of this host, relative to `root` where they are in it.

    The state folder; where it is the workspace itself, or around it, the files in it. These are named in any
    case: a workspace may hold a hard link to the database, and closing that would drop the store's locks.

    Args:
        root: the workspace, as a path without links.
        config: this host's configuration.
    """
    folder = config.state_folder.resolve()
    files = [folder / name for name in _STORE]
    held = files if root.is_relative_to(folder) else [folder, *files]
    return [str(path.relative_to(root) if path.is_relative_to(root) else path) for path in held]


def _relative(path: Path, root: Path) -> Iterator[str]:
    """Where `path` is in `root`, by its name and by what it leads to; `.` where it is around all of it."""
    for real in {path.parent.resolve() / path.name, path.resolve()}:
        if real.is_relative_to(root):
            yield str(real.relative_to(root))
        elif root.is_relative_to(real):
            yield "."


def _environment(root: Path) -> Iterator[Path]:
    """Where installed packages and programs are; the whole environment where it lies in the workspace."""
    paths = sysconfig.get_paths()
    yield from (Path(paths[name]) for name in ("purelib", "platlib", "scripts"))
    if root != (prefix := Path(sys.prefix).resolve()) and prefix.is_relative_to(root):
        yield prefix


def _modules(folder: Path) -> Iterator[Path]:
    """What this process has loaded from below the folder."""
    below = (f"{folder}/", f"{folder.resolve()}/")
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.startswith(below):
            yield from _top(Path(file))


def _shadows(folder: Path, root: Path) -> Iterator[str]:
    """Every name that would be loaded from the folder before the module that has it now."""
    if folder.is_relative_to(root):
        place = folder.relative_to(root)
        for name in {name.partition(".")[0] for name in sys.modules} | sys.stdlib_module_names:
            yield str(place / f"{name}.py")
            yield str(place / name / "__init__.py")


def _top(source: Path) -> Iterator[Path]:
    """The file of a module that stands alone, with its compiled form; else its whole package."""
    top = source
    while (top.parent / "__init__.py").exists():
        top = top.parent
    yield top
    yield top.parent / "__pycache__"
