"""Facts are plain data."""

import json

import pytest

from callboard.conversation import (
    Audio,
    ContentPart,
    Image,
    Resource,
    Text,
    part_from_json,
    part_to_json,
    text_of,
)
from callboard.events import CallStarted, Failure, RunEvent, ToolCallRecord, call_event_to_json

RECORD = ToolCallRecord(
    "i", "add", "read", "k", ("p",), ("ada", None), "main", 1, 2, "failed", "{}", False, False, False,
    "allow", ("why",), None, Failure("c", "m", None),
)  # fmt: skip


def test_a_record_is_json() -> None:
    made = json.loads(json.dumps(call_event_to_json(RECORD)))

    assert made["type"] == "call.finished"
    assert made["failure"] == {"code": "c", "message": "m", "hint": None}
    assert (made["parents"], made["principal"], made["reasons"]) == (["p"], ["ada", None], ["why"])


def test_a_start_is_json() -> None:
    started = CallStarted("i", "add", "read", "k", (), None, None, 1, "{}", False, False, "allow", ())

    assert json.loads(json.dumps(call_event_to_json(started)))["type"] == "call.started"


def test_an_event_of_a_run_keeps_its_envelope_apart_from_its_data() -> None:
    event = RunEvent("r", "ask#1", 1, "notice", 1.5, {"seq": "mine"})

    assert event.to_json() == {
        "v": 1, "seq": 0, "run": "r", "path": "ask#1", "n": 1, "type": "notice", "at": 1.5,
        "data": {"seq": "mine"},
    }  # fmt: skip


PARTS: list[ContentPart] = [
    Text("a", metadata={"label": "x"}),
    Image(b"\x00\x01"),
    Audio(b"\x02", "audio/ogg"),
    Resource("file:///a", "text/plain", "hello"),
    Resource("file:///b", data=b"\x03"),
]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_comes_back_from_json(part: ContentPart) -> None:
    assert part_from_json(json.loads(json.dumps(part_to_json(part)))) == part


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(ValueError, match="smell"):
        part_from_json({"type": "smell"})


def test_a_reader_of_text_gets_handles_in_place() -> None:
    assert (
        text_of(PARTS)
        == "a\n[image image/png, 2 bytes]\n[audio audio/ogg, 1 bytes]\nhello\n[resource file:///b]"
    )
