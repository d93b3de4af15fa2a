"""Whole runs of a host over the providers' own clients, against a server that speaks their wire format."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callboard import Host, RunResult, tool
from callboard.config import ModelConfig, load
from callboard.models import ModelRequest, open_model
from callboard.store import CallFilter
from callboard.types import ApprovalAnswer, ApprovalRequest
from tests.models.server import Reply, Server, gemini, gemini_call, serving
from tests.models.wires import GEMINI, WIRES, Made, Wire

KEY = "sk-wire-1234567890abcdef"
BOUND = 30.0
every_wire = pytest.mark.parametrize("wire", WIRES.values(), ids=list(WIRES))


@tool(mode="read")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(mode="read")
def now() -> str:
    """Tell the time."""
    return "noon"


@tool(mode="read")
def echo(text: str, times: int = 1) -> str:
    """Say it again."""
    return text * times


@tool(mode="read")
def place(at: dict[str, int], tags: list[str]) -> str:
    """Put it there."""
    return f"{sorted(at.items())} {tags}"


saved: list[str] = []


@tool
async def save(name: str) -> str:
    """Save a note."""
    saved.append(name)
    return f"saved {name}"


class Yes:
    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        return ApprovalAnswer(True, request.digest, by="test")


class Talk:
    """A host, its server, and the run."""

    def __init__(self, host: Host, server: Server) -> None:
        self.host = host
        self.server = server

    async def run(self) -> RunResult:
        return await asyncio.wait_for(self.host.run("Please do it.", model="mine"), BOUND)

    def records(self, run: RunResult) -> list[tuple[str, str, str | None]]:
        found = self.host.store.calls.list(CallFilter(run=run.id))
        return [(one["tool_id"], one["status"], one["arguments"]) for one in reversed(found)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    saved.clear()
    monkeypatch.setenv("WIRE_KEY", KEY)
    return tmp_path


def address(wire: Wire, server: Server) -> str:
    return f"{server.url}/v1" if wire.path.startswith("/v1/") and "messages" not in wire.path else server.url


@asynccontextmanager
async def talking(wire: Wire, folder: Path, *replies: Reply) -> AsyncGenerator[Talk]:
    """A host with a model whose server gives these replies."""
    async with serving(replies) as server:
        (folder / "callboard.toml").write_text(
            f'[models.mine]\nmodel = "{wire.model}"\nbase_url = "{address(wire, server)}"\n'
            'api_key_env = "WIRE_KEY"\n'
            "settings = { max_retries = 0, timeout = 20 }\n"
        )
        async with Host(load(cwd=folder), tools=[add, now, echo, place, save], approver=Yes()) as host:
            yield Talk(host, server)


def args(**values: Any) -> list[str]:
    return [json.dumps(values)]


@every_wire
async def test_a_run_of_several_rounds_sends_each_result_back_to_its_call(wire: Wire, folder: Path) -> None:
    first = [
        Made("k1", "add", ['{"a": 1,', ' "b": 2}']),
        Made("k2", "save", args(name="x")),
        Made("k3", "add", args(a=3, b=4)),
    ]
    replies = [
        wire.reply("Both.", first, "done"),
        wire.reply("", [Made("k4", "now", ["{}"])], "done"),
        wire.reply("3, 7 and noon.", [], "done"),
    ]
    async with talking(wire, folder, *replies) as talk:
        result = await talk.run()
        records = talk.records(result)
    assert (result.status, result.text, result.rounds) == ("completed", "3, 7 and noon.", 3)
    assert saved == ["x"]
    assert {(name, status) for name, status, _ in records} == {("add", "ok"), ("save", "ok"), ("now", "ok")}
    bodies = [asked.body for asked in talk.server.asked]
    assert [asked.path.split("?")[0] for asked in talk.server.asked] == [wire.path] * 3
    assert [(sent.id, sent.name) for sent in wire.calls(bodies[2])] == [
        ("k1", "add"), ("k2", "save"), ("k3", "add"), ("k4", "now"),
    ]  # fmt: skip
    assert [sent.content for sent in wire.calls(bodies[2])] == [
        {"a": 1, "b": 2},
        {"name": "x"},
        {"a": 3, "b": 4},
        {},
    ]
    results = wire.results(bodies[2])
    assert [(sent.id, sent.name) for sent in results] == [
        ("k1", "add"),
        ("k2", "save"),
        ("k3", "add"),
        ("k4", "now"),
    ]
    for sent, value in zip(results, ("3", "saved x", "7", "noon"), strict=True):
        assert value in json.dumps(sent.content)
    assert wire.results(bodies[0]) == []
    assert "Please do it." in json.dumps(bodies[0])


@every_wire
async def test_the_tools_arrive_under_their_wire_names_with_schema_and_strictness(
    wire: Wire, folder: Path
) -> None:
    async with talking(wire, folder, wire.reply("ok", [], "done")) as talk:
        await talk.run()
    (asked,) = talk.server.asked
    tools = wire.tools(asked.body)
    assert {"add", "now", "echo", "place", "save", "read_file"} <= set(tools)
    schema, strict = tools["add"]
    assert (schema["type"], sorted(schema["required"])) == ("object", ["a", "b"])
    assert schema["properties"]["a"]["type"] == "integer"
    assert strict is {"responses": True}.get(next(name for name, one in WIRES.items() if one is wire), strict)
    assert not tools["echo"][1]  # a default is beyond strict mode
    sent = json.dumps(asked.body)
    assert KEY not in sent
    assert KEY in json.dumps(asked.headers)
    assert KEY not in asked.path


@every_wire
async def test_arguments_cut_at_every_place_arrive_whole(wire: Wire, folder: Path) -> None:
    whole = '{"text": "é\\n\\"你", "times": 1}'
    cuts = [[whole[:at], whole[at:]] for at in range(1, len(whole))] + [list(whole), [whole]]
    calls = [Made(f"k{number}", "echo", pieces) for number, pieces in enumerate(cuts)]
    first = wire.reply("Now.", calls, "done")
    first.cut = 3
    async with talking(wire, folder, first, wire.reply("done", [], "done")) as talk:
        result = await talk.run()
        records = talk.records(result)
    assert len(records) == len(cuts)
    assert {(name, status) for name, status, _ in records} == {("echo", "ok")}
    assert {json.dumps(json.loads(told or ""), sort_keys=True) for _, _, told in records} == {
        json.dumps(json.loads(whole), sort_keys=True)
    }
    assert {sent.id for sent in wire.results(talk.server.asked[1].body)} == {call.id for call in calls}


@pytest.mark.slow
@pytest.mark.timeout(300)
@every_wire
async def test_a_stream_cut_anywhere_even_inside_of_a_character_is_the_same_answer(wire: Wire) -> None:
    whole = wire.reply("é", [Made("k1", "echo", ['{"text": ', '"你"}'])], "done")
    split = {at for at, byte in enumerate(whole.body) if byte > 127}  # inside of a character, too
    places = sorted(split | set(range(1, len(whole.body), 3)))
    replies = [replace(whole, cut=at, pause=True) for at in places]
    async with serving(replies) as server:
        named = ModelConfig(model=wire.model, base_url=address(wire, server), api_key_env="KEY")
        opened = open_model("mine", {"mine": named}, {"KEY": KEY})
        request = ModelRequest("main", [{"role": "user", "content": "Say it."}])
        for reply in replies:
            answer = await opened.answer(request, lambda _piece: None)
            (call,) = answer.calls
            assert (answer.text, call["id"], call["name"]) == ("é", "k1", "echo"), reply.cut
            assert json.loads(call["arguments"]) == {"text": "你"}, reply.cut
        await opened.close()


@pytest.mark.covers("B24")
@every_wire
@pytest.mark.parametrize("pieces", [None, [], [""], ["{}"]], ids=["missing", "no pieces", "empty", "object"])
async def test_a_call_without_arguments_runs(wire: Wire, folder: Path, pieces: Sequence[str] | None) -> None:
    replies = [wire.reply("", [Made("k1", "now", pieces)], "done"), wire.reply("It is noon.", [], "done")]
    async with talking(wire, folder, *replies) as talk:
        result = await talk.run()
        assert [(name, status) for name, status, _ in talk.records(result)] == [("now", "ok")]
    assert result.text == "It is noon."
    assert [(sent.id, sent.content) for sent in wire.calls(talk.server.asked[1].body)] == [("k1", {})]


NULLS = {
    "chat": b'"arguments": ""',
    "claude": b'"input": {}',
    "gemini": b'"args": {}',
}


@pytest.mark.covers("B24")
@pytest.mark.parametrize("name", list(NULLS))
async def test_arguments_that_are_null_are_none(name: str, folder: Path) -> None:
    wire = WIRES[name]
    first = wire.reply("", [Made("k1", "now", [""])], "done")
    place_, _, _ = NULLS[name].partition(b": ")
    assert NULLS[name] in first.body
    first.body = first.body.replace(NULLS[name], place_ + b": null")
    async with talking(wire, folder, first, wire.reply("It is noon.", [], "done")) as talk:
        result = await talk.run()
        assert [(one, status) for one, status, _ in talk.records(result)] == [("now", "ok")]


@every_wire
async def test_an_unknown_tool_is_answered_and_the_run_goes_on(wire: Wire, folder: Path) -> None:
    calls = [Made("k1", "ad", args(a=1, b=2)), Made("k2", "add", args(a=1, b=2))]
    async with talking(wire, folder, wire.reply("", calls, "done"), wire.reply("3", [], "done")) as talk:
        result = await talk.run()
    assert (result.status, result.text) == ("completed", "3")
    unknown, known = wire.results(talk.server.asked[1].body)
    assert (unknown.id, unknown.name, known.id) == ("k1", "ad", "k2")
    assert "tool.unavailable" in json.dumps(unknown.content)
    assert "did you mean add?" in json.dumps(unknown.content)


@every_wire
async def test_objects_lists_and_large_integers_arrive_as_they_are(wire: Wire, folder: Path) -> None:
    at = {"x": 9007199254740993, "y": -1}
    calls = [Made("k1", "place", args(at=at, tags=["é", "", "你"]))]
    async with talking(wire, folder, wire.reply("", calls, "done"), wire.reply("ok", [], "done")) as talk:
        result = await talk.run()
        ((_, status, told),) = talk.records(result)
    assert status == "ok"
    assert json.loads(told or "") == {"at": at, "tags": ["é", "", "你"]}
    (sent,) = wire.calls(talk.server.asked[1].body)
    assert sent.content == {"at": at, "tags": ["é", "", "你"]}


@pytest.mark.covers("B25")
@pytest.mark.parametrize("name", ["chat", "responses", "claude"])
async def test_arguments_that_were_cut_at_the_limit_are_never_run(name: str, folder: Path) -> None:
    wire = WIRES[name]
    calls = [Made("k1", "add", args(a=1, b=2)), Made("k2", "save", ['{"name": "half of'])]
    replies = [wire.reply("", calls, "length"), wire.reply("I give up.", [], "done")]
    async with talking(wire, folder, *replies) as talk:
        result = await talk.run()
        assert [(one, status) for one, status, _ in talk.records(result)] == [("add", "ok")]
    assert saved == []
    assert result.text == "I give up."
    done, cut = wire.results(talk.server.asked[1].body)
    assert (done.id, cut.id) == ("k1", "k2")
    assert "args.truncated" in json.dumps(cut.content)


async def test_a_whole_call_before_geminis_limit_runs_and_a_malformed_one_is_a_silent_round(
    folder: Path,
) -> None:
    calls = [Made("k1", "add", args(a=1, b=2))]
    malformed = GEMINI.reply("", [], "done")
    malformed.body = malformed.body.replace(b'"STOP"', b'"MALFORMED_FUNCTION_CALL"')
    replies = [GEMINI.reply("", calls, "length"), malformed, GEMINI.reply("3", [], "done")]
    async with talking(GEMINI, folder, *replies) as talk:
        result = await talk.run()
        assert [(one, status) for one, status, _ in talk.records(result)] == [("add", "ok")]
    assert (result.status, result.text) == ("completed", "3")


async def test_gemini_may_leave_the_ids_of_calls_away(folder: Path) -> None:
    parts = [gemini_call(None, "add", args={"a": 1, "b": 2}), gemini_call(None, "add", args={"a": 3, "b": 4})]
    replies = [gemini(*parts), GEMINI.reply("3 and 7", [], "done")]
    async with talking(GEMINI, folder, *replies) as talk:
        result = await talk.run()
        assert [status for _, status, _ in talk.records(result)] == ["ok", "ok"]
    calls, results = GEMINI.calls(talk.server.asked[1].body), GEMINI.results(talk.server.asked[1].body)
    assert len({call.id for call in calls}) == 2
    assert [call.id for call in calls] == [result.id for result in results]


PROBLEMS = [
    (401, "model.unauthorized"),
    (403, "model.unauthorized"),
    (404, "model.unknown"),
    (429, "model.rate_limited"),
    (500, "model.unavailable"),
    (503, "model.unavailable"),
]


@every_wire
@pytest.mark.parametrize(("status", "code"), PROBLEMS)
async def test_an_error_of_the_provider_fails_the_run_with_its_code(
    wire: Wire, folder: Path, status: int, code: str
) -> None:
    reply = wire.problem(status, f"no: {KEY}")
    reply.headers["retry-after"] = "17"
    async with talking(wire, folder, reply) as talk:
        result = await talk.run()
    assert (result.status, result.reason) == ("failed", code)
    assert result.message
    assert KEY not in result.message
    if status == 429:
        assert "wait 17 seconds" in result.message
    assert len(talk.server.asked) == 1


@every_wire
async def test_a_connection_that_drops_in_the_middle_runs_nothing(wire: Wire, folder: Path) -> None:
    whole = wire.reply(
        "Hm.", [Made("k1", "save", args(name="x")), Made("k2", "save", args(name="y"))], "done"
    )
    at = whole.body.index(b"k2")
    dropped = replace(whole, drop=at, headers={"content-length": str(len(whole.body))})
    async with talking(wire, folder, dropped) as talk:
        result = await talk.run()
        assert talk.records(result) == []
    assert result.status == "failed"
    assert result.reason in {"model.unreachable", "model.bad_answer"}
    assert saved == []


@every_wire
async def test_a_stream_that_ends_too_early_runs_nothing(wire: Wire, folder: Path) -> None:
    whole = wire.reply("Hm.", [Made("k1", "save", args(name="x"))], "done")
    pieces = whole.body.replace(b"\r\n\r\n", b"\n\n").split(b"\n\n")
    until = next(number for number, piece in enumerate(pieces) if b"k1" in piece) + 1
    async with talking(wire, folder, Reply(b"\n\n".join(pieces[:until]) + b"\n\n")) as talk:
        result = await talk.run()
        assert talk.records(result) == []
    assert (result.status, result.reason) == ("failed", "model.bad_answer")


@every_wire
async def test_a_chunk_that_is_half_json_runs_nothing(wire: Wire, folder: Path) -> None:
    whole = wire.reply("", [Made("k1", "save", args(name="x"))], "done")
    at = whole.body.index(b"k1")
    async with talking(wire, folder, Reply(whole.body[:at] + b"\n\n")) as talk:
        result = await talk.run()
        assert talk.records(result) == []
    assert result.status == "failed"
    assert str(result.reason).startswith("model.")
