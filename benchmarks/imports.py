"""What starting costs, each in processes of its own: CPU seconds (median) and modules loaded.

The bare interpreter and pydantic stand beside it, since they are in it.
`python benchmarks/imports.py [rounds]`
"""

import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

FIRST_CALL = """
from callboard import ToolRegistry, tool

@tool(mode="read")
def add(a: int, b: int) -> int:
    "Add two whole numbers."
    return a + b

assert ToolRegistry().register(add).invoke("add", '{"a": 1, "b": 2}').value == 3
"""
COUNT = "\nimport sys; print(len(sys.modules))"
CASES = {
    "python": ("pass", ""),
    "import pydantic": ("import pydantic; pydantic.TypeAdapter(int)", ""),
    "import callboard": ("import callboard", "0.05 s above python"),
    "first tool, first call": (FIRST_CALL, "0.18 s, 330 modules"),
    "callboard --version": (None, "0.15 s"),
}


def cpu(command: list[str]) -> tuple[float, str]:
    """CPU seconds of one process, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)  # noqa: S603 - ours
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def main(rounds: int) -> None:
    print(f"{'':26}{'CPU':>10}{'modules':>9}  goal")
    commands = {
        name: [str(Path(sys.executable).with_name("callboard")), "--version"]
        if code is None
        else [sys.executable, "-c", code + COUNT]
        for name, (code, _) in CASES.items()
    }
    found: dict[str, list[tuple[float, str]]] = {name: [] for name in commands}
    for _ in range(rounds + 1):  # the first writes what is compiled
        for name, command in commands.items():
            found[name].append(cpu(command))
    for name, (_, goal) in CASES.items():
        seconds = statistics.median(took for took, _ in found[name][1:])
        modules = found[name][-1][1].strip()
        counted = modules if modules.isdigit() else ""
        print(f"{name:26}{seconds:>8.3f} s{counted:>9}  {goal}".rstrip())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
