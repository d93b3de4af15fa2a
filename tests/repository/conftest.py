"""The repository's own files."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def git() -> Callable[..., str | None]:
    """Ask git about this repository; None where there is no git or no repository."""

    def ask(*arguments: str) -> str | None:
        if shutil.which("git") is None:
            return None
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else None

    return ask


@pytest.fixture(scope="session")
def written(git: Callable[..., str | None]) -> list[Path]:
    """Every file that is written by hand, as git knows them; without git, those in the source folders."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed is not None:
        found = [ROOT / name for name in listed.split("\0") if name]
    else:
        folders = ("src", "tests", "docs", "docs_src", "examples", "benchmarks", "decisions", "changes")
        found = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts)
