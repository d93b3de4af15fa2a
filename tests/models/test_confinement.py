"""What the process around the embedded model's engine can still do: each attempt is made from inside."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import callboard_worker
from callboard_worker import landlock, seccomp
from callboard_worker.channel import MAX_BYTES, Channel, ChannelError, encode

pytestmark = pytest.mark.skipif(landlock.abi() < 1, reason="this kernel has no Landlock")

# The same start as the real child's; then each attempt is made and what came of it is written down.
PROGRAM = """
import sys; sys.path.append(sys.argv[1])
import json, os, signal, socket, threading, _posixsubprocess
from callboard_worker.local_model import confine
port, udp, unix, library, secret, folder = int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]
inherited = socket.socket()
confine(os.open(library, os.O_RDONLY))

def tcp():
    socket.socket().connect(("127.0.0.1", port))

def datagram():
    socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", udp))

def local_socket():
    socket.socket(socket.AF_UNIX).connect(unix)

def open_socket():
    inherited.connect(("127.0.0.1", port))

def multipath():
    socket.socket(proto=262).connect(("127.0.0.1", port))

def thread():
    one = threading.Thread(target=print, daemon=True)
    one.start()
    one.join()

attempts = {
    "tcp": tcp,
    "udp": datagram,
    "unix socket": local_socket,
    "socket from before": open_socket,
    "multipath tcp": multipath,
    "passwd": lambda: open("/etc/passwd").close(),
    "home": lambda: os.listdir(os.path.expanduser("~")),
    "root": lambda: os.listdir("/"),
    "proc": lambda: open("/proc/self/status").close(),
    "sys": lambda: open("/sys/devices/system/cpu/online").close(),
    "null": lambda: open("/dev/null").close(),
    "a file": lambda: open(secret).close(),
    "truncate": lambda: os.truncate(secret, 0),
    "remove": lambda: os.unlink(secret),
    "write": lambda: open(folder + "/new", "w").close(),
    "write the library": lambda: open(library, "r+b").close(),
    "fork": os.fork,
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "signal": lambda: os.kill(os.getppid(), 0),
    "all cpus": lambda: os.sched_setaffinity(0, range(64)),
    "library": lambda: open(library, "rb").read(1),
    "thread": thread,
}
came = {}
for name, attempt in attempts.items():
    try:
        attempt()
    except Exception as error:
        came[name] = type(error).__name__
    else:
        came[name] = "done"
os.write(1, json.dumps(came).encode())
os._exit(0)
"""
FREE = {"library", "thread"}


@pytest.fixture(scope="module")
def came(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("outside")
    secret = folder / "secret.txt"
    secret.write_text("secret")
    library = folder / "library.so"
    library.write_bytes(b"\x7fELF")
    listener = socket.create_server(("127.0.0.1", 0))
    datagrams = socket.socket(type=socket.SOCK_DGRAM)
    datagrams.bind(("127.0.0.1", 0))
    local = socket.socket(socket.AF_UNIX)
    local.bind(str(folder / "s"))
    local.listen()
    ports = (str(listener.getsockname()[1]), str(datagrams.getsockname()[1]))
    source = str(Path(callboard_worker.__file__).parent.parent)
    arguments = (source, *ports, str(folder / "s"), str(library), str(secret), str(folder))
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROGRAM, *arguments], capture_output=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    yield json.loads(done.stdout)
    assert secret.read_text() == "secret"
    for one in (listener, datagrams, local):
        one.close()


@pytest.mark.parametrize("attempt", ["tcp", "udp", "unix socket", "socket from before", "multipath tcp"])
def test_nothing_reaches_the_network(came: dict[str, str], attempt: str) -> None:
    assert came[attempt].endswith("Error")


@pytest.mark.parametrize(
    "attempt",
    [
        "passwd",
        "home",
        "root",
        "proc",
        "sys",
        "null",
        "a file",
        "truncate",
        "remove",
        "write",
        "write the library",
    ],
)
def test_no_file_but_the_library_can_be_opened_or_changed(came: dict[str, str], attempt: str) -> None:
    assert came[attempt].endswith("Error")


@pytest.mark.parametrize("attempt", ["fork", "exec", "signal", "all cpus"])
def test_no_other_process_or_cpu_is_in_reach(came: dict[str, str], attempt: str) -> None:
    assert came[attempt].endswith("Error")


@pytest.mark.parametrize("attempt", sorted(FREE))
def test_what_the_engine_needs_is_left(came: dict[str, str], attempt: str) -> None:
    assert came[attempt] == "done"


def test_every_attempt_is_judged(came: dict[str, str]) -> None:
    assert {name for name, outcome in came.items() if outcome == "done"} == FREE


def test_an_architecture_whose_calls_are_not_known_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(seccomp.Unavailable, match="riscv64"):
        seccomp.compute_only()


@pytest.fixture
def both() -> Iterator[tuple[Channel, int]]:
    reading, writing = os.pipe()
    yield Channel(reading, writing), writing
    for descriptor in (reading, writing):
        with contextlib.suppress(OSError):
            os.close(descriptor)


def test_a_message_passes_the_channel_as_it_was(both: tuple[Channel, int]) -> None:
    channel, _ = both
    message: dict[str, Any] = {"text": "é\ud800", "n": 2**70}
    channel.send(message)
    assert channel.receive() == message


def test_a_channel_that_was_closed_gives_none(both: tuple[Channel, int]) -> None:
    channel, writing = both
    os.write(writing, encode({"a": 1})[:-2])
    os.close(writing)
    assert channel.receive() is None


def test_a_message_that_is_too_long_is_refused_before_it_is_read(both: tuple[Channel, int]) -> None:
    channel, writing = both
    os.write(writing, (MAX_BYTES + 1).to_bytes(4, "big"))
    with pytest.raises(ChannelError, match="is announced"):
        channel.receive()
    with pytest.raises(ChannelError, match="bytes"):
        channel.send({"text": "x" * MAX_BYTES})
