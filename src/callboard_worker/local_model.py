"""The program around the embedded model's engine: it confines itself, loads the engine, then answers.

The engine is a closed library. Its C functions are called directly; no Python of its package runs. Before its
first instruction the process has given up the network, every file but that library, new processes, and all
but one CPU: see `confine`. What is left is reading its own standard input and writing its standard output.
"""

import ctypes
import hashlib
import json
import os
import resource
import signal
import sys
from typing import Any

from callboard_worker import landlock, seccomp
from callboard_worker.channel import Channel, ChannelError

_LIMITS = {
    resource.RLIMIT_AS: 512 << 20,  # bytes; the engine needs about 100 MB
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_FSIZE: 0,
    resource.RLIMIT_NOFILE: 16,
}
_PR_SET_PDEATHSIG = 1
_LIBRARIES = ("libm.so.6", "libpthread.so.0", "libdl.so.2")  # what the engine is linked to, besides libc
_OUTPUT_BYTES = 1 << 16


class Refused(Exception):
    """Raised when the engine must not be started; `code` says why."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def main(parent: int) -> None:
    """Serve the process that started this one, and end with it.

    Args:
        parent: that process's id.
    """
    _die_with(parent)
    channel = _take_stdio()
    try:
        request = channel.receive()
        if request is None:
            return
        try:
            engine = _start(request)
        except Refused as refused:
            channel.send({"ok": False, "code": refused.code, "error": str(refused)})
            return
        channel.send({"ok": True})
        while (request := channel.receive()) is not None:
            channel.send(engine.answer(request))
    except (ChannelError, OSError):
        return  # the host sees the end of the stream and the exit status


def _die_with(parent: int) -> None:
    """End when the parent ends, however it ends; also if it did before this line."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    if os.getppid() != parent:
        sys.exit(1)


def _take_stdio() -> Channel:
    """The channel on private descriptors; a stray print of the engine goes nowhere."""
    channel = Channel(os.dup(0), os.dup(1))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    return channel


def _start(request: dict[str, Any]) -> "Engine":
    """Check the files, confine the process, load the engine.

    Raises:
        Refused: when one of the three can't be done.
    """
    library, weights = request["library"], request["weights"]
    try:
        for name in _LIBRARIES:
            ctypes.CDLL(name)  # loaded now: later no other file can be opened
        descriptor = os.open(library, os.O_RDONLY | os.O_CLOEXEC)
        _checked(_content(descriptor), request["library_sha256"], library)
        with open(weights, "rb") as stream:  # noqa: PTH123 - pathlib is not needed for one file
            loaded = _checked(stream.read(), request["weights_sha256"], weights)
    except OSError as error:
        raise Refused("unreadable", str(error)) from None
    try:
        confine(descriptor)
    except OSError as error:
        raise Refused("unconfined", str(error)) from None
    return Engine(library, loaded)


def _content(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def _checked(content: bytes, expected: str, path: str) -> bytes:
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise Refused("changed", f"{path} has the SHA-256 {found}, not {expected}")
    return content


def confine(library: int) -> None:
    """Give up everything but the library that is open as `library`, and this process's own descriptors.

    Raises:
        OSError: when the kernel offers no Landlock or no seccomp, or refuses.
    """
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(
        0, {allowed[os.getpid() % len(allowed)]}
    )  # the engine starts one busy thread per CPU
    for limit, value in _LIMITS.items():
        resource.setrlimit(limit, (value, value))
    landlock.restrict([landlock.Grant(library, landlock.READ_FILE)])
    seccomp.compute_only()


class Engine:
    """The engine, with the tools that it was last given: reading a list of tools takes it seconds."""

    def __init__(self, library: str, weights: bytes) -> None:
        """Load the library and the weights.

        Raises:
            Refused: when the engine does not take them.
        """
        try:
            self._library = ctypes.CDLL(library)
        except OSError as error:
            raise Refused("unreadable", str(error)) from None
        self._library.needle_load.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
        self._library.needle_init.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p]
        self._library.needle_complete.argtypes = [
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_int,
        ]
        self._output = ctypes.create_string_buffer(_OUTPUT_BYTES)
        self._tools = ""
        if self._library.needle_load(weights, len(weights)) < 0:
            raise Refused("unreadable", "the engine does not take its weights")

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The engine's answer to one text, without memory of earlier ones."""
        tools = json.dumps(request["tools"])
        if tools != self._tools:
            self._tools = ""
            if self._library.needle_init(b"", tools.encode(), None) < 0:
                return {"ok": False, "code": "tools", "error": "the engine does not take these tools"}
            self._tools = tools
        self._library.needle_reset()
        text = request["text"].encode(errors="replace")
        code = self._library.needle_complete(text, request["max_tokens"], self._output, _OUTPUT_BYTES)
        return read_output(code, self._output.value)


def read_output(code: int, output: bytes) -> dict[str, Any]:
    """What the engine wrote, as a message: its answer is passed on as text, for the host to judge."""
    if code < 0:
        return {"ok": False, "code": "engine", "error": output.decode(errors="replace") or f"code {code}"}
    try:
        return {"ok": True, "answer": output.decode()}
    except UnicodeDecodeError as error:  # it happens: the engine cuts characters apart
        return {"ok": False, "code": "engine", "error": f"its answer is no text: {error.reason}"}
