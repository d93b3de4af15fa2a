"""What one round of a run costs beside the model's and the tool's own work, and where it goes.

A scripted model calls one quick tool per round; the store is on, in a folder of its own.
`python benchmarks/rounds.py [runs]`
"""

import asyncio
import cProfile
import pstats
import sys
import tempfile
import time
from collections import defaultdict
from itertools import islice
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import cast

from callboard import Host, tool
from callboard.config import load
from callboard.testing import ScriptedModel, call, text

_MOST = 50  # rounds that a profile may ask for
_SHOWN = 12
_REPEATS = 3


@tool(mode="read", blocking=False)
def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


def running(runs: int, rounds: int) -> float:
    """CPU seconds of so many runs of so many rounds, one after the other, in one host."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        profile = f"[profiles.bench]\ntools = ['add']\nmax_rounds = {_MOST}\n"
        (folder / "callboard.toml").write_text(profile, encoding="utf-8")
        return asyncio.run(_running(folder, runs, rounds))


async def _running(folder: Path, runs: int, rounds: int) -> float:
    async with Host(load(cwd=folder), tools=[add]) as host:
        began = time.process_time()
        for _ in range(runs):
            model = ScriptedModel([*(call("add", a=i, b=i) for i in range(rounds)), text("done")])
            result = await host.run("add", profile="bench", model=model)
            assert (result.status, len(model.requests)) == ("completed", rounds + 1), result
        return time.process_time() - began


def room(path: str) -> str:
    """Where a function belongs: a room of Callboard's, or a library."""
    parts = Path(path).parts
    for home, depth in (("callboard", 2), ("site-packages", 1)):
        if home in parts:
            at = len(parts) - 1 - parts[::-1].index(home)
            return ".".join(part.removesuffix(".py") for part in parts[at + 2 - depth : at + 2])
    return "python" if path.startswith(("~", "<")) else f"python: {Path(path).stem}"


Place = tuple[str, int, str]
# From a function to its calls (primitive, all), its seconds (own, whole), and the same by its callers.
Stats = dict[Place, tuple[int, int, float, float, dict[Place, tuple[int, int, float, float]]]]


def shares(profile: cProfile.Profile) -> dict[str, float]:
    """Own seconds by room, most first; what is written in C counts for the room that called it."""
    found: defaultdict[str, float] = defaultdict(float)
    stats = cast("Stats", vars(pstats.Stats(profile))["stats"])
    for (path, _, _), (_, _, own, _, callers) in stats.items():
        if path != "~":
            found[room(path)] += own
            continue
        for (caller, _, _), (_, _, spent, _) in callers.items():
            found[room(caller)] += spent
    return dict(sorted(found.items(), key=itemgetter(1), reverse=True))


def main(runs: int) -> None:
    running(1, 3)
    short, long = (median(running(runs, n) for _ in range(_REPEATS)) for n in (5, _MOST - 5))
    profile = cProfile.Profile()
    profile.enable()
    running(runs, _MOST - 5)
    profile.disable()
    each = (long - short) / runs / (_MOST - 10)
    start = short / runs - 6 * each
    print(f"a round, store on: {each * 1e3:.2f} ms CPU; a run beside its rounds: {start * 1e3:.1f} ms")
    found = shares(profile)
    whole = sum(found.values())
    for name, seconds in islice(found.items(), _SHOWN):
        print(f"  {seconds / whole:5.1%}  {name}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
