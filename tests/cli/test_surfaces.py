"""A run is shown: drawn on a terminal, as plain lines, or as JSON lines."""

import asyncio
import io
import json
import re
from typing import Any

import pytest
from inline_snapshot import snapshot
from rich.console import Console

from callboard.cli import drawing
from callboard.cli.run import follow
from callboard.cli.surfaces import Drawn, JsonLines, Lines, Opening, Surface
from callboard.views import Footer
from tests.cli.told import Script, Told, main_job

OPENING = Opening("r1", "scripted", "--model", "loop", "/srv/work")


async def shown_by(surface: Surface, told: Told | None = None) -> None:
    surface.open(OPENING)
    await asyncio.wait_for(follow(told or Told(*main_job()), surface), timeout=20)


async def test_plain_lines_tell_everything_once_and_without_control_codes() -> None:
    out = io.StringIO()
    await shown_by(Lines(Console(file=out, width=80)))
    assert "\x1b" not in out.getvalue()
    assert out.getvalue() == snapshot("""\
model: scripted (--model)
run: r1, profile loop, workspace /srv/work
| Let me look.
ok         read_file path="notes.md"  (12 ms)
           # Notes
           first\\x1b[2J
denied     write_file path="a.md" content="x"  (12 ms)
           no [permission.denied]
           ask first
ok         add a=1 b=2  (simulated, repaired, 12 ms)
           3
note       `odd` can't be expressed [tool.left_out]
| Done: 3.
completed  2 rounds, 3 calls (1 denied), 21.0 s, 11 output tokens
""")


async def test_json_lines_hold_the_events_and_the_result() -> None:
    out, errors = io.StringIO(), io.StringIO()
    await shown_by(JsonLines(Console(file=errors), out))
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    events, _ = main_job()
    assert lines[0] == {
        "type": "run.opened",
        "id": "r1",
        "model": "scripted",
        "model_reason": "--model",
        "profile": "loop",
        "workspace": "/srv/work",
    }
    assert lines[1:-1] == [event.to_json() for event in events if event.type != "text.delta"]
    assert lines[-1] == {
        "type": "run.result",
        "id": "r1",
        "status": "completed",
        "reason": None,
        "text": "Done: 3.",
        "rounds": 2,
        "usage": {"output_tokens": 11},
        "message": "",
    }
    assert errors.getvalue() == ""


def scrollback(drawn: str) -> list[str]:
    """What stays on the screen: lines that no later frame erased, without colours."""
    lines: list[str] = [""]
    for piece in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", drawn):
        if piece == "\n":
            lines.append("")
        elif piece == "\x1b[2K":
            lines[-1] = ""
        elif piece == "\x1b[1A":
            lines.pop()
        elif not piece.startswith(("\x1b", "\r")):
            lines[-1] += piece
    return [line.rstrip() for line in lines if line.strip()]


async def test_a_terminal_keeps_the_same_lines_in_its_scrollback() -> None:
    plain, drawn = io.StringIO(), io.StringIO()
    await shown_by(Lines(Console(file=plain, width=200)))
    await shown_by(Drawn(Console(file=drawn, width=200, force_terminal=True, color_system=None)))
    assert scrollback(drawn.getvalue()) == [
        line.rstrip() for line in plain.getvalue().splitlines() if line.strip()
    ]


def frame(script: Script) -> str:
    """The part of the screen that moves, after these events."""
    out = io.StringIO()
    surface = Drawn(Console(file=out, width=100, height=20, force_terminal=True, color_system=None))
    surface.open(OPENING)
    for event in script.events:
        surface.show(event)
    before = len(out.getvalue())
    surface.redraw()
    text = out.getvalue()[before:]
    surface.close(None)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", text)


def test_open_calls_and_streamed_text_are_drawn_below() -> None:
    script = Script()
    script.add("model.started", agent="main", model="scripted")
    script.add("text.delta", agent="main", text="Hello\x1b[2J\n" + "\n".join(f"line {n}" for n in range(20)))
    script.add("call.requested", call="m1", tool="read_file", arguments='{"path":"a"}', agent="main")
    fact: dict[str, Any] = {
        "invocation_id": "c2",
        "tool_id": "write_file",
        "kind": "write",
        "arguments": '{"path":"b"}',
        "parents": [],
    }
    script.add("approval.asked", **fact, reasons=["write = ask"])
    drawn = frame(script)
    assert 'pending    read_file path="a"' in drawn
    assert 'waiting    write_file path="b"' in drawn
    assert "line 19" in drawn
    assert "line 11" not in drawn
    assert "thinking: main" in drawn
    assert "[2J" not in drawn


async def test_nothing_is_drawn_while_a_question_is_open() -> None:
    out = io.StringIO()
    surface = Drawn(Console(file=out, width=100, force_terminal=True, color_system=None))
    surface.open(OPENING)
    script = Script()
    script.call("1", "add", "{}", result="3")
    script.add("model.started", agent="main", model="scripted")
    with surface.paused():
        before = out.getvalue()
        for event in script.events:
            surface.show(event)
        surface.redraw()
        assert out.getvalue() == before
    surface.redraw()
    assert "thinking: main" in out.getvalue()
    assert out.getvalue().count("ok         add") == 1
    surface.close(None)
    assert out.getvalue().count("\x1b[?25l") == out.getvalue().count("\x1b[?25h")


async def test_a_text_that_nobody_said_is_printed_at_the_end() -> None:
    events, result = main_job()
    result.text = "notes.md holds 2 lines."
    out = io.StringIO()
    await shown_by(Lines(Console(file=out, width=80)), Told(events, result))
    assert out.getvalue().splitlines()[-3:-1] == ["", "| notes.md holds 2 lines."]


async def test_a_run_that_breaks_gives_the_terminal_back_and_raises() -> None:
    events, _ = main_job()
    out = io.StringIO()
    surface = Drawn(Console(file=out, width=80, force_terminal=True, color_system=None))
    with pytest.raises(RuntimeError, match="broken"):
        await shown_by(surface, Told(events[:4], RuntimeError("broken")))
    assert out.getvalue().count("\x1b[?25l") == out.getvalue().count("\x1b[?25h")


async def test_two_thousand_events_are_shown_in_no_time() -> None:
    script = Script()
    for number in range(500):
        script.call(str(number), "add", '{"a":1}', result=str(number))
    script.add("run.finished", path="end", status="completed", rounds=1)
    _, result = main_job()
    out = io.StringIO()
    await shown_by(Drawn(Console(file=out, width=80, force_terminal=True)), Told(script.events, result))
    assert "499" in out.getvalue()


def test_the_footer_keeps_its_words_apart() -> None:
    usage = {"output_tokens": 1, "unmeasured_requests": 1, "input_tokens": 20}
    state = Footer("budget_exhausted", "wall_clock", rounds=1, usage=usage)
    told = "wall_clock, 1 round, 0 calls, 1 output token, 1 unmeasured request, 20 input tokens"
    assert drawing.footer(state).plain == f"budget exhausted  {told}"


def test_a_line_of_the_terminal_is_one_line() -> None:
    out = io.StringIO()
    Lines(Console(file=out, width=80)).tell('allow   f {"a":\n1}')
    assert out.getvalue() == 'allow   f {"a":\\x0a1}\n'


def test_a_very_long_text_is_drawn_by_its_end() -> None:
    script = Script()
    script.add("text.delta", agent="main", text="x" * 2_000_000 + "\nok         forged\nthe end")
    drawn = frame(script)
    assert "| ok         forged" in drawn
    assert "| the end" in drawn
    assert len(drawn.splitlines()) < 20
