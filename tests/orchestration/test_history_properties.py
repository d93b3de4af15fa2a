"""For any conversation, however broken: what is handed to a provider has one answer for each call."""

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from callboard.conversation import Message
from callboard.orchestration.history import closed, digest, fill, spelled, well_formed

IDS = st.sampled_from(["", " ", "a", "b", "c", "call-1-1", "call-1-2"])
NAMES = st.one_of(st.sampled_from(["", " ", "echo", "a b"]), st.text(max_size=80))
ARGUMENTS = st.one_of(st.sampled_from(["", "{}", '{"b":1,"a":2}', "{oops"]), st.text(max_size=20))
CALLS = st.fixed_dictionaries({"id": IDS, "name": NAMES, "arguments": ARGUMENTS})
MESSAGES: st.SearchStrategy[Any] = st.one_of(
    st.fixed_dictionaries({"role": st.just("user"), "content": st.text(max_size=5)}),
    st.fixed_dictionaries(
        {
            "role": st.just("assistant"),
            "content": st.just(""),
            "calls": st.lists(CALLS, max_size=3, unique_by=lambda call: call["id"]),
        },
    ),
    st.fixed_dictionaries(
        {"role": st.just("tool"), "call_id": IDS, "name": st.just("echo"), "content": st.just("x")}
    ),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(MESSAGES, max_size=12))
def test_every_call_of_a_closed_conversation_is_answered_once_and_at_once(messages: list[Message]) -> None:
    made = closed(messages)
    open_: list[str] = []
    for message in made:
        if message["role"] == "tool":
            open_.remove(message["call_id"])
            continue
        assert open_ == []
        if message["role"] == "assistant":
            open_ = [call["id"] for call in message["calls"]]
    assert open_ == []
    assert [m for m in made if m["role"] != "tool"] == [m for m in messages if m["role"] != "tool"]
    assert closed(made) == made


@settings(max_examples=200, deadline=None)
@given(st.lists(CALLS, max_size=6), st.sets(IDS), st.integers(1, 3))
def test_the_calls_of_any_answer_have_ids_of_their_own_and_names_that_providers_take(
    calls: list[Any], used: set[str], round_: int
) -> None:
    made = well_formed(calls, used, round_)
    ids = [call["id"] for call, _ in made]
    assert len(set(ids)) == len(ids)
    assert not set(ids) & used
    assert all(call["id"].strip() for call, _ in made)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call["name"]) for call, _ in made)
    assert [raw for _, raw in made] == [call["arguments"] for call in calls if call["name"].strip()]
    assert made == well_formed(calls, used, round_)


@given(st.text())
def test_arguments_in_one_spelling_stay_in_it(arguments: str) -> None:
    assert spelled(spelled(arguments)) == spelled(arguments)


@given(st.dictionaries(st.sampled_from("abc"), st.text(alphabet="{}abc ", max_size=12)))
def test_what_a_template_is_filled_with_is_never_filled_itself(values: dict[str, str]) -> None:
    places = {"a": "{{a}}", "b": "{{ b }}", "c": "{{c}}"}
    filled = "|".join(values.get(name, place) for name, place in places.items())
    assert fill("|".join(places.values()), values) == filled


def test_a_rolling_digest_depends_on_all_that_was_said() -> None:
    one: Message = {"role": "user", "content": "1"}
    two: Message = {"role": "user", "content": "2"}
    assert digest(digest("", [one]), [two]) != digest(digest("", [two]), [one])
    assert digest(digest("", [one]), [two]) == digest(digest("", [one]), [two])
