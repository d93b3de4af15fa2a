"""What a governed call costs in Callboard, and what a call of a tool costs in other frameworks.

Each framework gets an environment of its own under build/peers, made once with the pinned version of
versions.toml and the pydantic that Callboard has here. Then each is measured by the same program, one after
another: calls, refused calls, many calls at once, registering and listing many tools, starting, and a few
calls that show what its path checks. All times are CPU times, and those of calls are compared with a floor
(bare pydantic-core and the call of the function) that is measured in turns with them in the same process:
read the ratios, which other work on the machine changes little. docs/peers.md says how to read the table.
"""

import argparse
import datetime as dt
import importlib.metadata
import json
import os
import platform
import shlex
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import Any

import environments
import processes
import table

HERE = Path(__file__).resolve().parent
OURS = "callboard"
STARTS = 3
FEW = 1_000
MANY = (10_000, 3_000)  # the second when the first takes too long
STOPPED = 130


def options(known: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples:\n"
        "  make bench-peers                                         all of them, 10 to 30 minutes\n"
        "  python benchmarks/peers/run.py --only langchain-core,mcp these two beside Callboard\n"
        "  python benchmarks/peers/run.py --only callboard          Callboard alone, nothing is installed\n"
        "  python benchmarks/peers/run.py --json peers.json         all figures in a file, too\n",
    )
    parser.add_argument("--only", metavar="NAMES", help=f"some of: {', '.join(known)}")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of the calls, default 15")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each process, default 300")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there as JSON")
    chosen = parser.parse_args()
    names = list(dict.fromkeys(chosen.only.split(","))) if chosen.only else known
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"--only: there is no {', '.join(unknown)}; there are {', '.join(known)}")
    if chosen.rounds < 1 or chosen.limit <= 0:
        parser.error("--rounds and --limit must be more than 0")
    chosen.names = [name for name in known if name in names or name == OURS]
    return chosen


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Measuring:
    """One framework, measured part by part; a part that fails does not end the others."""

    def __init__(self, name: str, python: Path, folder: Path, chosen: argparse.Namespace) -> None:
        self.adapter, self.python, self.chosen = environments.adapter(name), python, chosen
        self.out = folder / f"{name}.json"
        self.found: dict[str, Any] = {"failed": {}}

    def program(self, name: str, *arguments: str | Path) -> dict[str, Any]:
        """Run one of the measuring programs, and read what it wrote."""
        processes.run([self.python, HERE / name, *arguments], self.chosen.limit)
        return json.loads(self.out.read_text("utf-8"))

    def measure(self, what: str, *arguments: str | Path) -> dict[str, Any]:
        return self.program("measure.py", what, self.adapter, "--out", self.out, *arguments)

    def part(self, name: str, *arguments: str) -> bool:
        """Find one part of the result, or why there is none; True if it was only too slow."""
        began = time.monotonic()
        try:
            self.found[name] = self.started() if name == "start" else self.measure(*arguments)
        except processes.ProcessFailedError as error:
            self.found["failed"][f"{name} {' '.join(arguments[1:])}".strip()] = str(error)
            say(f"  {name}: {error}")
            return isinstance(error, processes.ProcessTooSlowError)
        say(f"  {name}: {time.monotonic() - began:.0f} s")
        return False

    def started(self) -> dict[str, Any]:
        """The medians of several starts; the first one only warms up the files."""
        every = [self.program("start.py", self.adapter, self.out) for _ in range(STARTS + 1)][1:]
        return {
            key: type(value)(statistics.median(one[key] for one in every)) for key, value in every[0].items()
        }

    def everything(self) -> dict[str, Any]:
        self.part("start")
        self.part("calls", "calls", "--rounds", str(self.chosen.rounds))
        self.part("probes", "probes")
        self.part("few", "register", "--number", str(FEW))
        for number in MANY:
            if not self.part("many", "register", "--number", str(number)):
                break
        return self.found


def version_of(name: str) -> str:
    return importlib.metadata.version(name) if name == OURS else environments.versions()[name]


def peer(name: str, folder: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """All that is found of one framework, or why there is nothing."""
    version = version_of(name)
    say(f"{name} {version}")
    python = Path(sys.executable)
    if name != OURS:
        try:
            python, reused = environments.ready(name, version)
        except processes.ProcessFailedError as error:
            say(f"  not installed: {error}")
            return {"version": version, "reason": f"not installed: {error}"}
        say("  environment: as it was" if reused else "  environment: installed")
    return {"version": version, **Measuring(name, python, folder, chosen).everything()}


def machine() -> dict[str, Any]:
    """Where and with what this was measured."""
    cpu = platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        cpu = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "command": shlex.join(["python", "benchmarks/peers/run.py", *sys.argv[1:]]),
        "python": platform.python_version(),
        "pydantic": importlib.metadata.version("pydantic"),
        "system": platform.system(),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


def interrupted(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> int:
    known = [OURS, *environments.versions()]
    chosen = options(known)
    signal.signal(signal.SIGTERM, interrupted)
    where = machine()
    found: dict[str, dict[str, Any]] = {}
    stopped = False
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name in chosen.names:
                found[name] = peer(name, Path(folder), chosen)
    except KeyboardInterrupt:
        say("stopped: nothing is left running, and no half-made environment; this is what was measured")
        stopped = True
    print(f"{where['date']}, {where['command']}")
    print(
        f"Python {where['python']}, pydantic {where['pydantic']}, {where['cpu']}, {where['cores']} cores,",
        end=" ",
    )
    print(f"load {where['load']}\n")
    print(table.printed(found))
    if chosen.json is not None:
        chosen.json.write_text(json.dumps({**where, "frameworks": found}, indent=2) + "\n", "utf-8")
        say(f"all figures: {chosen.json}")
    return STOPPED if stopped else int("calls" not in found[OURS])


if __name__ == "__main__":
    sys.exit(main())
