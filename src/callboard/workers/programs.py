"""Programs that a tool starts: they end with the call, with all that they started themselves."""

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from callboard.errors import ToolError

MAX_OUTPUT = 4_000_000  # bytes kept of each stream
_CHUNK = 65_536


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
    """Run a program to its end, in a process group of its own that is killed if the call ends first.

    Args:
        argv: the program and its arguments; no shell reads them.
        stdin: what it reads.
        cwd: where it runs.
        env: its whole environment; None is the host's.

    Raises:
        ToolError: it can't be started (`program.not_started`).
    """
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
        raise ToolError(
            f"{argv[0]} can't be started: {error.strerror}", code="program.not_started"
        ) from error
    try:
        stdout, stderr, _ = await asyncio.gather(
            _read(process.stdout),
            _read(process.stderr),
            _write(process.stdin, stdin.encode()),
        )
        await process.wait()
    finally:
        with suppress(ProcessLookupError):  # the group: what the program left running, too
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.shield(process.wait())
    return Finished(process.returncode or 0, stdout, stderr)


async def _read(stream: asyncio.StreamReader | None) -> str:
    """All that comes, of which the beginning is kept."""
    kept = bytearray()
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        kept += chunk[: MAX_OUTPUT - len(kept)]
    return kept.decode("utf-8", "replace")


async def _write(stream: asyncio.StreamWriter | None, data: bytes) -> None:
    if stream is not None:
        with suppress(BrokenPipeError, ConnectionResetError):  # it does not want to read
            stream.write(data)
            await stream.drain()
        stream.close()
