"""The repository's own files."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def written() -> list[Path]:
    """Every file that is written by hand, as git knows them; without git, those in the source folders."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        found = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    else:
        folders = ("src", "tests", "docs", "docs_src", "examples", "benchmarks", "decisions", "changes")
        found = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts)
