"""From events to what a surface shows."""

import json
from collections.abc import Iterable
from typing import Any, get_args

from callboard.events import RunEvent, RunEventType
from callboard.views import REDUCERS, Card, Heading, Notice, RunState, Said, abandon, fold, shortened


class Log:
    """Makes events as a run does: numbered by path."""

    def __init__(self, run: str = "r1") -> None:
        self.run = run
        self.events: list[RunEvent] = []
        self._numbers: dict[tuple[str, str], int] = {}

    def add(
        self, type_: Any, path: str = "", run: str | None = None, at: float | None = None, **data: Any
    ) -> None:
        where = (run or self.run, path)
        number = 0 if type_ == "text.delta" else self._numbers.get(where, 0) + 1
        self._numbers[where] = number or self._numbers.get(where, 0)
        self.events.append(
            RunEvent(*where, number, type_, float(len(self.events)) if at is None else at, data)
        )

    def gate(self, type_: Any, invocation: str, tool: str = "add", **data: Any) -> None:
        fact: dict[str, Any] = {
            "invocation_id": invocation,
            "tool_id": tool,
            "kind": "read",
            "parents": [],
            **data,
        }
        self.add(type_, f"act#1/{tool}.{invocation}@1", **fact)

    def state(self) -> RunState:
        return fold(self.run, self.events)


def asked_for(
    log: Log, call: str = "m1", tool: str = "add", args: str = '{"a":1}', agent: str = "main"
) -> None:
    log.add("call.requested", "act#1", call=call, tool=tool, arguments=args, agent=agent)


def cards(entries: Iterable[Any]) -> list[Card]:
    return [entry for entry in entries if isinstance(entry, Card)]


def test_every_event_type_has_a_reducer_and_no_other_has() -> None:
    assert set(REDUCERS) == set(get_args(RunEventType))


def test_a_call_goes_from_pending_through_running_to_done() -> None:
    log = Log()
    asked_for(log)
    [card] = log.state().open
    assert (card.tool, card.phase, card.arguments, card.agent) == ("add", "pending", '{"a":1}', "main")
    log.gate("call.started", "c1", arguments='{"a":1,"b":2}', reasons=["read: allow"])
    [card] = log.state().open
    assert (card.phase, card.arguments, card.reasons) == ("running", '{"a":1,"b":2}', ("read: allow",))
    log.gate("call.progress", "c1", value='"half"')
    assert log.state().open[0].progress == '"half"'
    log.gate("call.finished", "c1", status="ok", result="3", duration_ns=1_500_000_000)
    log.add("call.answered", "act#1", call="m1", ok=True, status="ok", text="3")
    state = log.state()
    assert state.open == []
    [done] = cards(state.history)
    assert (done.phase, done.status, done.result, done.seconds, done.depth) == ("done", "ok", "3", 1.5, 0)
    assert state.footer.calls == 1


def test_a_call_that_asks_waits_for_a_person() -> None:
    log = Log()
    asked_for(log, tool="write_file")
    log.gate("approval.asked", "c1", "write_file", kind="write", arguments="{}", reasons=["write = ask"])
    [card] = log.state().open
    assert (card.phase, card.kind, card.reasons) == ("waiting", "write", ("write = ask",))
    log.gate("approval.answered", "c1", "write_file", allowed=False, reason="no", by="ann")
    assert log.state().open[0].phase == "pending"
    log.gate(
        "call.finished",
        "c1",
        "write_file",
        status="denied",
        failure={"code": "permission.denied", "message": "no", "hint": "ask first"},
    )
    [done] = cards(log.state().history)
    assert (done.status, done.error, done.code, done.hint) == (
        "denied",
        "no",
        "permission.denied",
        "ask first",
    )


def test_two_calls_of_one_tool_find_their_own_cards() -> None:
    log = Log()
    asked_for(log, "m1", args='{"a":1}')
    asked_for(log, "m2", args='{"a":2}')
    log.gate("call.started", "c1", arguments='{"a":1}')
    log.gate("call.started", "c2", arguments='{"a":2}')
    log.gate("call.finished", "c2", status="ok", result="2")
    log.gate("call.finished", "c1", status="failed", failure={"code": "x", "message": "bad", "hint": None})
    assert [(card.arguments, card.status) for card in cards(log.state().history)] == [
        ('{"a":2}', "ok"),
        ('{"a":1}', "failed"),
    ]


def test_two_calls_of_one_tool_are_told_apart_by_their_arguments() -> None:
    log = Log()
    asked_for(log, "m1", args='{"a": 1}')
    asked_for(log, "m2", args='{"a": 2}')
    log.gate("call.started", "c2", arguments='{"a":2}')
    log.gate("call.started", "c1", arguments='{"a":1}')
    assert [card.invocation_id for card in log.state().open] == ["c1", "c2"]


def test_a_call_that_never_came_to_the_gate_is_closed_by_its_answer() -> None:
    log = Log()
    asked_for(log, "m1", tool="finalize")
    asked_for(log, "m2", tool="cut")
    told = '{"ok":false,"error":"the call was cut off","code":"args.truncated","hint":"make it shorter"}'
    log.add("call.answered", "act#1", call="m1", ok=True, status="ok", text="noted", code=None)
    log.add("call.answered", "act#1", call="m2", ok=False, status="failed", text=told, code="args.truncated")
    log.add("call.answered", "act#1", call="m3", ok=True, status="ok", text="whose?")
    state = log.state()
    first, second = cards(state.history)
    assert (first.status, first.result, first.error) == ("ok", "noted", None)
    assert (second.status, second.error, second.code, second.hint) == (
        "failed",
        "the call was cut off",
        "args.truncated",
        "make it shorter",
    )
    assert state.open == []


def test_an_answer_that_is_no_envelope_stands_for_itself() -> None:
    log = Log()
    asked_for(log)
    log.add("call.answered", "act#1", call="m1", ok=False, status="failed", text='{"ok":fal', code="x")
    [card] = cards(log.state().history)
    assert (card.error, card.hint) == ('{"ok":fal', None)


def test_a_tool_that_calls_a_tool_shows_both() -> None:
    log = Log()
    asked_for(log)
    log.gate("call.started", "c1")
    log.gate("call.started", "c2", "inner", parents=["c1"])
    log.gate("call.finished", "c2", "inner", parents=["c1"], status="ok", result="1")
    log.gate("call.finished", "c1", status="ok", result="2")
    assert [(card.tool, card.depth) for card in cards(log.state().history)] == [("inner", 1), ("add", 0)]


def test_streamed_text_is_replaced_by_what_was_said() -> None:
    log = Log()
    log.add("model.started", "ask#1", agent="main", model="scripted")
    log.add("text.delta", "ask#1", agent="main", text="Hel")
    log.add("text.delta", "ask#1", agent="main", text="lo")
    state = log.state()
    assert state.speaking == {("r1", "main"): "Hello"}
    assert list(state.thinking) == [("r1", "main")]
    log.add("model.finished", "ask#1", agent="main", text="Hello.", usage={"output_tokens": 3})
    log.add("model.finished", "ask#2", agent="main", text="", usage={"output_tokens": 4})
    state = log.state()
    assert (state.speaking, state.thinking) == ({}, {})
    assert state.history == [Said("main", "Hello.")]
    assert state.footer.usage == {"output_tokens": 7}


def test_the_footer_says_how_the_run_ended() -> None:
    log = Log()
    log.add("run.started", at=10.0, workflow="loop", simulate=True)
    log.add("node.started", "ask#1", node="ask", visit=1, round=2)
    assert log.state().footer.status == "running"
    log.add(
        "run.finished",
        "end",
        at=12.5,
        status="failed",
        reason="tool.failed",
        message="bad",
        rounds=2,
        value=None,
    )
    state = log.state()
    footer = state.footer
    assert (footer.status, footer.reason, footer.message, footer.rounds) == (
        "failed",
        "tool.failed",
        "bad",
        2,
    )
    assert (footer.started_at, footer.finished_at) == (10.0, 12.5)
    assert state.about["simulate"] is True


def test_a_call_that_is_open_when_its_run_ends_was_interrupted() -> None:
    log = Log()
    asked_for(log)
    log.gate("call.started", "c1")
    log.add("run.finished", "end", status="cancelled", reason="user_stopped")
    state = log.state()
    assert [card.status for card in cards(state.history)] == ["interrupted"]
    assert (state.open, state.footer.status) == ([], "cancelled")


def test_what_is_open_when_the_process_ended_is_unknown_where_it_may_have_written() -> None:
    log = Log()
    log.gate("call.started", "c1")
    log.gate("call.started", "c2", "save", kind="write")
    log.gate("call.started", "c3", "save", kind="write", simulated=True)
    log.gate("approval.asked", "c4", "save", kind="write")
    log.add("model.started", agent="main")
    log.add("text.delta", agent="main", text="Hel")
    state = log.state()
    abandon(state)
    assert [(card.invocation_id, card.status) for card in cards(state.history)] == [
        ("c1", "interrupted"),
        ("c2", "unknown"),
        ("c3", "interrupted"),
        ("c4", "interrupted"),
    ]
    assert [card.seconds for card in cards(state.history)] == [None] * 4
    assert (state.open, state.speaking, state.thinking) == ([], {}, {})


def test_a_write_that_was_running_when_it_is_tried_again_is_unknown() -> None:
    log = Log()
    for attempt in (1, 2):
        log.add(
            "call.started",
            f"act#1/save.1@{attempt}",
            invocation_id=f"c{attempt}",
            tool_id="save",
            kind="write",
            parents=[],
        )
    assert [card.status for card in cards(log.state().history)] == ["unknown"]


def test_a_call_whose_process_died_was_interrupted_once_it_is_tried_again() -> None:
    log = Log()
    asked_for(log)
    log.add("call.started", "act#1/add.1@1", invocation_id="c1", tool_id="add", kind="read", parents=[])
    log.add("call.started", "act#1/add.1@1", invocation_id="c2", tool_id="inner", kind="read", parents=["c1"])
    assert [card.tool for card in log.state().open] == ["add", "inner"]
    log.add("call.started", "act#1/add.1@2", invocation_id="c3", tool_id="add", kind="read", parents=[])
    log.add("call.finished", "act#1/add.1@2", invocation_id="c3", tool_id="add", status="ok", result="3")
    log.add("call.answered", "act#1", call="m1", ok=True, status="ok", text="3", invocation_id="c3")
    assert [(card.invocation_id, card.status) for card in cards(log.state().history)] == [
        ("c1", "interrupted"),
        ("c2", "interrupted"),
        ("c3", "ok"),
    ]


def test_a_child_has_headings_and_does_not_end_the_run() -> None:
    log = Log()
    log.add("child.started", "plan#1", child="r1/plan#1/scout", key="scout")
    log.add(
        "call.requested", "act#1", run="r1/plan#1/scout", call="m1", tool="add", arguments="{}", agent="scout"
    )
    log.add("run.finished", "end", run="r1/plan#1/scout", status="completed", value="x")
    log.add("child.finished", "", run="r1/plan#1/scout", key="scout", status="completed", reason=None)
    state = log.state()
    assert [entry.text for entry in state.history if isinstance(entry, Heading)] == [
        "scout started",
        "scout completed",
    ]
    assert state.footer.status == "running"
    assert state.open == []


def test_an_event_that_comes_twice_counts_once() -> None:
    log = Log()
    asked_for(log)
    log.gate("call.started", "c1")
    log.gate("call.finished", "c1", status="ok", result="3")
    log.add("notice", "act#1", code="x", text="y")
    twice = fold("r1", [*log.events, *log.events])
    assert len(twice.history) == len(log.state().history) == 2
    assert twice.footer.calls == 1


def test_limits_notices_and_unknown_events_are_told() -> None:
    log = Log()
    log.add("budget.exhausted", "end", reason="rounds", limit=3)
    log.add("notice", code="tool.left_out", text="`x` can't be expressed")
    log.add("blob.stored", size=3)
    assert log.state().history == [
        Notice("budget.exhausted", "the limit of 3 is reached: rounds"),
        Notice("tool.left_out", "`x` can't be expressed"),
        Notice("blob.stored", '{"size": 3}'),
    ]


def test_what_is_long_is_shown_by_its_beginning() -> None:
    log = Log()
    asked_for(log)
    log.gate("call.finished", "c1", status="ok", result=json.dumps("x" * 5000))
    [card] = cards(log.state().history)
    assert card.result is not None
    assert card.result.endswith("x... (3002 more characters)")
    assert shortened("abc", 3) == "abc"


def test_facts_without_their_beginning_still_make_a_card() -> None:
    log = Log()
    log.gate("call.finished", "c1", status="ok", result="3")
    [card] = cards(log.state().history)
    assert (card.tool, card.status) == ("add", "ok")


def test_a_result_that_is_kept_elsewhere_is_shown_by_its_size_and_place() -> None:
    log = Log()
    log.gate("call.started", "c1")
    log.gate("call.finished", "c1", status="ok", result='{"blob":"result-ab","length":262144}')
    log.gate("call.started", "c2")
    log.gate("call.finished", "c2", status="ok", result='{"blob":"mine"}')
    shown = [card.result for card in cards(log.state().history)]
    assert shown == ["262144 characters: callboard calls show c1", '{"blob":"mine"}']
