"""What models really send: broken ids, cut answers, repeated calls, and models that write no prose."""

import asyncio
import json
from typing import Any

import pytest

from callboard.conversation import ToolCall
from callboard.models import ModelAnswer
from callboard.orchestration.history import fill, well_formed
from callboard.testing import call, call_raw, calls, text
from callboard.tools import tool


def _call(id_: str, name: str, arguments: str = "{}") -> ToolCall:
    return {"id": id_, "name": name, "arguments": arguments}


async def test_blank_names_missing_ids_and_ids_used_twice_end_in_a_history_that_providers_take(
    loop: Any,
) -> None:
    script = [
        calls(
            call_raw("echo", '{"a": 1}', id=""),
            call_raw(" ", "{}", id="blank"),
            call_raw("echo", '{"a": 2}', id="same"),
            call_raw(" echo ", '{"a": 3}', id="same"),
        ),
        calls(call_raw("echo", '{"a": 4}', id="same")),
        text("x"),
    ]
    outcome = await loop(script)
    asked = [c for m in outcome.state.messages if m["role"] == "assistant" for c in m["calls"]]
    answered = [m for m in outcome.state.messages if m["role"] == "tool"]
    ids = [c["id"] for c in asked]
    assert [c["name"] for c in asked] == ["echo"] * 4
    assert len(set(ids)) == 4
    assert "same" in ids
    assert [m["call_id"] for m in answered] == ids
    assert [m["content"] for m in answered] == ["echo 1", "echo 2", "echo 3", "echo 4"]


async def test_an_answer_of_nothing_but_a_nameless_call_is_a_silent_round_that_is_told_why(loop: Any) -> None:
    outcome = await loop([call_raw("", "{}"), text("x")])
    assert outcome.value == "x"
    nudge = loop.model.requests[1].messages[-1]["content"]
    assert nudge == "Your last answer held a call without a name. Call a tool, or end with finalize."


def test_made_ids_are_the_same_each_time() -> None:
    answer = [_call("", "a"), _call("", "b"), _call("call-3-1", "c")]
    made = [c["id"] for c, _ in well_formed(answer, {"call-3-2"}, 3)]
    assert made == ["call-3-1", "call-3-2x", "call-3-3"]


@pytest.mark.covers("B31")
async def test_an_invented_name_stands_in_the_history_as_providers_take_it(loop: Any) -> None:
    outcome = await loop([call("functions.find it!" + "x" * 80), text("x")])
    asked = next(m for m in outcome.state.messages if m["role"] == "assistant")
    assert asked["calls"][0]["name"] == "functions_find_it_" + "x" * 46
    assert "functions.find it!" in json.loads(loop.told()[0])["error"]


async def test_arguments_stand_in_the_history_in_one_spelling_and_run_as_they_came(loop: Any) -> None:
    got: list[Any] = []

    @tool(mode="read")
    def take(b: int, a: dict[str, int]) -> None:
        got.append((a, b))

    raw = '{ "b": 1,  "a": {"d": 1, "c": 2}}'
    outcome = await loop([calls(call_raw("take", raw), call_raw("take", "{oops")), text("x")], take)
    asked = next(m for m in outcome.state.messages if m["role"] == "assistant")
    assert [c["arguments"] for c in asked["calls"]] == ['{"a":{"c":2,"d":1},"b":1}', "{oops"]
    assert got == [({"d": 1, "c": 2}, 1)]
    assert json.loads(loop.told()[1])["ok"] is False


async def test_what_the_parser_refuses_goes_back_to_the_model_which_recovers(loop: Any) -> None:
    outcome = await loop([call("echo", a="many"), call("echo", a=3), text("x")])
    refused, given = loop.told()
    assert outcome.status == "completed"
    assert json.loads(refused)["code"] == "args.invalid"
    assert given == "echo 3"


@pytest.mark.covers("B25")
async def test_a_call_whose_arguments_were_cut_off_is_not_made(loop: Any) -> None:
    ran: list[Any] = []

    @tool
    def shell(commands: list[str]) -> str:
        ran.append(commands)
        return "done"

    cut = calls(
        call_raw("shell", '{"commands": ["ls"]}'),
        call_raw("shell", '{"commands":["npm install","npm te'),
        finish_reason="length",
    )
    outcome = await loop([cut, text("x")], shell)
    assert ran == [["ls"]]
    assert outcome.status == "completed"
    whole, told = loop.told()
    assert whole == "done"
    assert json.loads(told)["code"] == "args.truncated"


@pytest.mark.covers("B25")
@pytest.mark.parametrize(
    ("arguments", "made"), [("", False), ("{", False), ('{"text": "x"}', True), ("{}", True)]
)
async def test_of_a_cut_answer_only_whole_arguments_run(loop: Any, arguments: str, made: bool) -> None:
    ran: list[str] = []

    @tool
    def note(text: str = "nothing") -> None:
        ran.append(text)

    await loop([calls(call_raw("note", arguments), finish_reason="length"), text("x")], note)
    assert bool(ran) is made


async def test_reads_that_follow_each_other_run_together_and_are_answered_in_order(loop: Any) -> None:
    both = asyncio.Barrier(2)
    order: list[str] = []

    @tool(mode="read")
    async def meet(name: str) -> str:
        async with asyncio.timeout(5):
            await both.wait()
        order.append(name)
        return name

    @tool
    async def write(name: str) -> str:
        order.append(name)
        return name

    answer = calls(
        call("write", name="1"),
        call("meet", name="2"),
        call("meet", name="3"),
        call("write", name="4"),
        call("write", name="5"),
    )
    await loop([answer, text("x")], meet, write)
    assert loop.told() == ["1", "2", "3", "4", "5"]
    assert order[0] == "1"
    assert sorted(order[1:3]) == ["2", "3"]
    assert order[3:] == ["4", "5"]


async def test_the_same_calls_with_the_same_results_are_noticed_and_at_last_end_the_run(loop: Any) -> None:
    outcome = await loop([call("echo", a=1)] * 5)
    assert (outcome.status, outcome.reason, outcome.rounds) == ("budget_exhausted", "repeated_calls", 5)
    remarks = [m["content"] for m in outcome.state.messages[2:] if m["role"] == "user"]
    assert len(remarks) == 3
    assert remarks[0].startswith("You made the same calls 3 times in a row")


async def test_a_call_repeated_with_another_result_or_other_arguments_is_none(loop: Any) -> None:
    count = 0

    @tool(mode="read")
    def poll() -> str:
        nonlocal count
        count += 1
        return f"try {count}"

    script = [call("poll")] * 6 + [call("echo", a=n) for n in range(6)] + [text("x")]
    outcome = await loop(script, poll)
    assert outcome.value == "x"
    assert not [m for m in outcome.state.messages[2:] if m["role"] == "user"]


async def test_a_model_without_prose_ends_with_an_empty_answer_and_its_results_are_the_text(
    loop: Any,
) -> None:
    @tool(mode="read")
    def find(word: str) -> dict[str, Any]:
        return {"word": word, "hits": [{"file": "a.txt", "line": 3}, {"file": "b.txt", "line": 1}]}

    loop.finishes_with_text = False
    outcome = await loop([call("find", word="x"), call("echo", a=2), text("")], find)
    assert (outcome.status, outcome.rounds) == ("completed", 3)
    assert outcome.value == (
        "echo (a: 2)\n"
        "  echo 2\n"
        "\n"
        "find (word: x)\n"
        "  word: x\n"
        "  hits:\n"
        "    - file: a.txt\n"
        "      line: 3\n"
        "    - file: b.txt\n"
        "      line: 1"
    )
    assert [t.name for t in loop.model.requests[0].tools] == ["echo", "find"]


async def test_a_model_without_prose_that_called_nothing_says_so(loop: Any) -> None:
    loop.finishes_with_text = False
    outcome = await loop([text("")])
    assert "The model called no tool, so there is no result to show." in outcome.value
    assert "choose another model with --model" in outcome.value


async def test_a_model_without_prose_that_runs_out_of_rounds_still_shows_its_results(loop: Any) -> None:
    loop.finishes_with_text = False
    outcome = await loop([call("echo", a=1), call("echo", a=2)], max_rounds=2)
    assert outcome.status == "budget_exhausted"
    assert "echo 1" in outcome.value


async def test_failures_and_odd_values_are_readable_in_a_rendered_text(loop: Any) -> None:
    @tool(mode="read")
    def broken() -> str:
        raise ValueError("no such file")

    @tool(mode="read")
    def odd() -> dict[str, Any]:
        return {"none": None, "empty": [], "text": "two\nlines", "n": [1, [2, 3]]}

    loop.finishes_with_text = False
    outcome = await loop([calls(call("broken"), call("odd")), text("")], broken, odd)
    assert outcome.value == (
        "broken\n"
        "  failed: no such file\n"
        "\n"
        "odd\n"
        "  none: null\n"
        "  empty: none\n"
        "  text:\n"
        "    two\n"
        "    lines\n"
        "  n:\n"
        "    - 1\n"
        "    - - 2\n"
        "      - 3"
    )


def test_a_template_is_filled_in_a_single_pass() -> None:
    assert fill("{{a}} {{ b }} {{c}}", {"a": "{{b}}", "b": "B"}) == "{{b}} B {{c}}"


def test_a_model_answer_survives_its_record() -> None:
    answer = ModelAnswer("t", (_call("1", "a"),), {"input_tokens": 3}, "stop", "m")
    assert ModelAnswer.from_json(json.loads(json.dumps(answer.to_json()))) == answer


@pytest.mark.parametrize("code", [0xD83D, 0xDE00])
async def test_half_a_character_in_an_answer_does_not_end_the_conversation(loop: Any, code: int) -> None:
    half = chr(code)
    broken = calls(
        call_raw("echo", '{"a": 1}', id=f"id{half}"),
        call_raw(f"echo{half}", "{}"),
        call_raw("echo", f'{{"a": "{half}"}}'),
        call_raw("echo", f'{{"a": "\\u{code:x}"}}'),
        say=f"hm {half}",
    )

    outcome = await loop([broken, text("x")])

    json.dumps(outcome.state.messages, ensure_ascii=False).encode()
    json.dumps([event.to_json() for event in loop.events], ensure_ascii=False).encode()
    said = next(m for m in outcome.state.messages if m["role"] == "assistant")
    assert (outcome.status, said["content"]) == ("completed", "hm \ufffd")
    assert [json.loads(told)["ok"] if told[0] == "{" else told for told in loop.told()] == [
        "echo 1",
        *[False] * 3,
    ]


async def test_half_a_character_in_what_an_embedder_gives_is_replaced_too(loop: Any) -> None:
    history = [
        {"role": "user", "content": "a\ud83d"},
        {"role": "assistant", "content": "", "calls": [_call("c\ud83d", "echo", '"\ud83d"')]},
    ]

    outcome = await loop([text("x")], goal="b\ude00", history=history)

    json.dumps(loop.model.requests[0].messages, ensure_ascii=False).encode()
    assert outcome.status == "completed"
    assert loop.model.requests[0].messages[-1]["content"] == "b\ufffd"


async def test_of_very_many_calls_in_one_answer_only_the_first_are_made(loop: Any) -> None:
    ran: list[int] = []

    @tool
    def note(n: int) -> int:
        ran.append(n)
        return n

    outcome = await loop([calls(*[call("note", n=n) for n in range(1_000)]), text("x")], note)

    assert (outcome.status, ran) == ("completed", list(range(64)))
    told = loop.told()
    assert len(told) == 1_000
    assert {json.loads(answer)["code"] for answer in told[64:]} == {"call.too_many"}


async def test_a_cut_call_among_too_many_is_not_made_either(loop: Any) -> None:
    many = [call("echo", a=n) for n in range(70)]

    outcome = await loop([calls(*many, call_raw("echo", '{"a": '), finish_reason="length"), text("x")])

    codes = [json.loads(answer)["code"] for answer in loop.told()[64:]]
    assert (outcome.status, codes) == ("completed", ["call.too_many"] * 7)
