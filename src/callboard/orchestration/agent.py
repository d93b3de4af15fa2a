"""One agent's conversation as a workflow: ask the model (a round), act on its calls; every mode uses it."""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from callboard.conversation import Message, ToolMessage
from callboard.errors import WorkflowError
from callboard.models import Model, ModelAnswer, ModelRequest, ToolDefinition
from callboard.orchestration.controls import Control
from callboard.orchestration.history import (
    OpenCall,
    call_ids,
    digest,
    failure,
    is_json,
    said,
    sound,
    tool_message,
    well_formed,
)
from callboard.orchestration.rendering import rendered
from callboard.tools import Export, Note, export
from callboard.workflow import Context, Json, Node, Tools, Workflow, route

# Rounds in a row with the same calls and the same results, from which on the model is told.
REMARK_AT = 3
_HEAD = 2_000  # characters of a result in `call.answered`
# Calls of one answer that are made; models that lost their way send hundreds.
MAX_CALLS = 64
# Where the dialects keep the schema of the arguments.
_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")

_CUT = {
    "ok": False,
    "error": "the answer was cut off inside the arguments of this call, so it was not made",
    "code": "args.truncated",
    "hint": "call it again with shorter arguments, or in several calls",
}
_TOO_MANY = {
    "ok": False,
    "error": f"the answer held more than {MAX_CALLS} calls, and this one was not made",
    "code": "call.too_many",
    "hint": "call it again, with fewer calls in one answer",
}
_ENDED = {
    "ok": False,
    "error": "the run had ended when this call was reached",
    "code": "run.ended",
    "hint": None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """Who talks.

    Attributes:
        path: such as ``main`` or ``main/scout``.
        grant: the tools that it may see and call; None means all of the run's.
        model: the name of its model; None is the run's own.
        settings: for the model, such as `temperature`.
        text_ends: an answer with text and without calls ends the conversation; else it is a silent round.
        streak: silent rounds in a row that end the conversation as exhausted.
        max_repeats: rounds in a row with the same calls and results that do.
    """

    path: str = "main"
    grant: frozenset[str] | None = None
    model: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    text_ends: bool = False
    streak: int = 3
    max_repeats: int = 5


@dataclass(frozen=True, kw_only=True)
class AgentState:
    """A conversation between two node visits.

    Attributes:
        messages: the history.
        pending: calls of the newest answer that are to be made.
        text: the newest prose that was not empty.
        result: set by what ends the conversation.
        silent: silent rounds in a row.
        made: what the calls of this round were and gave, one digest each.
        round_before: the digest of the round before.
        repeats: rounds in a row with that digest.
        seen: messages that `digest` and `ids` cover.
        digest: of the newest request.
        ids: of all calls before it.
    """

    messages: tuple[Message, ...] = ()
    pending: tuple[OpenCall, ...] = ()
    text: str | None = None
    result: Json = None
    silent: int = 0
    made: tuple[str, ...] = ()
    round_before: str = ""
    repeats: int = 0
    seen: int = 0
    digest: str = ""
    ids: frozenset[str] = frozenset()


class Conversation:
    """One agent and its controls; `workflow` is what an engine runs, over an `AgentState`."""

    def __init__(self, agent: Agent, controls: Sequence[Control] = ()) -> None:
        self.agent = agent
        self._controls = {control.name: control for control in controls}

    def workflow(self) -> Workflow[AgentState, Any]:
        """The conversation as two nodes. It delivers `result`, and salvages the newest prose."""
        agent = self.agent
        ask = Node(
            "ask",
            self.ask,
            [
                route.to("act", when=_pending),
                route.deliver("result", when=_has_result),
                route.exhaust("no_tool_call_streak", when=lambda state: state.silent >= agent.streak),
                route.to("ask"),
            ],
            f"{agent.path} answers",
            starts_round=True,
        )
        act = Node(
            "act",
            self.act,
            [
                route.deliver("result", when=_has_result),
                route.to("act", when=_pending),
                route.exhaust("repeated_calls", when=lambda state: state.repeats >= agent.max_repeats),
                route.to("ask"),
            ],
            f"calls of {agent.path}",
        )
        return Workflow(f"agent {agent.path}", [ask, act], salvage="text", agent=agent.path)

    async def ask(self, state: AgentState, ctx: Context) -> Mapping[str, Any]:
        """One request to the model, as one step."""
        about = digest(state.digest, state.messages[state.seen :])
        recorded = await self._requested(state, ctx, about)
        answer = ModelAnswer.from_json(recorded["answer"])
        used = state.ids | call_ids(state.messages[state.seen :])
        pending = _open_calls(answer, recorded["tools"], used, ctx.round)
        ctx.emit(
            "model.finished",
            agent=self.agent.path,
            model=answer.model or recorded["model"],
            text=answer.text,
            calls=[each.call for each in pending],
            usage=dict(answer.usage),
            finish_reason=answer.finish_reason,
        )
        for code, why in recorded["left_out"] if ctx.round == 1 else ():
            ctx.emit("notice", code=code, text=why)
        messages = (*state.messages, *said(answer.text, [each.call for each in pending], answer.kept))
        changed: dict[str, Any] = {
            "messages": messages,
            "seen": len(state.messages),
            "digest": about,
            "ids": used,
            "pending": pending,
            "made": (),
            "text": answer.text if answer.text.strip() else state.text,
        }
        if not recorded["prose"] and not answer.text.strip():
            changed["text"] = rendered(messages)
        if pending:
            return {**changed, "silent": 0}
        dropped = len(answer.calls)
        if self.agent.text_ends and answer.text.strip() and not dropped:
            return {**changed, "result": answer.text}
        if not recorded["prose"] and not dropped:
            return {**changed, "result": changed["text"]}
        nudge: Message = {"role": "user", "content": self._nudge(dropped)}
        return {**changed, "messages": (*messages, nudge), "silent": state.silent + 1}

    async def act(self, state: AgentState, ctx: Context) -> Mapping[str, Any]:
        """The next call; reads that follow each other run together, and are answered in order."""
        first = state.pending[0]
        together = _together(state.pending)
        for each in together:
            ctx.emit(
                "call.requested",
                call=each.call["id"],
                tool=each.tool,
                arguments=each.call["arguments"],
                agent=self.agent.path,
                control=each.control,
            )
        changed: Mapping[str, Any] = {}
        if first.control:
            changed, envelope = await self._controls[first.tool].answer(state, first.raw, ctx)
            envelopes = [envelope]
        elif first.refused:
            envelopes = [failure(first.refused)] * len(together)
        else:
            agent = self.agent
            envelopes = await asyncio.gather(
                *[
                    ctx.tools.call(each.tool, each.given, agent=agent.path, grant=agent.grant)
                    for each in together
                ]
            )
        rest = state.pending[len(together) :]
        answered = list(zip(together, envelopes, strict=True))
        if first.control and self._controls[first.tool].ends and changed:
            answered += [(each, failure(_ENDED)) for each in rest]
            rest = ()
        made = (*state.made, *[_made(each, envelope) for each, envelope in answered])
        messages = (*state.messages, *[self._answered(each, envelope, ctx) for each, envelope in answered])
        ended: dict[str, Any] = {} if rest else self._round_ended(state, made, messages)
        return {"messages": messages, "pending": rest, "made": made, **ended, **changed}

    async def _requested(self, state: AgentState, ctx: Context, about: str) -> Json:
        """The model's answer, with what its calls mean now: a replay must not depend on today's catalog."""
        path = self.agent.path
        ctx.emit("model.started", agent=path, messages=len(state.messages))

        async def turn(_key: str) -> Json:
            model, tools = _model(ctx, self.agent.model), ctx.run.pinned
            options = replace(ctx.run.execution, agent=path, grant=ctx.run.granted(self.agent.grant))
            shown = tools.export(model.dialect, execution=options)
            controls = self._offered(model, shown)
            offered = (*_definitions(controls), *_definitions(shown))
            request = ModelRequest(path, state.messages, offered, self.agent.settings)
            answer = await model.answer(
                request, lambda piece: ctx.transient("text.delta", agent=path, text=sound(piece))
            )
            return {
                "answer": sound(answer.to_json()),
                "tools": [
                    _meaning(sound(call["name"]).strip(), controls, shown, tools) for call in answer.calls
                ],
                "prose": model.finishes_with_text,
                "model": model.name,
                "left_out": _untold(shown, tools),
            }

        return await ctx.step("model", turn, about)

    def _offered(self, model: Model, shown: Export) -> Export:
        """The controls: none for a model that could not write what they ask for."""
        taken = [name for name in self._controls if name in shown.names.values()]
        if taken:
            raise WorkflowError(
                f"tool {taken[0]!r} has the name of one of the engine's own",
                code="agent.name_taken",
                hint="register it under another name",
            )
        controls = [control.definition for control in self._controls.values()]
        return export(controls if model.finishes_with_text else (), model.dialect)

    def _nudge(self, dropped: int) -> str:
        what = (
            "Your last answer held a call without a name." if dropped else "Your last answer called no tool."
        )
        end = next((f", or end with {name}" for name, control in self._controls.items() if control.ends), "")
        return f"{what} Call a tool{end}."

    def _answered(self, each: OpenCall, envelope: Mapping[str, Json], ctx: Context) -> ToolMessage:
        text: str = envelope["text"]
        ctx.emit(
            "call.answered",
            call=each.call["id"],
            tool=each.tool,
            ok=envelope["ok"],
            status=envelope["status"],
            code=envelope.get("code"),
            simulated=envelope.get("simulated", False),
            invocation_id=envelope.get("invocation_id"),
            text=text[:_HEAD],
            length=len(text),
        )
        return tool_message(each.call, envelope)

    def _round_ended(
        self, state: AgentState, made: tuple[str, ...], messages: tuple[Message, ...]
    ) -> dict[str, Any]:
        """Notice rounds that repeat: tell the model, before the route ends the conversation."""
        this = hashlib.sha256("".join(made).encode()).hexdigest()
        repeats = state.repeats + 1 if this == state.round_before else 1
        ended: dict[str, Any] = {"round_before": this, "repeats": repeats}
        if repeats < REMARK_AT:
            return ended
        remark: Message = {
            "role": "user",
            "content": f"You made the same calls {repeats} times in a row, with the same results. "
            "They will not change: do something else, or end with what you have.",
        }
        return {**ended, "messages": (*messages, remark)}


def _open_calls(
    answer: ModelAnswer, tools: Sequence[Json], used: frozenset[str], round_: int
) -> tuple[OpenCall, ...]:
    """The calls of an answer that have a name. Refused are those beyond `MAX_CALLS`, and one that was cut."""
    named = [meaning for meaning, call in zip(tools, answer.calls, strict=True) if call["name"].strip()]
    made = [
        OpenCall(call, raw, meaning["id"], meaning["control"], meaning["read"], meaning["own_parser"])
        for (call, raw), meaning in zip(well_formed(answer.calls, used, round_), named, strict=True)
    ]
    if made and answer.truncated and not is_json(made[-1].raw):
        made[-1] = _refused(made[-1], _CUT)
    return (*made[:MAX_CALLS], *[_refused(each, _TOO_MANY) for each in made[MAX_CALLS:]])


def _together(pending: Sequence[OpenCall]) -> Sequence[OpenCall]:
    """The calls that are answered next: reads run together, refused ones need no run at all."""
    first = pending[0]
    if first.refused:
        return list(takewhile(lambda each: each.refused == first.refused, pending))
    return list(takewhile(lambda each: each.read, pending)) or [first]


def _refused(call: OpenCall, why: Mapping[str, Json]) -> OpenCall:
    return replace(call, refused=why, read=False, control=False)


def _pending(state: AgentState) -> bool:
    return bool(state.pending)


def _has_result(state: AgentState) -> bool:
    return state.result is not None


def _model(ctx: Context, name: str | None) -> Model:
    if ctx.run.models is None:
        raise WorkflowError("an agent needs the run's models", code="workflow.no_models")
    return ctx.run.models(name)


def _meaning(name: str, controls: Export, shown: Export, tools: Tools) -> Json:
    if controls.names.tool_id(name) is not None:
        return {"id": name, "control": True, "read": False, "own_parser": False}
    id_ = shown.names.tool_id(name) or name
    tool = tools.get(id_)
    return {
        "id": id_,
        "control": False,
        "read": tool is not None and tool.kind == "read",
        "own_parser": tool is not None and tool.own_parser,
    }


def _untold(shown: Export, tools: Tools) -> list[list[str]]:
    """(code, reason) of the tools that are not shown, and of those that wanted strict mode in vain."""
    wanted = [note for note in shown.notes if note.code == "schema.not_strict" and _wants_strict(note, tools)]
    return [[each.code, f"tool {each.tool_id}: {each.reason}"] for each in (*shown.left_out, *wanted)]


def _wants_strict(note: Note, tools: Tools) -> bool:
    tool = tools.get(note.tool_id)
    return tool is not None and tool.strict is True


def _definitions(shown: Export) -> list[ToolDefinition]:
    """What each dialect calls its own way, in one form."""
    made: list[ToolDefinition] = []
    for definition in shown.definitions:
        told: dict[str, Any] = definition.get("function", definition)
        schema = next(told[key] for key in _SCHEMAS if key in told)
        made.append(ToolDefinition(told["name"], told.get("description", ""), schema, told.get("strict")))
    return made


def _made(each: OpenCall, envelope: Mapping[str, Json]) -> str:
    told = json.dumps([each.tool, each.call["arguments"], envelope["text"]])
    return hashlib.sha256(told.encode()).hexdigest()
