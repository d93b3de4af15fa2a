"""What outlives the processes of a fuzzed run: its rows, what it has done, and when the next process dies.

A life of a run is one event loop over the same store. At a random operation of the store it is asked to shut
down, or killed, before or after that operation became durable.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from callboard.events import RunEvent
from callboard.runs import Journal, MemoryJournalStore, StepRow
from callboard.workflow import Outcome, Run


class Killed(BaseException):
    """The process is gone: raised wherever a dead process would go on."""


class World:
    """A store that kills. What must never happen is noted in `faults`: an exception could be swallowed."""

    def __init__(self, seed: int) -> None:
        self.rnd = random.Random(seed)
        self.store = MemoryJournalStore()
        self.saved: set[tuple[str, str]] = set()
        self.writes = Counter[str]()
        self.events: dict[tuple[str, str, int], str] = {}
        self.faults: list[str] = []
        self.frozen = False  # nothing may be executed any more
        self.dead = False
        self.left: int | None = None  # store operations until the process ends
        self.graceful = False  # it is not killed then, but asked to shut down
        self.ending: asyncio.Event | None = None
        self.stop_at: int | None = None  # store operations until somebody stops the run
        self.stop: Callable[[], None] | None = None

    def load(self, run_id: str) -> list[StepRow]:
        return list(self.store.load(run_id))

    def begin(self, run_id: str, step_id: str) -> int:
        self.check((run_id, step_id) not in self.saved, f"{run_id} {step_id} begins though it is recorded")
        self._operation(before=True)
        count = self.store.begin(run_id, step_id)
        self._operation(before=False)
        return count

    def save(self, run_id: str, step_id: str, about: str, outcome: str) -> None:
        self.check((run_id, step_id) not in self.saved, f"{run_id} {step_id} is recorded twice")
        self.check(not self.frozen or step_id == "end", f"{run_id} {step_id} is executed in a replay")
        self._operation(before=True)
        self.store.save(run_id, step_id, about, outcome)
        self.saved.add((run_id, step_id))
        self._operation(before=False)

    def _operation(self, *, before: bool) -> None:
        self.alive()
        if self.stop_at is not None:
            self.stop_at -= before
            if self.stop_at == 0 and self.stop is not None:
                self.stop()
        if self.left is None:
            return
        self.left -= before
        if self.left > 0 or (before and self.rnd.random() < 0.5):
            return
        assert self.ending is not None
        self.ending.set()
        if not self.graceful:
            self.dead = True
            raise Killed

    def alive(self) -> None:
        if self.dead:
            raise Killed

    def check(self, good: bool, fault: str) -> None:
        if not good and not self.dead:
            self.faults.append(fault)

    async def some_time(self) -> None:
        """What is executed takes another time in each life, and none in a replay."""
        self.check(not self.frozen, "something is executed in a replay")
        await self.pause()

    async def pause(self) -> None:
        """Let others go first, or not."""
        for _ in range(self.rnd.randrange(5)):
            await asyncio.sleep(0)
        self.alive()

    async def written(self, key: str) -> None:
        """A write that must never be made twice, nor begin after a stop."""
        self.check(self.stop_at is None or self.stop_at > 0, f"{key} is written after the stop")
        await self.some_time()
        self.writes[key] += 1
        self.check(self.writes[key] == 1, f"{key} is written twice")
        await self.some_time()

    def listen(self, event: RunEvent) -> None:
        told = json.dumps([event.type, event.to_json()["data"]])
        if not event.n:
            return
        # what happens inside an attempt at a step happens once; all else is said alike in every life
        said = event.type if "@" in event.path else told
        known = self.events.setdefault((event.run, event.path, event.n), said)
        self.check(known == said, f"{event.run} {event.path} {event.n} was {known}, is {said}")

    def frozen_copy(self, made: "World") -> "World":
        """Its journal up to the record of the end, in a world in which nothing may be executed."""
        for run_id, step_id in sorted(self.saved - {("r", "end")}):
            row = next(row for row in self.store.load(run_id) if row.step_id == step_id)
            made.store.save(run_id, step_id, row.about, row.outcome or "")
            made.saved.add((run_id, step_id))
        made.events, made.frozen = self.events, True
        return made


def life(
    world: World, scenario: Callable[[Run], Awaitable[Outcome]], left: int | None, **options: Any
) -> Outcome | None:
    """One process: until the run has ended, or until it ends itself after `left` operations of the store."""

    async def process() -> Outcome | None:
        asyncio.get_running_loop().set_exception_handler(_unheard)
        world.dead, world.left, world.ending = False, left, asyncio.Event()
        world.graceful = world.rnd.random() < 0.3
        run = Run(id="r", steps=Journal(world), listener=world.listen, **options)
        world.stop = run.abort.set
        task = asyncio.ensure_future(scenario(run))
        ending = asyncio.ensure_future(world.ending.wait())
        await asyncio.wait({task, ending}, timeout=20, return_when=asyncio.FIRST_COMPLETED)
        if world.ending.is_set() and not world.dead and task.cancel():
            world.left = None
            await asyncio.wait({task}, timeout=20)
        world.check(task.done() or world.ending.is_set(), "the run hangs")
        world.dead = True
        if not task.done() or task.cancelled() or isinstance(task.exception(), Killed):
            return None
        return task.result()

    return asyncio.run(process())


def _unheard(_loop: asyncio.AbstractEventLoop, _context: dict[str, Any]) -> None:
    """What a killed process leaves behind is heard by nobody."""
