"""The rows of the Berkeley Function Calling Leaderboard, from the package that carries them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
PIN = ROOT / "requirements" / "bfcl.txt"
# The sets that are read: every row of each, with its ground truth.
SETS = (
    "simple_python",
    "simple_java",
    "simple_javascript",
    "multiple",
    "parallel",
    "parallel_multiple",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
)


class Row(NamedTuple):
    """One question: the functions that a model is given, and the calls that answer it."""

    id: str
    functions: list[dict[str, Any]]
    truth: list[dict[str, dict[str, list[Any]]]]


def installed() -> Path:
    """The folder with the data; where it is missing, the pinned package is installed, without dependencies.

    Raises:
        RuntimeError: it can't be installed.
    """
    version = PIN.read_text(encoding="utf-8").split("==")[1].split()[0]
    target = ROOT / "build" / f"bfcl-{version}"
    if not (target / f"bfcl_eval-{version}.dist-info").is_dir():
        uv = str(Path(sys.executable).parent / "uv")
        words = ["pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target", str(target)]
        done = subprocess.run([uv, *words, "-r", str(PIN)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
    return target / "bfcl_eval" / "data"


def rows(data: Path, name: str) -> Iterator[Row]:
    """All rows of one set."""
    truths = {each["id"]: each["ground_truth"] for each in _lines(data / "possible_answer" / _file(name))}
    for each in _lines(data / _file(name)):
        yield Row(each["id"], each["function"], truths[each["id"]])


def _file(name: str) -> str:
    return f"BFCL_v4_{name}.json"


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file)
