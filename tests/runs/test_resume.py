"""A run taken up again: what is recorded stays, and what had begun is known."""

import asyncio
import json
from typing import Any

import pytest

from callboard.conversation import Image, Text
from callboard.errors import (
    Aborted,
    BudgetExhausted,
    OutcomeUnknown,
    ReplayDiverged,
    StoreError,
    ToolError,
    WorkflowError,
)
from callboard.events import RunEvent
from callboard.runs import Journal, MemoryJournalStore
from callboard.tools import tool
from callboard.types import ToolContext
from callboard.workflow import Context, Node, Outcome, Run, Workflow, WorkflowEngine, route
from tests.runs.lives import Dict, Killed, Mortal, NodeRun, calling, life


@pytest.mark.covers("B63")
async def test_a_write_that_was_interrupted_is_not_made_again_and_its_outcome_is_unknown(
    store: Mortal,
) -> None:
    sent: list[str] = []
    events: list[RunEvent] = []

    @tool
    async def mail() -> str:
        sent.append("mail")
        if len(sent) == 1:
            store.die()
        return "sent"

    with pytest.raises(Killed):
        await life(store, calling("mail"), mail)
    outcome = await life(store, calling("mail"), mail, listener=events.append)
    assert sent == ["mail"]
    assert outcome.status == "completed"
    (envelope,) = outcome.value
    assert (envelope["ok"], envelope["status"], envelope["code"]) == (False, "unknown", "call.unknown")
    assert "was interrupted" in json.loads(envelope["text"])["error"]
    record = next(e for e in events if e.type == "call.finished")
    assert (record.path, record.data["status"]) == ("n#1/tool.mail.1@2", "unknown")
    # however often it is killed again
    third = await life(store, calling("mail"), mail)
    assert (third.value, sent) == (outcome.value, ["mail"])


@pytest.mark.covers("B63")
async def test_inside_a_node_an_interrupted_write_is_an_error_of_its_own_type(store: Mortal) -> None:
    lives: list[int] = []

    @tool
    async def mail() -> None:
        lives.append(1)
        store.die()

    async def node(_state: Dict, ctx: Context) -> Dict:
        try:
            await ctx.tools.invoke("mail")
        except OutcomeUnknown as error:
            return {"out": error.invocation.status}
        return {}

    with pytest.raises(Killed):
        await life(store, node, mail)
    assert (await life(store, node, mail)).value == "unknown"
    assert lives == [1]


@pytest.mark.parametrize("how", ["read", "idempotent"])
async def test_reads_and_idempotent_writes_are_made_again_under_the_same_key(store: Mortal, how: str) -> None:
    keys: list[str] = []
    events: list[RunEvent] = []

    @tool(mode="read" if how == "read" else "write", idempotent=how == "idempotent")
    async def put(ctx: ToolContext) -> str:
        keys.append(ctx.call_key)
        if len(keys) == 1:
            store.die()
        return "done"

    with pytest.raises(Killed):
        await life(store, calling("put"), put, listener=events.append)
    outcome = await life(store, calling("put"), put, listener=events.append)
    assert outcome.value[0]["text"] == "done"
    assert keys == ["r n#1/tool.put.1"] * 2
    inside = [(e.path, e.n, e.type) for e in events if "@" in e.path]
    assert inside == [
        ("n#1/tool.put.1@1", 1, "call.started"),
        ("n#1/tool.put.1@1", 2, "call.finished"),
        ("n#1/tool.put.1@2", 1, "call.started"),
        ("n#1/tool.put.1@2", 2, "call.finished"),
    ]


async def test_a_child_that_diverges_ends_the_whole_run_loudly_also_in_the_background(
    store: Mortal,
) -> None:
    lives: list[int] = []

    async def start(_state: Dict, ctx: Context) -> Dict:
        async def body(run: Run) -> Outcome:
            async def say() -> str:
                return '{"used": 0, "value": 1}'

            await run.steps.step(run.id, "say.1", say, about=f"life {len(lives)}")
            if not lives:
                await asyncio.Event().wait()
            return Outcome("completed")

        ctx.spawn("scout", body, background=True)

        async def die(_key: str) -> int:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            if not lives:
                lives.append(1)
                store.die()
            return 1

        return {"out": await ctx.step("die", die)}

    with pytest.raises(Killed):
        await life(store, start)
    with pytest.raises(ReplayDiverged, match=r"r/scout, step say\.1"):
        await life(store, start)


async def test_something_else_under_a_recorded_step_is_loud(store: Mortal) -> None:
    def asks(what: str) -> NodeRun:
        async def node(_state: Dict, ctx: Context) -> Dict:
            await ctx.tools.invoke("echo", {"what": what})
            await ctx.tools.invoke("dies")
            return {"out": what}

        return node

    @tool(mode="read")
    async def echo(what: str) -> str:
        return what

    @tool(mode="read")
    async def dies() -> None:
        store.die()

    with pytest.raises(Killed):
        await life(store, asks("this"), echo, dies)
    with pytest.raises(ReplayDiverged, match=r"n#1/tool\.echo\.1: recorded about .*this.*, now about .*that"):
        await life(store, asks("that"), echo, dies)


async def test_a_run_that_has_ended_is_not_entered_again(store: Mortal) -> None:
    entered: list[int] = []
    events: list[RunEvent] = []

    async def node(_state: Dict, _ctx: Context) -> Dict:
        entered.append(1)
        return {"out": {"n": len(entered)}}

    first = await life(store, node, listener=events.append)
    second = await life(store, node, listener=events.append)
    assert (first, entered) == (second, [1])
    assert (first.state, second.state) == ({"out": {"n": 1}}, None)
    ends = [(e.path, e.n) for e in events if e.type == "run.finished"]
    assert ends == [("end", 1), ("end", 1)]


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (Aborted("enough"), Aborted),
        (BudgetExhausted("tokens", 3), BudgetExhausted),
        (ValueError("bug"), WorkflowError),
    ],
)
async def test_how_a_run_ended_is_raised_by_type_in_a_later_process_too(
    store: Mortal, error: BaseException, raised: type[BaseException]
) -> None:
    async def node() -> None:
        raise error

    engine = WorkflowEngine(Workflow("w", [Node("n", node, [route.deliver("out")])]))
    with pytest.raises(type(error)):
        await engine.run({}, Run(id="r", steps=Journal(store)))
    with pytest.raises(raised) as again:
        await engine.run({}, Run(id="r", steps=Journal(store)))
    assert str(error) in str(again.value)


async def test_a_stop_is_recorded_and_the_loss_of_a_process_is_not(store: Mortal) -> None:
    waiting, lives = asyncio.Event(), list[int]()

    async def node(_state: Dict, ctx: Context) -> Dict:
        async def branch(run: Run) -> Outcome:
            lives.append(1)
            waiting.set()
            await run.abort.wait()
            raise Aborted(run.abort.reason or "")

        ends = await ctx.join({"a": ctx.spawn("a", branch)}, on_error="collect")
        return {"out": ends["a"].to_json()}

    gone = asyncio.ensure_future(life(store, node))
    await waiting.wait()
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert not [row for row in store.load("r") if row.outcome is not None]
    waiting.clear()
    run_options: Dict = {}
    stopped = asyncio.ensure_future(life(store, node, **run_options))
    await waiting.wait()
    assert lives == [1, 1]
    stopped.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopped


async def test_a_finished_write_is_recorded_before_a_stop_is_heeded(store: Mortal) -> None:
    written: list[int] = []

    async def node(_state: Dict, ctx: Context) -> Dict:
        async def stopping(_key: str) -> str:
            written.append(1)
            ctx.run.abort.set("user_stopped")
            return "written"

        return {"out": await ctx.step("write", stopping)}

    outcome = await life(store, node)
    assert (outcome.status, outcome.reason, outcome.value) == ("cancelled", "user_stopped", "so far")
    row = next(row for row in store.load("r") if row.step_id == "n#1/write.1")
    assert json.loads(row.outcome or "")["value"] == "written"


@pytest.mark.parametrize(
    "error", [ToolError("no", code="x.y", hint="h"), BudgetExhausted("tokens", 3), Aborted("enough")]
)
async def test_how_a_step_ended_is_the_same_in_the_next_life(store: Mortal, error: BaseException) -> None:
    seen: list[list[Any]] = []
    thunks: list[int] = []

    async def node(_state: Dict, ctx: Context) -> Dict:
        async def fail(_key: str) -> None:
            thunks.append(1)
            raise error

        async def die(_key: str) -> int:
            if len(seen) == 1:
                store.die()
            return len(thunks)

        try:
            await ctx.step("fails", fail)
        except type(error) as caught:
            seen.append([type(caught), str(caught), *sorted(vars(caught).items())])
        return {"out": await ctx.step("die", die)}

    with pytest.raises(Killed):
        await life(store, node)
    outcome = await life(store, node)
    assert outcome.value == 1
    assert seen[0] == seen[1]


async def test_a_result_and_its_receipt_are_the_same_in_the_next_life(store: Mortal) -> None:
    seen: list[Any] = []

    @tool(mode="read")
    async def picture() -> list[Text | Image]:
        return [Text("a cat"), Image(b"\x89PNG")]

    @tool(mode="read")
    async def data() -> dict[str, Any]:
        return {"n": 12345678901234567890, "t": "ü"}

    @tool(mode="read")
    async def broken() -> None:
        raise ToolError("gone", code="file.gone", hint="look elsewhere")

    @tool(mode="read")
    async def dies() -> str:
        if len(seen) == 1:
            store.die()
        return "lives"

    async def node(_state: Dict, ctx: Context) -> Dict:
        try:
            await ctx.tools.invoke("broken")
        except ToolError as error:
            failed = (error.code, str(error), error.hint, error.status, error.invocation)
            seen.append([await ctx.tools.invoke("picture"), await ctx.tools.invoke("data"), failed])
        envelope = await ctx.tools.call("picture")
        await ctx.tools.invoke("dies")
        return {"out": envelope}

    with pytest.raises(Killed):
        await life(store, node, picture, data, broken, dies)
    outcome = await life(store, node, picture, data, broken, dies)
    assert seen[0] == seen[1]
    assert seen[0][0].content == (Text("a cat"), Image(b"\x89PNG"))
    assert seen[0][1].value == {"n": 12345678901234567890, "t": "ü"}
    assert [part["type"] for part in outcome.value["parts"]] == ["text", "image"]


async def test_a_run_whose_steps_can_not_be_recorded_ends_with_the_stores_error() -> None:
    ran: list[int] = []

    class Full(MemoryJournalStore):
        def save(self, run_id: str, step_id: str, about: str, outcome: str) -> None:
            raise StoreError("the disk is full")

    @tool
    async def write() -> None:
        ran.append(1)

    with pytest.raises(StoreError, match="the disk is full"):
        await life(Full(), calling("write", "write", "write"), write)
    assert ran == [1]


async def test_a_journal_that_forgets_a_run_reads_it_again(store: Mortal) -> None:
    journal = Journal(store)

    async def one() -> str:
        return "1"

    assert await journal.step("r", "a.1", one, "x") == "1"
    assert await journal.step("r/child", "a.1", one, "x") == "1"
    journal.forget("r")
    assert journal.replaying("r")
    assert journal.replaying("r/child")
    assert not journal.replaying("other")

    async def never() -> str:
        raise AssertionError("it is recorded")

    assert await journal.step("r", "a.1", never, "x") == "1"
    assert await journal.step("r", "b.1", one) == "1"
    assert not journal.replaying("r")
