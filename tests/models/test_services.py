"""Every provider of the model layer: names, keys, packages, and a request over the wire."""

import itertools
import json
import re
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic_ai.models import KnownModelName

from callboard.config import ModelConfig
from callboard.errors import ModelError
from callboard.models import Choice, ModelRequest, choose, open_model
from callboard.models.providers import Connection
from callboard.models.services import ALSO_CALLED, SERVICES, Service
from callboard.models.target import Target
from tests.models.server import Reply, chat, chat_call, serving
from tests.models.test_providers import ADD, ASKED, KEY, responses

# What pydantic-ai knows beyond the services: endpoints that are no chat, its own gateway.
NOT_OFFERED = {"gateway", "google-decisions", "openai-decisions", "typesafe", "test"}

# A model's name that each service's class takes; most take any.
NAMED = {
    "openrouter": "openai/gpt-oss-120b",
    "bedrock": "amazon.nova-micro-v1:0",
    "bedrock-mantle": "openai.gpt-oss-120b",
    "google": "gemini-3.8-flash",
}
SAID = {"AWS_DEFAULT_REGION": "eu-west-1", "SNOWFLAKE_ACCOUNT": "acme"}

every_service = pytest.mark.parametrize("service", SERVICES.values(), ids=list(SERVICES))
CHAT = [
    service
    for service in SERVICES.values()
    if service.modules == ("openai",) and "openai_store" not in service.settings
]


def test_every_provider_of_the_model_layer_is_there() -> None:
    known = {name.split(":")[0].split("/")[0] for name in get_args(KnownModelName.__value__)}
    assert known - set(SERVICES) == NOT_OFFERED
    assert set(ALSO_CALLED.values()) <= set(SERVICES)


def test_a_model_that_is_chosen_for_its_key_is_one_that_the_layer_knows() -> None:
    known = set(get_args(KnownModelName.__value__))
    chosen = {f"{service.name}:{service.model}" for service in SERVICES.values() if service.model}
    assert len(chosen) >= 8
    assert chosen <= known


def test_the_docs_list_every_service_with_its_keys_and_its_address() -> None:
    page = (Path(__file__).parents[2] / "docs/models.md").read_text()
    table = page.partition("<!-- providers -->")[2].partition("<!-- /providers -->")[0]
    rows = {
        cells[1].strip(" `"): cells for cells in (line.split("|") for line in table.strip().splitlines()[2:])
    }
    assert sorted(rows) == sorted(SERVICES)
    for name, (_, _, extra, keys, address, _) in rows.items():
        service = SERVICES[name]
        assert extra.strip(" `") == service.extra
        assert re.findall("[A-Z][A-Z_]+", keys) == list(service.keys)
        assert ("(" in keys) == (bool(service.keys) and not service.needs_key)
        assert re.findall("[A-Z]+_[A-Z_]+", address) == ([service.address] if service.address else [])
        assert ("required" in address, "none" in address) == (
            service.needs_address,
            service.address_as is None,
        )


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("GEMINI_API_KEY", "google:gemini-3.8-flash"),
        ("MISTRAL_API_KEY", "mistral:mistral-large-latest"),
        ("GROQ_API_KEY", "groq:openai/gpt-oss-120b"),
        ("GOOGLE_API_KEY", None),
        ("HF_TOKEN", None),
        ("AWS_BEARER_TOKEN_BEDROCK", None),
    ],
)
def test_a_key_in_the_environment_chooses_its_model(variable: str, name: str | None) -> None:
    chosen = choose(None, None, {variable: "k"})
    if name is None:
        assert chosen.name == "local"
    else:
        assert chosen == Choice(name, f"no model configured, {variable} is set")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gemini:x", "google"),
        ("vertex:x", "google-cloud"),
        ("grok:x", "xai"),
        ("groc:x", "groq"),
        ("azur:x", "azure"),
    ],
)
def test_what_people_call_a_service_is_close_to_it(name: str, meant: str) -> None:
    with pytest.raises(ModelError, match=f"close to it: .*{meant}") as caught:
        open_model(name, environ={})
    assert "PROVIDER:NAME with PROVIDER alibaba | azure" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "service", [one for one in SERVICES.values() if one.needs_key], ids=lambda one: one.name
)
def test_a_missing_key_is_named_by_its_variables(service: Service) -> None:
    environ = {**SAID, **({service.address: "http://127.0.0.1:1/v1"} if service.address else {})}
    with pytest.raises(ModelError, match=f"variable {' or '.join(service.keys)} is not set") as caught:
        open_model(f"{service.name}:x", environ=environ)
    assert caught.value.code == "model.no_key"
    assert service.keys[0] in (caught.value.hint or "")


@every_service
def test_a_missing_package_names_the_extra(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, service.modules[-1], None)
    named = {"mine": config_of(service, "http://127.0.0.1:1/v1")}
    with pytest.raises(ModelError, match=f"mine needs the package {service.modules[-1]}") as caught:
        open_model("mine", named, {"KEY": KEY, **SAID})
    assert caught.value.code == "model.missing_extra"
    assert caught.value.hint == f"pip install 'callboard[{service.extra}]'"


def config_of(service: Service, address: str) -> ModelConfig:
    return ModelConfig(
        model=f"{service.name}:{NAMED.get(service.name, 'tiny')}",
        base_url=None if service.address_as is None else address,
        api_key_env="KEY",
        settings={"max_retries": 0},
    )


@pytest.mark.parametrize("name", ["azure", "azure-responses", "litellm", "vllm", "snowflake"])
def test_a_service_without_an_address_of_its_own_says_which_variable_it_needs(name: str) -> None:
    service = SERVICES[name]
    variable = service.address or "SNOWFLAKE_ACCOUNT"
    with pytest.raises(ModelError, match="needs") as caught:
        open_model(f"{name}:x", environ=dict.fromkeys(service.keys, KEY))
    assert caught.value.code == "model.no_address"
    assert f"export {variable}=" in (caught.value.hint or "")


def test_a_service_that_has_one_address_only_refuses_another() -> None:
    named = {"mine": ModelConfig(model="xai:grok-4.7", base_url="http://127.0.0.1:1/v1")}
    with pytest.raises(ModelError, match="mine takes no base_url") as caught:
        open_model("mine", named, {"XAI_API_KEY": KEY})
    assert caught.value.code == "model.no_address"


@pytest.mark.slow
@every_service
def test_the_layers_own_class_takes_what_it_is_given(service: Service) -> None:
    address = None if service.address_as is None else "http://127.0.0.1:1/v1"
    options = {
        parameter: SAID[variables[0]] for parameter, variables, _ in service.options if variables[0] in SAID
    }
    made = Target("mine", service.name, NAMED.get(service.name, "tiny"), address, KEY, {}, options)
    assert isinstance(Connection(made), Connection)


@pytest.mark.parametrize("service", CHAT, ids=lambda one: one.name)
async def test_every_service_that_speaks_like_openai_is_asked_at_its_address_with_its_key(
    service: Service,
) -> None:
    call = chat_call(0, "k1", "add", '{"a": 1, ', '"b": 2}')
    replies: list[Reply] = [chat({"content": "So."}, *call, finish="tool_calls")]
    async with serving(replies) as server:
        opened = open_model("mine", {"mine": config_of(service, f"{server.url}/v1")}, {"KEY": KEY, **SAID})
        answer = await opened.answer(ModelRequest("main", ASKED, [ADD]), lambda _piece: None)
        await opened.close()
    (asked,) = server.asked
    sent: dict[str, Any] = asked.body
    assert "/chat/completions" in asked.path
    assert KEY in {
        asked.headers.get("authorization", "").removeprefix("Bearer "),
        asked.headers.get("api-key"),
    }
    assert KEY not in json.dumps(sent)
    assert (sent["model"], sent["stream"]) == (NAMED.get(service.name, "tiny"), True)
    (tool,) = sent["tools"]
    assert (tool["function"]["name"], tool["function"]["parameters"]) == ("add", dict(ADD.parameters))
    assert [(made["id"], made["arguments"]) for made in answer.calls] == [("k1", '{"a": 1, "b": 2}')]
    assert answer.text == "So."


async def test_a_key_of_the_environment_goes_to_no_other_address(monkeypatch: pytest.MonkeyPatch) -> None:
    speaking = {
        "openai-chat": chat({"content": "ok"}),
        "deepseek": chat({"content": "ok"}),
        "openai": responses(["ok"], []),
    }
    for name, variable in itertools.product(speaking, ["OPENAI_API_KEY", "DEEPSEEK_API_KEY"]):
        monkeypatch.setenv(variable, KEY)
        async with serving([speaking[name]]) as server:
            named = {"mine": ModelConfig(model=f"{name}:tiny", base_url=f"{server.url}/v1")}
            opened = open_model("mine", named)
            await opened.answer(ModelRequest("main", ASKED, [ADD]), lambda _piece: None)
            await opened.close()
        assert KEY not in str(server.asked)
