"""A tool that calls tools: what is true of a call is true of the calls inside it, also after a crash."""

from typing import Any

import pytest

from callboard.errors import OutcomeUnknown, ToolError
from callboard.registry import ToolRegistry
from callboard.tools import tool
from callboard.types import ExecutionOptions, PendingCall
from tests.runs.lives import Killed, Mortal, calling, life


class Hearing:
    """A host's barrier: hears of every call, and may refuse."""

    def __init__(self, refused: str = "") -> None:
        self.heard: list[str] = []
        self.refused = refused

    async def __call__(self, call: PendingCall) -> None:
        self.heard.append(call.tool_id)
        if call.tool_id == self.refused:
            raise ToolError("not now", code="host.refused")


@pytest.mark.covers("B63")
@pytest.mark.parametrize("own", [None, Hearing()])
async def test_a_write_inside_a_read_is_not_repeated_when_the_run_is_resumed(
    store: Mortal, own: Hearing | None
) -> None:
    sent: list[str] = []
    told: list[str] = []

    @tool
    async def mail() -> None:
        sent.append("mail")
        store.die()

    inside: ToolRegistry[Any] = ToolRegistry(execution=ExecutionOptions(barrier=own)).register(mail)

    @tool(mode="read")
    async def outer() -> str:
        try:
            await inside.invoke_async("mail")
        except OutcomeUnknown as error:
            told.append(error.code)
        return "looked"

    with pytest.raises(Killed):
        await life(store, calling("outer"), outer)
    outcome = await life(store, calling("outer"), outer)

    assert sent == ["mail"]
    assert told == ["call.unknown"]
    assert outcome.value[0]["text"] == "looked"


async def test_the_barrier_of_the_host_has_its_word_before_that_of_the_engine(store: Mortal) -> None:
    @tool
    async def save() -> str:
        return "saved"

    host = Hearing("save")
    outcome = await life(store, calling("save"), save, execution=ExecutionOptions(barrier=host))

    assert host.heard == ["save"]
    assert outcome.value[0]["code"] == "host.refused"
    assert [row.step_id for row in store.load("r") if row.step_id.endswith("/write")] == []


@pytest.mark.parametrize("simulate", [True, False])
async def test_the_barrier_of_the_host_hears_of_simulated_calls_too(store: Mortal, simulate: bool) -> None:
    @tool
    async def save() -> str:
        return "saved"

    host = Hearing()
    await life(store, calling("save"), save, execution=ExecutionOptions(barrier=host, simulate=simulate))

    assert host.heard == ["save"]
