"""What a host explains of a run's call is what the run's call then comes to."""

import asyncio
import itertools
from pathlib import Path

import pytest

from callboard import Host, tool
from callboard.calls.explaining import Explanation
from callboard.errors import ConfigError
from callboard.store import CallFilter
from callboard.testing import ScriptedModel, text
from callboard.testing.scripted import call_raw
from callboard.types import ApprovalAnswer, ApprovalRequest

BOUND = 60.0
CONFIG = """
[profiles.free]
writes = "allow"

[profiles.asking]
writes = "ask"

[profiles.small]
tools = ["add", "read_file"]
"""
POLICIES = {"default": "", "closed": '[policy]\nwrite = "deny"\n', "careful": '[policy]\nread = "ask"\n'}


@tool(mode="read")
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
def save(text: str) -> str:
    """Save."""
    return text


@tool(mode="read", agents=["scout"])
def spy() -> str:
    """Spy."""
    return ""


class Counting:
    """Agrees, and counts."""

    def __init__(self) -> None:
        self.asked = 0

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked += 1
        return ApprovalAnswer(allowed=True, digest=request.digest, by="counting")


CALLS = [
    ("add", '{"a": 1, "b": 2}'),
    ("add", '{"a": "1", "b": 2}'),
    ("add", '{"a": "x"}'),
    ("save", '{"text": "x"}'),
    ("save", "{}"),
    ("spy", "{}"),
    ("read_file", '{"path": "a.txt"}'),
    ("write_file", '{"path": "b.txt", "content": "x"}'),
    ("nope", "{}"),
]


async def made(host: Host, name: str, raw: str, profile: str, *, simulate: bool) -> tuple[str, str | None]:
    """The same call in a run, in the words of an explanation."""
    approver = Counting()
    model = ScriptedModel([call_raw(name, raw), text("done")])
    run = await host.run("x", model=model, profile=profile, approver=approver, simulate=simulate)
    [record] = host.store.calls.list(CallFilter(run=run.id))
    code = None if record["failure"] is None else record["failure"]["code"]
    if code is None:
        return ("ask" if approver.asked else "allow"), None
    denied = record["status"] == "denied" or code == "tool.unavailable"
    return ("deny" if denied else "fail"), code


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("profile", ["loop", "free", "asking", "small"])
async def test_a_runs_call_comes_to_what_was_explained(tmp_path: Path, profile: str, policy: str) -> None:
    (tmp_path / "callboard.toml").write_text(CONFIG + POLICIES[policy])
    (tmp_path / "a.txt").write_text("a")
    async with asyncio.timeout(BOUND), Host(tmp_path, tools=[add, save, spy]) as host:
        for (name, raw), simulate in itertools.product(CALLS, (False, True)):
            told = await host.explain(name, raw, profile=profile, approver=Counting(), simulate=simulate)
            then = await made(host, name, raw, profile, simulate=simulate)
            assert (told.verdict, told.code) == then, (name, raw, simulate, told.steps)


async def test_the_profile_decides_and_its_own_tools_need_no_gate(tmp_path: Path) -> None:
    (tmp_path / "callboard.toml").write_text(CONFIG)

    async def told(name: str, profile: str = "loop") -> Explanation:
        return await host.explain(name, {"text": "x"}, profile=profile)

    async with Host(tmp_path, tools=[save]) as host:
        assert (await told("save", profile="free")).reasons == ("the profile's writes: write = allow",)
        assert (await told("save")).code == "approval.no_approver"
        assert (await told("finalize")).verdict == "allow"
        with pytest.raises(ConfigError, match="there is no profile 'fre'; did you mean 'free'"):
            await told("save", profile="fre")
        assert not (tmp_path / ".callboard").exists()
