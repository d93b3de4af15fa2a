import json
from typing import Any

import pytest

from callboard.errors import ModelError
from callboard.models import Model, ModelAnswer, ModelRequest
from callboard.testing import ScriptedModel, call, call_raw, calls, text


def asked(agent: str = "main") -> ModelRequest:
    return ModelRequest(agent, [{"role": "user", "content": "go"}])


def nothing(_piece: str) -> None:
    return None


async def test_it_answers_in_order_with_ids_of_its_own() -> None:
    model: Model = ScriptedModel([call("add", a=1, b=2), text("3")])
    first = await model.answer(asked(), nothing)
    second = await model.answer(asked(), nothing)
    assert first.text == ""
    assert [(one["id"], one["name"], json.loads(one["arguments"])) for one in first.calls] == [
        ("call_1", "add", {"a": 1, "b": 2})
    ]
    assert (first.finish_reason, second.finish_reason) == ("tool_call", "stop")
    assert (second.text, second.calls) == ("3", ())


async def test_several_calls_stand_in_one_answer_with_text_beside_them() -> None:
    model = ScriptedModel([calls(call("a", x=1), call_raw("b", '{"broken', id="mine"), say="both")])
    answer = await model.answer(asked(), nothing)
    assert answer.text == "both"
    assert [(one["id"], one["name"], one["arguments"]) for one in answer.calls] == [
        ("call_1", "a", '{"x": 1}'),
        ("mine", "b", '{"broken'),
    ]


async def test_arguments_named_like_the_helpers_own_parameters_pass() -> None:
    model = ScriptedModel([call("t", name="n", id=1, self=2)])
    answer = await model.answer(asked(), nothing)
    assert json.loads(answer.calls[0]["arguments"]) == {"name": "n", "id": 1, "self": 2}


async def test_each_agent_has_its_script_by_path_or_by_last_part() -> None:
    model = ScriptedModel(main=[text("m")], scout=[text("s1"), text("s2")])
    assert (await model.answer(asked("main/scout"), nothing)).text == "s1"
    assert (await model.answer(asked("main"), nothing)).text == "m"
    assert (await model.answer(asked("scout"), nothing)).text == "s2"
    assert [request.agent for request in model.requests] == ["main/scout", "main", "scout"]
    model.assert_complete()


async def test_a_script_that_is_over_names_the_agent() -> None:
    model = ScriptedModel(main=[text("one")])
    await model.answer(asked(), nothing)
    with pytest.raises(ModelError, match=r"script of the agent 'main' is over after 1 request\n") as caught:
        await model.answer(asked(), nothing)
    assert caught.value.code == "model.script_over"
    assert caught.value.hint


async def test_an_agent_without_a_script_is_named_with_those_that_have_one() -> None:
    model = ScriptedModel(main=[text("one")], scout=[])
    with pytest.raises(ModelError, match="no script for the agent 'other'") as caught:
        await model.answer(asked("other"), nothing)
    assert caught.value.hint == "scripts are there for: main, scout"


async def test_assert_complete_names_what_is_left() -> None:
    model = ScriptedModel(main=[text("one"), calls(call("a"), call("b"))], scout=[text("two")])
    await model.answer(asked(), nothing)
    with pytest.raises(AssertionError, match=r"main: calls a \+ b; scout: text 'two'"):
        model.assert_complete()


async def test_text_arrives_in_pieces_that_add_up() -> None:
    heard: list[str] = []
    answer = await ScriptedModel([text(" two  words ")]).answer(asked(), heard.append)
    assert "".join(heard) == answer.text == " two  words "
    assert len(heard) > 1


async def test_a_function_of_the_request_and_an_exception_are_answers_too() -> None:
    def echo(request: ModelRequest) -> Any:
        return text(f"{request.agent} asked")

    model = ScriptedModel([echo, ModelError("down", code="model.unreachable"), lambda _: KeyboardInterrupt()])
    assert (await model.answer(asked(), nothing)).text == "main asked"
    with pytest.raises(ModelError, match="down"):
        await model.answer(asked(), nothing)
    with pytest.raises(KeyboardInterrupt):
        await model.answer(asked(), nothing)


async def test_an_answer_can_be_cut_off_at_the_limit() -> None:
    answer = await ScriptedModel([call_raw("write", '{"path": "a').cut_off()]).answer(asked(), nothing)
    assert answer.truncated
    assert answer.finish_reason == "length"


def test_it_takes_one_script_or_scripts_by_agent_but_not_both_or_none() -> None:
    for build in (lambda: ScriptedModel([], main=[]), ScriptedModel):
        with pytest.raises(ValueError, match="one script, or scripts by agent"):
            build()


async def test_closing_is_noted() -> None:
    model = ScriptedModel([])
    await model.close()
    assert model.closed


async def test_an_answer_survives_its_json_form() -> None:
    answer = await ScriptedModel([calls(call("t", n=2**70), say="é")]).answer(asked(), nothing)
    assert ModelAnswer.from_json(json.loads(json.dumps(answer.to_json()))) == answer
