"""One environment per peer, under `build/peers`: made once, and again when what is to be in it changes."""

import importlib.metadata
import json
import platform
import shutil
import sys
import tomllib
from pathlib import Path

import processes

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDER = ROOT / "build" / "peers"
UV = Path(sys.executable).with_name("uv")
INSTALLING = 600.0  # seconds


def versions() -> dict[str, str]:
    """The pinned version of each peer, by the name of its package."""
    return tomllib.loads((HERE / "versions.toml").read_text("utf-8"))["peers"]


def adapter(name: str) -> str:
    """The module in `adapters` for this package."""
    return "for_" + name.replace("-", "_")


def ready(name: str, version: str) -> tuple[Path, bool]:
    """The Python of this peer's environment, and whether it was there already.

    Raises:
        ProcessFailedError: it could not be installed; nothing of it is left
    """
    folder = FOLDER / name
    python = folder / "bin" / "python"
    note = folder / "installed.json"
    # the same validator below all of them, so that the floor is one
    wanted = [f"{name}=={version}", f"pydantic=={importlib.metadata.version('pydantic')}"]
    made_of = json.dumps({"packages": wanted, "python": platform.python_version()})
    if note.exists() and note.read_text("utf-8") == made_of:
        return python, True
    shutil.rmtree(folder, ignore_errors=True)
    try:
        processes.run([UV, "venv", "--quiet", "--python", sys.executable, folder], INSTALLING)
        install = [UV, "pip", "install", "--quiet", "--compile-bytecode", "--python", python, *wanted]
        processes.run(install, INSTALLING)
        note.write_text(made_of, "utf-8")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return python, False
