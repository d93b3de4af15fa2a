"""Tools that bring their own parser, called by a model: they get the value that its text holds."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from callboard.testing import call_raw, text


def keeping(given: list[Any]) -> SimpleNamespace:
    """A tool in the seeds' plain form, which keeps what its parser is given."""

    def parse_input(raw: Any) -> Any:
        given.append(raw)
        if not isinstance(raw, dict):
            raise ValueError("expected an object")
        return cast("dict[str, Any]", raw)

    def execute(value: dict[str, Any], _ctx: object) -> str:
        return f"noted {len(value)}"

    return SimpleNamespace(
        id="note",
        kind="read",
        parse_input=parse_input,
        execute=execute,
        parse_output=str,
    )


@pytest.mark.parametrize(
    ("arguments", "value"), [('{"a": 1}', {"a": 1}), ("", {}), ("[1]", [1]), ('"x"', "x"), ("{a", "{a")]
)
async def test_the_parser_gets_what_the_models_text_holds(loop: Any, arguments: str, value: Any) -> None:
    given: list[Any] = []
    outcome = await loop([call_raw("note", arguments), text("x")], keeping(given))
    assert outcome.status == "completed"
    assert given == [value]


async def test_what_the_parser_refuses_the_model_is_told(loop: Any) -> None:
    await loop([call_raw("note", "[1]"), text("x")], keeping([]))
    assert "expected an object" in loop.told()[0]
