"""The pytest plugin: fixtures for tests of tools. Nothing else is loaded before a test asks for one."""

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from callboard.testing.calling import CallTool
    from callboard.testing.recording import RecordedCalls
    from callboard.testing.scripted import ScriptedModel
    from callboard.testing.tripwire import Tripwire

_checks = pytest.StashKey[list[Callable[[], None]]]()


@pytest.fixture
def call_tool(request: pytest.FixtureRequest) -> "CallTool":
    """Calls a tool through the gate: ``call_tool(tool, arguments)``, or ``await call_tool.wait(...)``."""
    from callboard.testing.calling import CallTool  # noqa: PLC0415 - pytest loads this module in every project

    return CallTool(request.getfixturevalue("tripwire") if "tripwire" in request.fixturenames else None)


@pytest.fixture
def scripted_model(request: pytest.FixtureRequest) -> "Callable[..., ScriptedModel]":
    """Makes a `ScriptedModel`; a test that passes but did not ask for all of its answers fails."""
    from callboard.testing.scripted import ScriptedModel  # noqa: PLC0415

    def made(*script: Any, **agents: Any) -> ScriptedModel:
        model = ScriptedModel(*script, **agents)
        _at_the_end(request, model.assert_complete)
        return model

    return made


@pytest.fixture
def recorded_calls() -> "Generator[RecordedCalls]":
    """What the gate recorded in this test, in all registries and hosts of the process."""
    from callboard.registry.log import listening  # noqa: PLC0415
    from callboard.testing.recording import RecordedCalls  # noqa: PLC0415

    calls = RecordedCalls()
    with listening(calls.hear):
        yield calls


@pytest.fixture
def tripwire(request: pytest.FixtureRequest) -> "Generator[Tripwire]":
    """Fails the test if a call that is simulated or denied writes files, opens sockets or starts programs."""
    from callboard.registry.log import listening  # noqa: PLC0415
    from callboard.testing.tripwire import Tripwire  # noqa: PLC0415

    with ExitStack() as watching:
        wire = watching.enter_context(Tripwire())
        watching.enter_context(listening(wire.hear))
        _at_the_end(request, wire.check)
        yield wire


def _at_the_end(request: pytest.FixtureRequest, check: Callable[[], None]) -> None:
    request.node.stash.setdefault(_checks, []).append(check)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """A test that passed is checked for what its fixtures saw."""
    outcome = yield
    for check in item.stash.get(_checks, ()):
        check()
    return outcome


def pytest_assertrepr_compare(op: str, left: Any, right: Any) -> list[str] | None:
    """How recorded calls differ from the expected ones, call by call."""
    if op != "==" or type(left).__name__ != "RecordedCalls" or not isinstance(right, list | tuple):
        return None
    from callboard.testing.recording import RecordedCalls  # noqa: PLC0415 - loaded already, or it is another

    expected = cast("Sequence[Any]", right)
    return ["recorded calls", *left.compared(expected)] if isinstance(left, RecordedCalls) else None
