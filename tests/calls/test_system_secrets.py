"""Where secrets come from when the host does not say: the environment, then the keyring."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Annotated, Any

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail
from keyring.errors import KeyringLocked

from callboard import ToolError, ToolRegistry, secret, tool
from callboard.registry import system_secrets
from tests.calls.surroundings import BOUND, code_of, registry


class Drawer(KeyringBackend):
    """A keyring in memory."""

    priority = 1  # type: ignore[assignment]

    def __init__(self, held: dict[tuple[str, str], str]) -> None:
        super().__init__()
        self.held = held
        self.threads: list[str] = []

    def get_password(self, service: str, username: str) -> str | None:
        self.threads.append(threading.current_thread().name)
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.held[service, username]


class Locked(Drawer):
    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("the password of the keyring is hunter2")


@pytest.fixture
def drawer() -> Iterator[Drawer]:
    before = keyring.get_keyring()
    made = Drawer({("callboard", "CALLBOARD_TEST_TOKEN"): "from-the-keyring"})
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


@tool(mode="read")
def length(token: Annotated[str, secret("CALLBOARD_TEST_TOKEN")]) -> int:
    return len(token)


async def test_the_environment_comes_before_the_keyring(
    drawer: Drawer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALLBOARD_TEST_TOKEN", "environment")
    tools = registry(length)

    assert tools.invoke("length").value == len("environment")
    assert (await tools.invoke_async("length")).value == len("environment")
    assert drawer.threads == []


@pytest.mark.parametrize("empty", [True, False])
async def test_the_keyring_serves_what_the_environment_lacks(
    drawer: Drawer, monkeypatch: pytest.MonkeyPatch, *, empty: bool
) -> None:
    if empty:
        monkeypatch.setenv("CALLBOARD_TEST_TOKEN", "")
    tools = registry(length)

    assert (await asyncio.wait_for(tools.invoke_async("length"), BOUND)).value == len("from-the-keyring")
    assert drawer.threads == ["callboard-tool"]  # it may ask its user: the event loop goes on


def test_a_sync_call_asks_the_keyring_in_its_own_thread(drawer: Drawer) -> None:
    assert registry(length).invoke("length").value == len("from-the-keyring")
    assert drawer.threads == [threading.current_thread().name]


def test_a_secret_is_fetched_for_each_call_and_never_at_registration(
    monkeypatch: pytest.MonkeyPatch, drawer: Drawer
) -> None:
    drawer.held.clear()
    tools: ToolRegistry = ToolRegistry().register(length)
    with pytest.raises(ToolError) as caught:
        tools.invoke("length")
    assert caught.value.code == "secret.missing"
    assert caught.value.hint == (
        "set CALLBOARD_TEST_TOKEN in the environment, or store it with "
        "`keyring set callboard CALLBOARD_TEST_TOKEN`"
    )

    for value in ("first-value", "the-second-value"):
        monkeypatch.setenv("CALLBOARD_TEST_TOKEN", value)
        assert tools.invoke("length").value == len(value)


async def test_a_machine_without_a_keyring_has_no_secret_there(drawer: Drawer) -> None:
    keyring.set_keyring(fail.Keyring())

    assert await code_of(registry(length).invoke_async("length")) == "secret.missing"


async def test_a_locked_keyring_fails_the_call_without_a_word_of_its_own(drawer: Drawer) -> None:
    keyring.set_keyring(Locked({}))
    tools = registry(length)

    assert await code_of(tools.invoke_async("length")) == "secret.failed"
    assert "KeyringLocked" in repr(tools.events)
    assert "hunter2" not in repr(tools.events)


async def test_a_host_can_ask_its_own_place_first_and_then_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CALLBOARD_TEST_TOKEN", "environment")

    async def vault_first(name: str, principal: Any) -> str | None:
        return None if principal is None else await system_secrets(name, principal)

    tools = registry(length, secrets=vault_first)

    assert await code_of(tools.invoke_async("length")) == "secret.missing"
    with pytest.raises(ToolError) as caught:
        tools.invoke("length")
    assert caught.value.hint == "put it where the host's own source of secrets finds it"
