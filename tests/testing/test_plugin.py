"""The pytest plugin, as a project that tests its tools sees it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
PLAIN = ("-p", "no:asyncio", "-p", "no:randomly", "-p", "no:xdist", "-p", "no:cacheprovider")
WITH = ("-p", "callboard.testing.plugin", *PLAIN)
HEAD = """
import pytest
from callboard import ToolError, ToolRegistry, tool
from callboard.testing import call, text

@tool
def save(name: str) -> str:
    "Save it."
    return f"saved {name}"

@tool(mode="read")
async def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b
"""


def ran(pytester: pytest.Pytester, body: str) -> pytest.RunResult:
    """In a process of its own: in this one pytester takes back imports, which SQLAlchemy does not survive."""
    pytester.makepyfile(HEAD + body)
    return pytester.runpytest_subprocess("-q", "-W", "error", *WITH)


def ended(result: pytest.RunResult, **outcomes: int) -> None:
    assert result.parseoutcomes() == outcomes


def test_the_example_of_the_docs_passes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_notes=(ROOT / "docs_src/test_notes.py").read_text())
    ended(pytester.runpytest_subprocess("-q", "-W", "error", *WITH), passed=4)


def test_a_tool_is_called_through_the_gate(pytester: pytest.Pytester) -> None:
    result = ran(
        pytester,
        """
from callboard import Principal

def test_sync(call_tool):
    result = call_tool(save, {"name": "x"})
    assert (result.value, result.invocation.status, result.invocation.verdict) == ("saved x", "ok", "allow")
    assert "approved by the test" in result.invocation.reasons

def test_coroutine_tools_need_no_loop(call_tool):
    assert call_tool(add, '{"a": 1, "b": 2}').value == 3

def test_plain_functions(call_tool):
    def shout(word: str) -> str:
        return word.upper()
    assert call_tool(shout, {"word": "a"}).value == "A"

def test_wrong_arguments(call_tool):
    with pytest.raises(ToolError) as caught:
        call_tool(add, {"a": 1, "c": 2})
    assert caught.value.code == "args.unknown"

@pytest.mark.parametrize("approve", [False, None])
def test_denied(call_tool, approve):
    with pytest.raises(ToolError) as caught:
        call_tool(save, {"name": "x"}, approve=approve)
    assert caught.value.invocation.status == "denied"

def test_simulated(call_tool):
    result = call_tool(save, {"name": "x"}, simulate=True)
    assert result.invocation.simulated

def test_principal(call_tool):
    assert call_tool(add, {"a": 1, "b": 2}, principal=Principal("ada")).invocation.principal == ("ada", None)

def test_inside_a_loop(call_tool):
    import asyncio
    async def inner():
        assert (await call_tool.wait(add, {"a": 1, "b": 2})).value == 3
        with pytest.raises(RuntimeError, match="await call_tool.wait"):
            call_tool(add, {"a": 1, "b": 2})
    asyncio.run(inner())
""",
    )
    ended(result, passed=9)


def test_recorded_calls_are_compared_call_by_call(pytester: pytest.Pytester) -> None:
    result = ran(
        pytester,
        """
early = ToolRegistry().register_all([save, add])

def test_same(call_tool, recorded_calls):
    early.invoke("save", {"name": "a"})
    ToolRegistry().register(save).invoke("save", {"name": "b"})
    with pytest.raises(ToolError):
        call_tool(save, {"name": "c"}, approve=False)
    assert recorded_calls == [("save", {"name": "a"}), ("save",), ("save", {"name": "c"}, "denied")]
    assert [one.result for one in recorded_calls.of("save")] == ["saved a", "saved b", None]
    assert recorded_calls[-1].code and len(recorded_calls) == 3

def test_fresh(recorded_calls):
    assert recorded_calls == []

def test_other(call_tool, recorded_calls):
    call_tool(save, {"name": "a"})
    call_tool(add, {"a": 1, "b": 2})
    assert recorded_calls == [("save", {"name": "a"}), ("add", {"a": 1, "b": 3}), ("save", {"name": "x"})]
""",
    )
    ended(result, passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "E * recorded calls",
            'E *   1. save {"name": "a"} ok',
            'E * - 2. add {"a": 1, "b": 2} ok',
            'E * + 2. add {"a": 1, "b": 3} ok',
            "E * - 3. no call",
            'E * + 3. save {"name": "x"} ok',
        ]
    )


def test_a_script_that_is_not_asked_to_its_end_fails_the_test(pytester: pytest.Pytester) -> None:
    result = ran(
        pytester,
        """
def test_left_over(scripted_model):
    scripted_model([call("add", a=1, b=2), text("3")])

def test_its_own_failure_comes_first(scripted_model):
    scripted_model([text("3")])
    assert 1 == 2, "mine"

def test_by_agent(scripted_model):
    assert scripted_model(main=[], name="tiny").name == "tiny"
""",
    )
    ended(result, passed=1, failed=2)
    result.stdout.fnmatch_lines(["E * the scripted model was not asked for: the script: calls add, text '3'"])
    result.stdout.fnmatch_lines(["E * AssertionError: mine"])


def test_a_project_that_does_not_use_it_notices_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
import sys

def test_nothing_is_loaded():
    assert "callboard.testing.scripted" not in sys.modules
    assert "callboard.registry" not in sys.modules
    assert "callboard.errors" not in sys.modules

def test_own_comparison():
    assert [1] == [2]
"""
    )
    result = pytester.runpytest_subprocess("-q", *WITH)
    ended(result, passed=1, failed=1)
    result.stdout.fnmatch_lines(["E * At index 0 diff: 1 != 2"])


def test_the_plugin_itself_loads_four_small_modules() -> None:
    program = (
        "import sys, pytest, typing, contextlib\n"
        "before = set(sys.modules)\n"
        "import callboard.testing.plugin\n"
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    loaded = ["callboard", "callboard.lazy", "callboard.testing", "callboard.testing.plugin"]
    assert done.stdout.strip() == str(loaded)


def test_listening_ends_with_the_test(pytester: pytest.Pytester) -> None:
    result = ran(
        pytester,
        """
from callboard.registry import log

def test_one(recorded_calls, tripwire):
    assert len(log._everywhere) == 2

def test_two():
    assert not log._everywhere
    registry = ToolRegistry().register(save)
    assert registry._log._listeners == ()
""",
    )
    ended(result, passed=2)
