"""The guarantees of docs/contracts/seam.md, for every implementation of `Steps` that keeps a journal.

A further engine joins by a parameter of `engine`: a function that makes the `Steps` of a new process over the
same storage.
"""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from callboard.calls.steps import MemorySteps, Steps
from callboard.errors import ReplayDiverged
from callboard.runs import Journal, MemoryJournalStore
from callboard.store import open_store

Process = Callable[[], Steps]


@pytest.fixture(params=["memory", "sqlite"])
def process(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Process]:
    if request.param == "memory":
        store = MemoryJournalStore()
        yield lambda: Journal(store)
        return
    with open_store(tmp_path) as opened:
        yield lambda: Journal(opened.journal)


async def never() -> str:
    raise AssertionError("this is recorded and must not be executed")


def saying(text: str) -> Callable[[], "asyncio.Future[str]"]:
    async def say() -> str:
        await asyncio.sleep(0)
        return text

    return lambda: asyncio.ensure_future(say())


async def test_what_is_recorded_is_returned_in_this_process_and_in_the_next(process: Process) -> None:
    for kind in ("step", "child"):
        steps = process()
        assert await getattr(steps, kind)("r", f"{kind}-1", saying('"one"'), "about") == '"one"'
        assert await getattr(steps, kind)("r", f"{kind}-1", never, "about") == '"one"'
        assert await getattr(process(), kind)("r", f"{kind}-1", never, "about") == '"one"'


@pytest.mark.parametrize("error", [ValueError("bug"), asyncio.CancelledError(), SystemExit(3)])
async def test_what_a_thunk_raises_is_passed_on_and_forgotten(process: Process, error: BaseException) -> None:
    async def fail() -> str:
        raise error

    with pytest.raises(type(error)):
        await process().step("r", "a.1", fail)
    assert await process().step("r", "a.1", saying('"later"')) == '"later"'


async def test_runs_steps_and_children_are_told_apart_by_their_ids_only(process: Process) -> None:
    steps = process()
    keys = [("r", "a#1/x.1"), ("r", "a#1/x.2"), ("r", "a#1/x"), ("r/a#1/x", "a#1/x.1"), ("ü r", "a#1/x.1")]
    for n, (run_id, step_id) in enumerate(keys):
        await steps.step(run_id, step_id, saying(str(n)))
    again = process()
    assert [await again.step(run_id, step_id, never) for run_id, step_id in keys] == ["0", "1", "2", "3", "4"]


async def test_something_else_under_a_recorded_id_is_loud(process: Process) -> None:
    await process().step("r", "a.1", saying("1"), "this")
    with pytest.raises(ReplayDiverged, match=r"this.*that"):
        await process().step("r", "a.1", never, "that")


async def test_steps_may_be_in_flight_together_and_inside_each_other(process: Process) -> None:
    steps, inner_done = process(), asyncio.Event()

    async def outer() -> str:
        inner = await steps.step("r", "outer.1/answer", saying('"inner"'))
        inner_done.set()
        return f"[{inner}]"

    async def waits() -> str:
        await inner_done.wait()
        return '"other"'

    async with asyncio.timeout(5):
        both = await asyncio.gather(steps.step("r", "other.1", waits), steps.step("r", "outer.1", outer))
    assert both == ['"other"', '["inner"]']
    assert await process().step("r", "outer.1/answer", never) == '"inner"'


async def test_a_mark_counts_over_all_processes_and_is_no_end(process: Process) -> None:
    assert [await process().begin("r", "a.1"), await process().begin("r", "a.1")] == [1, 2]
    assert await process().begin("r", "a.1/write") == 1
    assert await process().step("r", "a.1", saying("1")) == "1"
    assert await process().step("r", "a.1", never) == "1"


async def test_a_run_replays_until_one_of_its_steps_is_executed(process: Process) -> None:
    first = process()
    assert not first.replaying("r")
    await first.step("r", "a.1", saying("1"))
    assert not first.replaying("r")
    second = process()
    assert second.replaying("r")
    assert not second.replaying("another")
    await second.step("r", "a.1", never)
    await second.child("r", "branch", saying("1"))
    await second.step("r", "a.2", saying("2"))
    assert not second.replaying("r")


async def test_long_and_odd_texts_come_back_as_they_were(process: Process) -> None:
    text = '{"t":"\\ud800 \\u0000 \\u00fc"}' + " " * 1_000_000
    await process().step("r", "a.1", saying(text), "ü" * 200)
    assert await process().step("r", "a.1", never, "ü" * 200) == text


async def test_without_a_journal_everything_is_executed_and_begins_for_the_first_time() -> None:
    steps = MemorySteps()
    assert await steps.step("r", "a.1", saying("1")) == "1"
    assert await steps.step("r", "a.1", saying("2")) == "2"
    assert await steps.child("r", "b", saying("3")) == "3"
    assert [await steps.begin("r", "a.1"), await steps.begin("r", "a.1")] == [1, 1]
    assert not steps.replaying("r")
