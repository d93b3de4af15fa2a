"""From events to what a surface shows: one reducer per event type."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from callboard.events import RunEvent
from callboard.views.state import Card, Heading, Notice, RunState, Said, shortened

Reducer = Callable[[RunState, RunEvent], None]


def fold(run: str, events: Iterable[RunEvent]) -> RunState:
    """The state after these events of a run and its children."""
    state = RunState(run)
    for event in events:
        apply(state, event)
    return state


def apply(state: RunState, event: RunEvent) -> None:
    """Take one event in.

    One that is known by its identity changes nothing; one of an unknown type becomes a notice.
    """
    if event.n:
        identity = (event.run, event.path, event.n)
        if identity in state.known:
            return
        state.known.add(identity)
    REDUCERS.get(event.type, _unknown)(state, event)


def abandon(state: RunState) -> None:
    """End what is open, nobody knows when: the process of the run has ended without a word."""
    for card in list(state.open):
        _close(state, card, None, _left(card))
    state.thinking.clear()
    state.speaking.clear()


def _left(card: Card) -> str:
    """How a call ends that nobody ended: a write that was running may have happened."""
    harmless = card.phase != "running" or card.kind == "read" or card.simulated
    return "interrupted" if harmless else "unknown"


def _text(value: Any) -> str:
    """A value as one text: texts as they are, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _optional(value: Any) -> str | None:
    return None if value is None else shortened(_text(value))


def _agent(event: RunEvent) -> tuple[str, str]:
    return event.run, str(event.data.get("agent") or "main")


# -- the run, its nodes and children -----------------------------------------------------------------------


def _run_started(state: RunState, event: RunEvent) -> None:
    if event.run == state.id:
        state.about = dict(event.data)
        state.footer.started_at = event.at


def _run_finished(state: RunState, event: RunEvent) -> None:
    for key in [key for key in state.thinking if _inside(key[0], event.run)]:
        del state.thinking[key]
    for card in [card for card in state.open if _inside(card.run, event.run)]:
        _close(state, card, event.at, _left(card))
    if event.run != state.id:
        return
    footer, data = state.footer, event.data
    footer.status = str(data.get("status", "completed"))
    footer.reason = data.get("reason")
    footer.message = data.get("message")
    footer.rounds = data.get("rounds") or footer.rounds
    footer.usage = dict(data.get("usage") or footer.usage)
    footer.finished_at = event.at
    state.value = _optional(data.get("value"))


def _inside(run: str, of: str) -> bool:
    return run == of or run.startswith(f"{of}/")


def _node_started(state: RunState, event: RunEvent) -> None:
    if event.run == state.id:
        state.footer.rounds = max(state.footer.rounds, int(event.data.get("round") or 0))


def _nothing(state: RunState, event: RunEvent) -> None:
    """What a terminal does not show; a console may draw it."""


def _child_started(state: RunState, event: RunEvent) -> None:
    state.history.append(Heading(f"{event.data.get('key') or event.data.get('child')} started"))


def _child_finished(state: RunState, event: RunEvent) -> None:
    why = f" ({event.data['reason']})" if event.data.get("reason") else ""
    name = event.data.get("key") or event.run
    state.history.append(Heading(f"{name} {event.data.get('status', 'ended')}{why}"))


# -- models ------------------------------------------------------------------------------------------------


def _model_started(state: RunState, event: RunEvent) -> None:
    state.thinking[_agent(event)] = event.at


def _text_delta(state: RunState, event: RunEvent) -> None:
    agent = _agent(event)
    state.speaking[agent] = state.speaking.get(agent, "") + str(event.data.get("text", ""))


def _model_finished(state: RunState, event: RunEvent) -> None:
    agent = _agent(event)
    state.thinking.pop(agent, None)
    state.speaking.pop(agent, None)
    text = event.data.get("text")
    if text:
        state.history.append(Said(agent[1], str(text)))
    usage: Mapping[str, Any] = event.data.get("usage") or {}
    for name, count in usage.items():
        if isinstance(count, int):
            state.footer.usage[name] = state.footer.usage.get(name, 0) + count


# -- calls -------------------------------------------------------------------------------------------------


def _call_requested(state: RunState, event: RunEvent) -> None:
    data = event.data
    card = Card(event.run, str(data.get("tool", "")), agent=data.get("agent"), started_at=event.at)
    card.arguments = shortened(_text(data.get("arguments", "")))
    state.open.append(card)
    state.requested[event.run, str(data.get("call"))] = card
    state.unbound.setdefault((event.run, card.tool), deque()).append(card)


def _call_answered(state: RunState, event: RunEvent) -> None:
    """The conversation's word: it ends what never came to the gate, such as a tool that is not there."""
    card = state.requested.pop((event.run, str(event.data.get("call"))), None)
    if card is None or card.phase == "done":
        return
    data = event.data
    text = str(data.get("text", ""))
    if data.get("ok"):
        card.result = shortened(text)
    else:
        card.error, card.hint = _failure(text)
        card.code = data.get("code")
    card.simulated = bool(data.get("simulated"))
    _close(state, card, event.at, str(data.get("status") or "ok"))


def _failure(text: str) -> tuple[str, str | None]:
    """Message and hint of the envelope that a model is shown; a text that is none stands for itself."""
    try:
        told = json.loads(text)
        return shortened(str(told["error"])), _optional(told.get("hint"))
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return shortened(text), None


def _of_gate(state: RunState, event: RunEvent) -> Card:
    """The card of a fact of the gate; the first one of a call finds the request that it answers."""
    data = event.data
    invocation = str(data["invocation_id"])
    card = state.invoked.get(invocation)
    if card is None:
        card = None if data.get("parents") else _requested(state, event)
        if card is None:
            card = Card(event.run, str(data["tool_id"]), agent=data.get("agent"), started_at=event.at)
            state.open.append(card)
        state.invoked[invocation] = card
        card.step = event.path.rpartition("@")[0] or None
        _interrupt_earlier(state, card, event)
    card.invocation_id = invocation
    card.kind = data.get("kind", card.kind)
    if data.get("arguments") is not None:
        card.arguments = shortened(str(data["arguments"]))
    if data.get("reasons"):
        card.reasons = tuple(data["reasons"])
    card.depth = len(data.get("parents") or ()) or card.depth
    return card


def _interrupt_earlier(state: RunState, card: Card, event: RunEvent) -> None:
    """Another attempt at a step: the process of the one before has ended, and its calls with it."""
    if card.step is None or event.data.get("parents"):
        return
    for other in [other for other in state.open if other.run == card.run and other.step == card.step]:
        if other is not card:
            _close(state, other, event.at, _left(other))


def _requested(state: RunState, event: RunEvent) -> Card | None:
    """The oldest request for that tool with these arguments, else the oldest for that tool."""
    waiting = state.unbound.get((event.run, str(event.data["tool_id"])))
    if not waiting:
        return None
    arguments = _value(event.data.get("arguments"))
    card = next((card for card in waiting if _value(card.arguments) == arguments), waiting[0])
    waiting.remove(card)
    return card


def _value(text: Any) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError, TypeError):
        return text


def _approval_asked(state: RunState, event: RunEvent) -> None:
    _of_gate(state, event).phase = "waiting"


def _approval_answered(state: RunState, event: RunEvent) -> None:
    _of_gate(state, event).phase = "pending"


def _call_started(state: RunState, event: RunEvent) -> None:
    card = _of_gate(state, event)
    card.phase, card.started_at = "running", event.at
    card.simulated = bool(event.data.get("simulated"))


def _call_progress(state: RunState, event: RunEvent) -> None:
    _of_gate(state, event).progress = _optional(event.data.get("value"))


def _call_finished(state: RunState, event: RunEvent) -> None:
    card, data = _of_gate(state, event), event.data
    card.result = _result(data)
    card.simulated, card.repaired = bool(data.get("simulated")), bool(data.get("repaired"))
    failure: Mapping[str, Any] = data.get("failure") or {}
    card.error, card.code, card.hint = (
        _optional(failure.get("message")),
        failure.get("code"),
        failure.get("hint"),
    )
    if data.get("duration_ns") is not None:
        card.seconds = data["duration_ns"] / 1e9
    _close(state, card, event.at, str(data.get("status", "ok")))


def _result(record: Mapping[str, Any]) -> str | None:
    """The beginning of a result; of one that is kept elsewhere, how large it is and where."""
    result = record.get("result")
    if isinstance(result, str) and result.startswith('{"blob":'):
        try:
            kept = json.loads(result)
            return f"{kept['length']} characters: callboard calls show {record.get('invocation_id')}"
        except (ValueError, RecursionError, TypeError, KeyError):
            pass
    return _optional(result)


def _close(state: RunState, card: Card, at: float | None, status: str) -> None:
    card.phase, card.status, card.finished_at = "done", status, at
    if card.seconds is None and at is not None:
        card.seconds = max(0.0, at - card.started_at)
    state.open = [other for other in state.open if other is not card]
    waiting = state.unbound.get((card.run, card.tool))
    if waiting and card in waiting:
        waiting.remove(card)
    footer = state.footer
    footer.calls += 1
    if status != "ok":
        footer.unsuccessful[status] = footer.unsuccessful.get(status, 0) + 1
    state.history.append(card)


# -- what a person should know -----------------------------------------------------------------------------


def _budget_exhausted(state: RunState, event: RunEvent) -> None:
    limit = event.data.get("limit")
    of = "" if limit is None else f" of {limit:g}"
    state.history.append(Notice("budget.exhausted", f"the limit{of} is reached: {event.data.get('reason')}"))


def _notice(state: RunState, event: RunEvent) -> None:
    state.history.append(
        Notice(str(event.data.get("code", "notice")), shortened(_text(event.data.get("text", ""))))
    )


def _unknown(state: RunState, event: RunEvent) -> None:
    state.history.append(Notice(event.type, shortened(_text(dict(event.data)), 200)))


REDUCERS: Mapping[str, Reducer] = {
    "run.started": _run_started,
    "run.finished": _run_finished,
    "node.started": _node_started,
    "node.finished": _nothing,
    "child.started": _child_started,
    "child.finished": _child_finished,
    "model.started": _model_started,
    "model.finished": _model_finished,
    "text.delta": _text_delta,
    "call.requested": _call_requested,
    "call.started": _call_started,
    "call.progress": _call_progress,
    "call.finished": _call_finished,
    "call.answered": _call_answered,
    "approval.asked": _approval_asked,
    "approval.answered": _approval_answered,
    "budget.exhausted": _budget_exhausted,
    "notice": _notice,
}
