import subprocess
import sys

import pytest

from callboard.config import ModelConfig
from callboard.errors import ModelError
from callboard.models import choose, open_model
from callboard.models.names import FORMS, ModelName, parse


@pytest.mark.parametrize(
    ("model", "configured", "environ", "line"),
    [
        ("ollama:qwen3", "local", {"OPENAI_API_KEY": "k"}, "model: ollama:qwen3 (asked for)"),
        (None, "mine", {"OPENAI_API_KEY": "k"}, "model: mine (configured)"),
        (
            None,
            None,
            {"OPENAI_API_KEY": "k"},
            "model: openai:gpt-5.6-terra (no model configured, OPENAI_API_KEY is set)",
        ),
        (
            None,
            None,
            {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"},
            "model: anthropic:claude-sonnet-5-5 (no model configured, ANTHROPIC_API_KEY is set)",
        ),
        (None, None, {}, "model: local (no model configured, no provider key in the environment)"),
        (
            None,
            None,
            {"OPENAI_API_KEY": ""},
            "model: local (no model configured, no provider key in the environment)",
        ),
    ],
)
def test_what_was_asked_for_wins_then_what_is_configured_then_a_key_then_local(
    model: str | None, configured: str | None, environ: dict[str, str], line: str
) -> None:
    assert str(choose(model, configured, environ, named=["mine"])) == line


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("local", ModelName("local", "")),
        ("openai:gpt-1", ModelName("openai", "gpt-1")),
        ("ollama:qwen3:8b", ModelName("ollama", "qwen3:8b")),
        (
            "openai-compatible:hf.co/a@b@http://127.0.0.1:8000/v1",
            ModelName("openai-compatible", "hf.co/a@b", "http://127.0.0.1:8000/v1"),
        ),
        ("openai-compatible:tiny", ModelName("openai-compatible", "tiny")),
    ],
)
def test_a_name_is_taken_apart(name: str, parsed: ModelName) -> None:
    assert parse(name) == parsed


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("opnai:gpt-1", "openai"),
        ("locl", "local"),
        ("anthropic", "anthropic"),
        ("mien", "mine"),
        ("openai:", "openai"),
    ],
)
def test_an_unknown_name_lists_the_legal_forms_and_what_is_close(name: str, close: str) -> None:
    with pytest.raises(ModelError, match=f"close to it: .*{close}") as caught:
        choose(name, None, {}, named=["mine"])
    assert caught.value.code == "model.unknown_name"
    assert all(form in (caught.value.hint or "") for form in FORMS)


def test_a_name_that_nothing_is_close_to_still_lists_the_forms() -> None:
    with pytest.raises(ModelError, match=r"no model is called 'zzz'\n") as caught:
        choose(None, "zzz", {})
    assert "openai-compatible:NAME@http://HOST:PORT/v1" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("name", "variable"), [("openai:gpt-1", "OPENAI_API_KEY"), ("anthropic:claude-1", "ANTHROPIC_API_KEY")]
)
def test_a_key_that_is_missing_is_named(name: str, variable: str) -> None:
    with pytest.raises(ModelError, match=f"the environment variable {variable} is not set") as caught:
        open_model(name, environ={})
    assert caught.value.code == "model.no_key"
    assert variable in (caught.value.hint or "")


def test_the_key_of_a_named_model_comes_from_its_own_variable() -> None:
    named = {
        "mine": ModelConfig(model="openai-compatible:tiny", base_url="http://127.0.0.1:1/v1", api_key_env="K")
    }
    with pytest.raises(ModelError, match="mine needs a key: the environment variable K is not set"):
        open_model("mine", named, {"OPENAI_API_KEY": "not this one"})


def test_a_compatible_server_needs_an_address() -> None:
    with pytest.raises(ModelError, match="needs an address") as caught:
        open_model("openai-compatible:tiny", environ={})
    assert caught.value.code == "model.no_address"
    assert "openai-compatible:tiny@http://HOST:PORT/v1" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("name", "package"),
    [("anthropic:claude-1", "anthropic"), ("openai:gpt-1", "openai"), ("ollama:tiny", "openai")],
)
def test_a_package_that_is_missing_is_named_with_the_command(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    environ = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    with pytest.raises(ModelError, match=f"needs the package {package}") as caught:
        open_model(name, environ=environ)
    assert caught.value.code == "model.missing_extra"
    assert caught.value.hint == f"pip install 'callboard[{package}]'"


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("ollama:tiny", "openai"),
        ("openai-compatible:tiny@http://127.0.0.1:1/v1", "openai"),
        ("openai:gpt-5.6-luna", "openai"),
        ("anthropic:claude-haiku-4-5", "anthropic"),
    ],
)
async def test_each_form_opens_a_model_of_its_dialect(name: str, dialect: str) -> None:
    model = open_model(name, environ={"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"})
    assert (model.name, model.dialect, model.finishes_with_text) == (name, dialect, True)
    await model.close()


def test_the_room_is_light_until_a_provider_is_asked() -> None:
    program = (
        "import sys, callboard.models, callboard.models.local\n"
        "callboard.models.open_model('ollama:tiny', environ={})\n"
        "print('pydantic_ai' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "False"
