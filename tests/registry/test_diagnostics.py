"""Seed 003's DiagnosticContext."""

import asyncio
from typing import Any

import pytest

from callboard.events import DiagnosticContext, DiagnosticScope

Facts = list[tuple[str, Any, Any]]


def scope(facts: Facts, **options: Any) -> DiagnosticScope:
    def log(event: str, fact: Any, debug: Any) -> None:
        facts.append((event, fact, debug))

    return DiagnosticScope(log, **options)


def test_the_scope_is_a_diagnostic_context() -> None:
    assert isinstance(scope([]), DiagnosticContext)


@pytest.mark.covers("S3-020")
def test_identity_is_none_until_the_scope_is_bound() -> None:
    assert scope([]).identity is None
    assert scope([], identity={"run_id": "r"}).identity == {"run_id": "r"}


@pytest.mark.covers("S3-021", "S3-022")
def test_a_payload_is_built_once_where_somebody_listens_and_not_at_all_elsewhere() -> None:
    built: list[int] = []
    facts: Facts = []

    def payload() -> str:
        built.append(1)
        return "fact"

    deaf = DiagnosticScope()
    deaf.emit("call.started", payload)
    assert (deaf.enabled("call.started"), built) == (False, [])

    scope(facts).emit("call.started", payload)
    assert (facts, built) == ([("call.started", "fact", None)], [1])


@pytest.mark.covers("S3-021")
def test_content_is_a_level_of_its_own() -> None:
    assert scope([]).enabled("call.started", "content") is False
    assert scope([], content=frozenset({"metadata", "content"})).enabled("call.started", "content") is True


@pytest.mark.covers("S3-023", "S3-064")
def test_debug_steps_go_along_when_debugging_is_enabled() -> None:
    facts: Facts = []

    scope(facts).emit("call.started", lambda: 1, ["step"])
    scope(facts, debug=True).emit("call.started", lambda: 1, ["step"])

    assert [debug for _, _, debug in facts] == [None, ["step"]]


@pytest.mark.covers("S3-024", "S3-027")
async def test_deliver_records_the_fact_that_sync_and_async_sinks_get_in_order() -> None:
    facts: Facts = []
    got: list[Any] = []

    async def slow(fact: Any) -> None:
        await asyncio.sleep(0)
        got.append(fact)

    made = scope(facts)
    await made.deliver("call.progress", lambda: "one", slow)
    await made.deliver("call.progress", lambda: "two", got.append)

    assert got == ["one", "two"]
    assert [fact for _, fact, _ in facts] == ["one", "two"]


@pytest.mark.covers("S3-025", "S3-026")
async def test_a_sinks_failure_rises_and_an_observers_does_not(caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("full disk")

    facts: Facts = []
    with pytest.raises(RuntimeError, match="full disk"):
        await scope(facts).deliver("call.started", lambda: 1, broken)
    DiagnosticScope(broken).emit("call.started", lambda: 1)

    assert len(facts) == 1
    assert "full disk" in caplog.text


@pytest.mark.covers("S3-028", "S3-029", "S3-031")
def test_a_child_span_keeps_what_its_parent_knows() -> None:
    parent = scope([], identity={"run_id": "r", "span_id": "1"})

    child = parent.child("2", {"run_id": "other", "tool": "add"})

    assert child.identity == {"run_id": "r", "tool": "add", "parent_id": "1", "span_id": "2"}
    assert parent.identity == {"run_id": "r", "span_id": "1"}


@pytest.mark.covers("S3-030", "S3-031")
def test_an_observer_changes_neither_destination_nor_identity() -> None:
    facts: Facts = []
    seen: list[tuple[str, Any]] = []
    plain = scope(facts, identity={"run_id": "r"})

    observed = plain.with_observer(lambda event, fact: seen.append((event, fact)))
    observed.emit("call.started", lambda: 1)
    plain.emit("call.finished", lambda: 2)

    assert seen == [("call.started", 1)]
    assert [fact for _, fact, _ in facts] == [1, 2]
    assert observed.identity == plain.identity


@pytest.mark.covers("S3-032")
def test_event_names_are_a_closed_set() -> None:
    with pytest.raises(ValueError, match="no such event"):
        scope([]).emit("call.invented", lambda: 1)  # type: ignore[arg-type]
