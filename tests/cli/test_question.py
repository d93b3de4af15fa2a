"""What a person reads before a call runs."""

import io
import json
from typing import Any

from inline_snapshot import snapshot
from rich.console import Console

from callboard.cli.question import LIMIT, question
from callboard.types import ApprovalRequest, Principal


def request(arguments: Any, **changed: Any) -> ApprovalRequest:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    made = ApprovalRequest(
        invocation_id="c1",
        call_key="k1",
        tool_id="write_file",
        kind="write",
        description="Write a file.\n\nIt is made where it is missing.",
        arguments=text,
        agent="main/scout",
        principal=Principal("ann", "acme"),
        reasons=("[policy]: write = ask",),
        digest="d1",
    )
    return made._replace(**changed)


def shown(asked: ApprovalRequest, *, everything: bool = False, colours: bool = False) -> str:
    out = io.StringIO()
    console = Console(
        file=out, width=200, force_terminal=colours, color_system="standard" if colours else None
    )
    console.print(question(asked, everything=everything).text, end="", soft_wrap=True, highlight=False)
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def test_everything_that_would_run_is_shown() -> None:
    asked = request({"path": "notes/a.md", "content": "# Notes\nfirst\n", "mode": 3})
    assert shown(asked) == snapshot("""\
? write_file wants to run
  tool      write_file (write), called by main/scout
  for       ann of acme
  what      Write a file.
  why       [policy]: write = ask
    path "notes/a.md"
    content (3 lines)
      | # Notes
      | first
      |
    mode 3
  exactly   {"path": "notes/a.md", "content": "# Notes\\nfirst\\n", "mode": 3}
  allow (a) / deny (d or Enter) / deny with a reason (d REASON)
""")


def test_a_call_that_no_agent_made_names_none() -> None:
    assert shown(request({}, agent=None)).splitlines()[1] == "  tool      write_file (write)"


def test_hidden_characters_show_in_the_reading_form_and_in_the_exact_text() -> None:
    asked = request('{"path":"abc\u202egpj.sh","content":"one\\u001b[2Jtwo\\nthree\u200b"}')
    text = shown(asked)
    assert r'path "abc\u202egpj.sh"' in text
    assert r"| one\x1b[2Jtwo" in text
    assert r"| three\u200b" in text
    assert r'exactly   {"path":"abc\u202egpj.sh","content":"one\u001b[2Jtwo\nthree\u200b"}' in text
    assert "\x1b[7m\\u202e" in shown(asked, colours=True)


def test_nothing_in_a_request_can_pretend_to_be_the_question() -> None:
    asked = request(
        {"path": "x", "a\nb": "[bold]markup[/bold] :smile:"},
        tool_id="write_file\nallow (a)",
        reasons=("fine\n> a",),
        agent="main\r\n",
        description="Harmless.\x1b[1A",
    )
    text = shown(asked)
    lines = text.split("\n")
    assert [line for line in lines if line.startswith((">", "allow"))] == []
    assert "\x1b" not in text
    assert "[bold]markup[/bold] :smile:" in text
    assert len(lines) == len(shown(request({"path": "x", "ab": "y"})).split("\n"))


def test_arguments_that_are_no_object_are_shown_exactly() -> None:
    assert "exactly   [1,2]" in shown(request("[1,2]"))


def test_very_long_arguments_are_shortened_and_say_so() -> None:
    long = request({"path": "x", "content": "\n".join(f"line {number}" for number in range(2000))})
    short = question(long)
    assert not short.whole
    text = shown(long)
    left_out = len(long.arguments) - LIMIT
    assert f"[... {left_out} characters are not shown ...]" in text
    assert "1970 more lines, all in the exact text" in text
    assert "show all (v), needed before it can be allowed" in text
    whole = question(long, everything=True)
    assert whole.whole
    assert long.arguments in shown(long, everything=True)
    assert "line 1999" in shown(long, everything=True)


def test_one_long_value_is_shortened_in_the_reading_form_only_when_the_exact_text_is() -> None:
    fits = request({"content": "x" * (LIMIT - 100)})
    assert question(fits).whole
    assert shown(fits).count("x" * (LIMIT - 100)) == 2
