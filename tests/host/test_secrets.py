"""Secrets in runs: nothing of them in the store, the events, the conversation, or later calls of the run."""

import asyncio
import base64
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import pytest

from callboard import Host, Injected, Principal, ToolContext, ToolError, ToolRegistry, secret, tool
from callboard.config import Config, load
from callboard.events import ToolCallRecord
from callboard.models import ModelRequest
from callboard.testing import ScriptedModel, call, calls, text
from callboard.types import ApprovalAnswer, ApprovalRequest, ExecutionOptions

BOUND = 20.0
KEY = 'sk-live "QZ0KXW\\VJ7HGQ" é/ZPQWX+'
Token = Annotated[str, secret("SERVICE_TOKEN")]


def spelled() -> list[bytes]:
    """What must not be found on disk."""
    forms = [
        KEY,
        json.dumps(KEY)[1:-1],
        json.dumps(KEY, ensure_ascii=False)[1:-1],
        quote(KEY),
        "QZ0KXW",
        "VJ7HGQ",
        "ZPQWX",
    ]
    made = [form.encode() for form in forms]
    encoded = base64.b64encode(f"user:{KEY}".encode())[8:-4]
    return [*made, base64.b64encode(KEY.encode())[:-4], encoded, repr(KEY)[1:-1].encode()]


def written(folder: Path) -> bytes:
    """All that lies in the state folder."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


@tool
def publish(text: str, token: Token, ctx: ToolContext) -> dict[str, Any]:
    """Publish."""
    ctx.report({"sending": text, "with": token})
    ctx.logger.warning("sending with %s", token)
    if text == "fail":
        raise RuntimeError(f"the service refused {token!r}: {json.dumps({'key': token})}")
    if text == "large":
        return {"large": ["x" * 50_000, token, "y" * 100_000, f"end {token}"]}
    return {
        "sent": text,
        "request": {"Authorization": f"Bearer {token}"},
        "url": f"https://x.org/?k={quote(token)}",
    }


@tool(mode="read")
def steps(token: Token) -> Iterator[str]:
    """Step."""
    yield f"one {token}"
    yield base64.b64encode(f"user:{token}".encode()).decode()


class Yes:
    def __init__(self) -> None:
        self.asked: list[ApprovalRequest] = []

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        return ApprovalAnswer(True, request.digest, by="test")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load(cwd=tmp_path)


def nothing(*_: object) -> None:
    """A source that has no secret at all."""


def telling(seen: list[str]) -> Any:
    """The last answer of a script; notes what it was asked."""

    def last(request: ModelRequest) -> Any:
        seen.append(repr(request))
        return text("done")

    return last


def keys(name: str, principal: Principal | None) -> str | None:
    return KEY if name == "SERVICE_TOKEN" else None


async def test_nothing_of_a_secret_is_on_disk_or_in_front_of_the_model_after_a_run(
    config: Config, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    async def around(token: Token) -> str:
        """Call another."""
        return (await host.registry.invoke_async("publish", {"text": token})).value["sent"]

    requests: list[str] = []
    model = ScriptedModel(
        [
            calls(call("publish", text="a"), call("publish", text="fail"), call("steps")),
            call("publish", text="large"),
            call("around"),
            telling(requests),
        ]
    )
    asker = Yes()

    async with Host(config, tools=[publish, steps, around], approver=asker, secrets=keys) as host:
        handle = host.start("publish it", model=model, principal=Principal("ada"))
        events = [event async for event in handle.events()]
        result = await asyncio.wait_for(handle.result(), BOUND)
        statuses = {event.status for event in host.registry.events if isinstance(event, ToolCallRecord)}

    assert result.status == "completed"
    assert statuses == {"ok", "failed"}
    told = "\n".join(map(repr, (events, result, requests, asker.asked))) + caplog.text
    assert "***" in told
    disk = written(config.state_folder)
    assert b"***" in disk
    for form in spelled():
        assert form not in disk
        assert form.decode() not in told.replace("\\\\", "\\")


async def test_a_secret_that_a_call_left_in_a_file_stays_out_of_later_calls_of_the_run(
    config: Config, tmp_path: Path
) -> None:
    @tool
    def clone(token: Token) -> str:
        """Clone."""
        (tmp_path / "settings.txt").write_text(f"url = https://user:{token}@example.org")
        return "cloned"

    seen: list[str] = []
    model = ScriptedModel([call("clone"), call("read_file", path="settings.txt"), telling(seen)])
    secrets = {"SERVICE_TOKEN": "sk-0123456789abcdef"}

    async with Host(config, tools=[clone], approver=Yes(), secrets=lambda name, _: secrets.get(name)) as host:
        result = await asyncio.wait_for(host.run("clone", model=model), BOUND)

    assert result.status == "completed"
    assert "url = https://user:***" in seen[0]
    assert "sk-0123456789abcdef" not in seen[0]
    assert b"sk-0123456789abcdef" not in written(config.state_folder)


async def test_direct_calls_of_a_host_get_secrets_and_injected_values_and_record_neither(
    config: Config,
) -> None:
    @tool(mode="read")
    def use(user: Injected[dict[str, str]], token: Token) -> list[str]:
        return [user["name"], token]

    async with Host(config, tools=[use], secrets=keys, injected={"user": {"name": "ada"}}) as host:
        usual = await host.registry.invoke_async("use")
        own = await host.registry.invoke_async(
            "use", execution=ExecutionOptions(injected={"user": {"name": "bea"}})
        )
        sync = host.registry.invoke("use")

    assert [each.value for each in (usual, own, sync)] == [["ada", KEY], ["bea", KEY], ["ada", KEY]]
    assert usual.text == '["ada","***"]'
    for form in spelled():
        assert form not in written(config.state_folder)


async def test_a_run_gives_its_principal_to_the_source_of_secrets_and_to_makers(config: Config) -> None:
    asked: list[Any] = []

    async def resolve(name: str, principal: Principal | None) -> str:
        asked.append((name, principal))
        return "a-secret-of-ada"

    @tool(mode="read")
    async def use(user: Injected[str], token: Token) -> list[Any]:
        """Use."""
        return [user, len(token)]

    def user(ctx: ToolContext) -> str:
        return f"{ctx.principal.user} in {type(ctx.run).__name__}" if ctx.principal else "nobody"

    told: list[str] = []
    model = ScriptedModel([call("use"), telling(told)])

    async with Host(config, tools=[use], secrets=resolve, injected={"user": user}) as host:
        await asyncio.wait_for(host.run("use", model=model, principal=Principal("ada", "acme")), BOUND)

    assert asked == [("SERVICE_TOKEN", Principal("ada", "acme"))]
    assert "ada in _RunFacts" in told[0]


async def test_a_missing_secret_is_a_failure_that_the_run_survives(config: Config) -> None:
    seen: list[str] = []
    model = ScriptedModel([call("steps"), telling(seen)])

    async with Host(config, tools=[steps], secrets=nothing) as host:
        result = await asyncio.wait_for(host.run("go", model=model), BOUND)

    assert result.status == "completed"
    assert "secret.missing" in seen[0]


async def test_a_simulated_run_delivers_a_writes_secret_to_no_one(config: Config) -> None:
    asked: list[str] = []

    def resolve(name: str, _: object) -> str:
        asked.append(name)
        return KEY

    model = ScriptedModel([call("publish", text="a"), text("done")])

    async with Host(config, tools=[publish], approver=Yes(), secrets=resolve) as host:
        result = await asyncio.wait_for(host.run("publish", model=model, simulate=True), BOUND)

    assert result.status == "completed"
    assert asked == []


def test_a_tool_that_prints_its_secret_in_a_plain_registry_logs_stars(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(ToolError):
        ToolRegistry(secrets=keys).register(publish).invoke("publish", {"text": "fail"})

    assert "sending with ***" in caplog.text
    assert "QZ0KXW" not in caplog.text
