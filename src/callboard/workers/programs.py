"""Programs that a tool starts: they end with the call, and what they started with them."""

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callboard.errors import ToolError
from callboard.workers.descendants import kill_family

MAX_OUTPUT = 4_000_000  # bytes kept of each stream
_CHUNK = 65_536
_LAST_WORDS = 1.0  # seconds for what is still in the pipes when the program has ended


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended; `exit_code` is negative where a signal ended it."""

    exit_code: int
    stdout: str
    stderr: str


async def run_program(
    *argv: str,
    stdin: str = "",
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Finished:
    """Run a program to its end, in a process group of its own.

    When it has ended, what is left of its group is killed. When the call ends first, so is the program, with
    all of its descendants as far as the kernel knows them.

    Args:
        argv: the program and its arguments; no shell reads them.
        stdin: what it reads.
        cwd: where it runs.
        env: its whole environment; None is the host's.

    Raises:
        ToolError: it can't be started (`program.not_started`).
    """
    given = stdin.encode("utf-8", "replace")
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
    except OSError as error:
        named = f"{argv[0]} in {cwd}" if cwd is not None else argv[0]
        raise ToolError(f"{named} can't be started: {error.strerror}", code="program.not_started") from error
    reading = [asyncio.create_task(_read(process.stdout)), asyncio.create_task(_read(process.stderr))]
    writing = asyncio.create_task(_write(process.stdin, given))
    try:
        await _exited(process)
    except asyncio.CancelledError:
        kill_family(process.pid)
        raise
    finally:
        _kill_group(process.pid)
        await asyncio.shield(process.wait())
        # The group is gone, so its ends of the pipes are; what left the group may hold them, and is not read.
        await asyncio.wait([*reading, writing], timeout=_LAST_WORDS)
        still_open: list[asyncio.Task[Any]] = [*reading, writing]
        for task in still_open:
            task.cancel()
        await asyncio.gather(*still_open, return_exceptions=True)
    stdout, stderr = (task.result() for task in reading)
    return Finished(process.returncode or 0, stdout, stderr)


async def _exited(process: asyncio.subprocess.Process) -> None:
    """Wait for the program alone: asyncio also waits for its pipes, which a child of it may hold."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # not on this system, or it is over already
        await process.wait()
        return
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    loop.add_reader(descriptor, lambda: ended.done() or ended.set_result(None))
    try:
        await ended
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _kill_group(process: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)


async def _read(stream: asyncio.StreamReader | None) -> str:
    """All that comes, of which the beginning is kept."""
    kept = bytearray()
    with suppress(asyncio.CancelledError):  # what came until then counts
        while stream is not None and (chunk := await stream.read(_CHUNK)):
            kept += chunk[: MAX_OUTPUT - len(kept)]
    return kept.decode("utf-8", "replace")


async def _write(stream: asyncio.StreamWriter | None, data: bytes) -> None:
    if stream is not None:
        with suppress(BrokenPipeError, ConnectionResetError):  # it does not want to read
            stream.write(data)
            await stream.drain()
        stream.close()
