import json
from pathlib import Path

import pytest

from callboard.cli import main
from callboard.models.services import SERVICES


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for service in SERVICES.values():
        for variable in service.keys:
            monkeypatch.delenv(variable, raising=False)


def test_models_are_listed_with_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "secret-1")
    Path("callboard.toml").write_text('[models.fast]\nmodel = "mistral:mistral-small-latest"\n')
    assert main(["models"]) == 0
    shown = capsys.readouterr().out
    lines = {line.split()[0]: line.split(maxsplit=1)[-1] for line in shown.splitlines() if line.strip()}
    assert lines["groq:NAME"] == "yes"
    assert lines["fast"] == "needs a key: the environment variable MISTRAL_API_KEY is not set"
    assert lines["bedrock:NAME"] == "yes, if its library finds credentials"
    assert lines["vllm:NAME"] == "needs an address"
    assert shown.rstrip().endswith(
        "A run that names none: model: groq:openai/gpt-oss-120b (no model configured, GROQ_API_KEY is set)"
    )
    assert "secret-1" not in shown


def test_models_are_listed_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--json"]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert set(found) == {"local", *(f"{service}:NAME" for service in SERVICES)}
    assert found["ollama:NAME"] == {
        "name": "ollama:NAME", "ready": True, "code": None, "missing": "", "hint": None,
    }  # fmt: skip
    assert (found["xai:NAME"]["ready"], found["xai:NAME"]["code"]) == (False, "model.no_key")
    assert "export XAI_API_KEY=" in found["xai:NAME"]["hint"]
