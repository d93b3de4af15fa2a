"""A person is asked once, and neither waiting for one nor for a process uses up the budget."""

from typing import Any

import pytest

from callboard.events import RunEvent
from callboard.runs import Journal, MemoryJournalStore
from callboard.tools import tool
from callboard.types import ApprovalAnswer, ApprovalRequest, ExecutionOptions
from callboard.workflow import Budget, Context, Node, Outcome, Run, WorkClock, Workflow, WorkflowEngine, route
from tests.runs.lives import Dict, Killed, Mortal, Person, asking, calling, life


@pytest.mark.parametrize("whose", ["run", "registry"])
@pytest.mark.parametrize("allowed", [True, False])
async def test_a_person_who_answered_is_not_asked_again_after_a_crash(
    store: Mortal, allowed: bool, whose: str
) -> None:
    person, events = Person(allowed=allowed), list[RunEvent]()

    class DiesAfterTheAnswer(Mortal):
        def save(self, run_id: str, step_id: str, about: str, outcome: str) -> None:
            super().save(run_id, step_id, about, outcome)
            if step_id.endswith("/answer"):
                self.die()

    @tool(idempotent=True)
    async def put() -> str:
        return "done"

    options: Dict = {"authorize": asking, "listener": events.append}
    if whose == "run":
        options["execution"] = ExecutionOptions(approver=person)
    else:
        options["approver"] = person
    with pytest.raises(Killed):
        await life(DiesAfterTheAnswer(store), calling("put"), put, **options)
    outcome = await life(store, calling("put"), put, **options)
    assert len(person.asked) == 1
    assert person.asked[0].call_key == "r n#1/tool.put.1"
    assert outcome.value[0]["status"] == ("ok" if allowed else "denied")
    asked = [e.path for e in events if e.type == "approval.asked"]
    assert asked == ["n#1/tool.put.1@1", "n#1/tool.put.1@2"]


async def test_an_answer_to_another_question_is_not_used_and_the_person_is_asked_anew(
    store: Mortal,
) -> None:
    person, lives = Person(), list[int]()

    def made(version: str) -> Any:
        async def put() -> str:
            if not lives:
                lives.append(1)
                store.die()
            return "done"

        return tool(name="put", idempotent=True, description=version)(put)

    options: Dict = {"authorize": asking, "execution": ExecutionOptions(approver=person)}
    with pytest.raises(Killed):
        await life(store, calling("put"), made("as it was"), **options)
    outcome = await life(store, calling("put"), made("another tool by now"), **options)
    assert outcome.value[0]["text"] == "done"
    assert len(person.asked) == 2
    assert person.asked[0].digest != person.asked[1].digest


async def test_an_approver_that_answers_another_question_is_asked_once_and_not_believed() -> None:
    class Confused(Person):
        async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
            return (await super().ask(request))._replace(digest="another")

    @tool
    async def write() -> str:
        return "written"

    person = Confused()
    outcome = await life(
        MemoryJournalStore(),
        calling("write"),
        write,
        authorize=asking,
        execution=ExecutionOptions(approver=person),
    )
    assert outcome.value[0]["code"] == "approval.stale"
    assert len(person.asked) == 1


async def test_a_failure_to_ask_is_no_answer(store: Mortal) -> None:
    class Broken(Person):
        async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
            await super().ask(request)
            raise ConnectionError

    @tool
    async def write() -> str:
        return "written"

    options: Dict = {"authorize": asking, "execution": ExecutionOptions(approver=Broken())}
    outcome = await life(store, calling("write"), write, **options)
    assert outcome.value[0]["code"] == "approval.failed"
    assert not [row for row in store.load("r") if row.step_id.endswith("/answer")]


async def test_the_budget_stands_still_while_a_person_is_asked() -> None:
    hand = [0.0]

    class Slow(Person):
        async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
            hand[0] += 1_000
            return await super().ask(request)

    @tool
    async def write() -> str:
        hand[0] += 5
        return "written"

    clock = WorkClock(lambda: hand[0])
    outcome = await life(
        MemoryJournalStore(),
        calling("write", "write"),
        write,
        budget=Budget(seconds=60),
        clock=clock,
        authorize=asking,
        execution=ExecutionOptions(approver=Slow()),
    )
    assert outcome.status == "completed"
    assert clock.used() == 10


async def test_time_in_which_no_process_had_the_run_does_not_count_but_what_was_used_does(
    store: Mortal,
) -> None:
    hand, lives = [0.0], list[int]()

    @tool(mode="read")
    async def read() -> str:
        hand[0] += 25
        return "read"

    @tool(mode="read")
    async def last() -> str:
        lives.append(1)
        if len(lives) == 1:
            store.die()
        hand[0] += 25
        return "last"

    def options() -> Dict:
        return {"budget": Budget(seconds=60), "clock": WorkClock(lambda: hand[0])}

    node = calling("read", "last", "read")
    with pytest.raises(Killed):
        await life(store, node, read, last, **options())
    hand[0] += 100_000
    outcome = await life(store, node, read, last, **options())
    assert outcome.status == "completed"
    assert lives == [1, 1]


async def test_a_run_that_is_taken_up_with_its_budget_used_replays_first_and_then_ends(
    store: Mortal,
) -> None:
    hand, asked = [0.0], list[int]()

    async def node(state: Dict, ctx: Context) -> Dict:
        async def think(_key: str) -> str:
            asked.append(1)
            if len(asked) == 3:
                store.die()
            hand[0] += 40
            return f"thought {len(asked)}"

        return {"out": await ctx.step("think", think), "n": state.get("n", 0) + 1}

    async def life_of_rounds() -> Outcome:
        store.dead = False
        workflow = Workflow("w", [Node("n", node, [route.to("n")], starts_round=True)], salvage="out")
        run = Run(id="r", steps=Journal(store), clock=WorkClock(lambda: hand[0]))
        return await WorkflowEngine(workflow, budget=Budget(seconds=100)).execute({}, run)

    with pytest.raises(Killed):
        await life_of_rounds()
    hand[0] = 0.0
    used_up = list(store.load("r"))
    assert len([row for row in used_up if row.outcome is not None]) == 3  # its start, and two thoughts
    hand[0] += 5_000
    outcome = await life_of_rounds()
    assert (outcome.status, outcome.reason, outcome.value, outcome.rounds) == (
        "budget_exhausted",
        "wall_clock",
        "thought 4",
        4,
    )
