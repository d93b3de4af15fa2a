"""`probe`: what tells whether a write took place, validated where the tool is registered."""

import asyncio
from typing import Any

import pytest

from callboard import ToolContext, tool
from callboard.errors import RegistrationError
from callboard.tools import RegisteredTool, registered
from callboard.types import ExecutionOptions

FORM: dict[str, Any] = {
    "id": "x",
    "kind": "write",
    "schema": {"type": "object"},
    "execute": str,
    "parse_output": str,
}


def context(key: str) -> ToolContext:
    return ToolContext(ExecutionOptions(), "i-1", key, print)


def entry(**options: Any) -> RegisteredTool:
    @tool(**options)
    def pay(to: str, amount: int) -> str:
        return f"{amount} to {to}"

    return registered(pay)


def test_a_probe_takes_the_arguments_that_it_names_and_the_calls_key() -> None:
    def paid(to: str, ctx: ToolContext) -> bool:
        return (to, ctx.call_key) == ("ada", "run-1 step-4")

    made = entry(probe=paid)
    assert made.probe is not None
    assert not made.probe_is_async
    assert made.probe({"to": "ada", "amount": 3}, context("run-1 step-4")) is True
    assert made.probe({"to": "bob", "amount": 3}, context("run-1 step-4")) is False


def test_a_probe_may_wait_and_may_take_all_arguments_at_once() -> None:
    async def paid(arguments: dict[str, Any]) -> bool | None:
        return arguments["amount"] == 3 or None

    made = entry(probe=paid)
    assert made.probe is not None
    assert made.probe_is_async
    assert asyncio.run(made.probe({"to": "ada", "amount": 3}, context("k"))) is True
    assert asyncio.run(made.probe({"to": "ada", "amount": 4}, context("k"))) is None


def test_a_tool_of_the_plain_form_has_one_too() -> None:
    def paid(given: Any, ctx: ToolContext) -> Any:
        return given, ctx.call_key

    made = registered({**FORM, "probe": paid, "idempotent": True})
    assert made.probe is not None
    assert made.probe({"a": 1}, context("k")) == ({"a": 1}, "k")
    assert made.idempotent
    assert entry().probe is None


def test_a_probe_that_can_not_be_asked_is_refused_by_name() -> None:
    def stranger(amount: int, currency: str) -> bool:
        return bool(currency) and amount > 0

    with pytest.raises(RegistrationError, match="its probe takes 'currency', which is no parameter"):
        entry(probe=stranger)
    with pytest.raises(RegistrationError, match="is a read and has a probe"):
        entry(mode="read", probe=lambda: True)
    with pytest.raises(RegistrationError, match="tool 'pay': its probe can't be called"):
        entry(probe="paid")
    with pytest.raises(RegistrationError, match="tool 'x': its probe can't be called"):
        registered({**FORM, "probe": 1})
