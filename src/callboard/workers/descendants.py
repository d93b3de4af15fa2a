"""What a thread started and left running: found by the kernel's own books, on Linux."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_STARTED = 19  # of the fields behind the name in /proc/PID/stat: ticks since boot
_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def since_boot() -> float:
    """Seconds, on the clock by which the kernel dates its processes."""
    return time.clock_gettime(_BOOT)


def kill_started_by(thread: int, since: float) -> None:
    """Kill the processes that a thread started since then, and theirs; the thread itself reaps its own.

    Nothing happens where the kernel keeps no such books.

    Args:
        thread: its native id.
        since: seconds, from `since_boot`.
    """
    for child in _children(Path(f"/proc/self/task/{thread}/children")):
        if _started(child) >= since - 1 / _TICKS:
            kill_family(child)


def kill_family(process: int) -> None:
    """Kill a process and its descendants: it is stopped first, so that none are added meanwhile."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, signal.SIGSTOP)
        for task in _tasks(process):
            for child in _children(task / "children"):
                kill_family(child)
        os.kill(process, signal.SIGKILL)


def _children(file: Path) -> list[int]:
    with suppress(OSError):
        return [int(found) for found in file.read_text().split()]
    return []


def _tasks(process: int) -> list[Path]:
    with suppress(OSError):
        return list(Path(f"/proc/{process}/task").iterdir())
    return []


def _started(process: int) -> float:
    with suppress(OSError, IndexError):
        behind_the_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2]
        return int(behind_the_name.split()[_STARTED]) / _TICKS
    return 0.0
