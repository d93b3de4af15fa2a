"""docs/configuration.md says of each key what it is, and shows a file that works."""

import json
import re
from pathlib import Path

from pydantic import BaseModel

from callboard.config import Config, ModelConfig, load
from callboard.config.explaining import legal_keys
from callboard.host.profiles import Profile

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def section(title: str) -> str:
    [text] = re.findall(
        rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return text


def keys(model: type[BaseModel], path: str = "") -> set[str]:
    found: set[str] = set()
    for name, field in model.model_fields.items():
        annotation = field.annotation
        if name == "profiles":
            found.add("profiles.NAME")
        elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found |= keys(annotation, f"{path}{name}.")
        else:
            found.add(f"{path}{name}")
    return found


def test_the_page_has_every_key_and_no_other() -> None:
    documented = set(re.findall(r"^\| `([a-zA-Z_.]+)` \|", section("Keys"), re.MULTILINE))
    assert documented == keys(Config) | keys(ModelConfig, "models.NAME.")


def test_the_defaults_of_the_page_are_those_of_the_code() -> None:
    rows = re.findall(r"^\| `([a-z_.]+)` \|[^|]+\| `([^`]+)` \|", section("Keys"), re.MULTILINE)
    defaults = Config().model_dump(mode="json")
    for path, shown in rows:
        value = defaults
        for part in path.split("."):
            value = value[part]
        assert shown in {f'"{value}"', json.dumps(value)}, path
    assert len(rows) == 6


def test_the_file_on_the_page_works(tmp_path: Path) -> None:
    [example] = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "callboard.toml").write_text(example)
    config = load(cwd=tmp_path)
    used = {name for name, value in config.model_dump().items() if value != getattr(Config(), name)}
    assert used >= {"tools", "models", "profiles", "limits"}


def test_the_keys_of_each_table_are_those_of_its_model() -> None:
    assert legal_keys(["limits"]) == ["call_seconds"]
    assert legal_keys(["models", "fast"]) == list(ModelConfig.model_fields)


def test_the_page_has_every_key_of_a_profile_and_no_other() -> None:
    documented = re.findall(r"^\| `([a-z_]+)` \|", section("Profiles"), re.MULTILINE)
    assert sorted(documented) == sorted(Profile.model_fields)


def test_the_defaults_of_a_profile_are_those_of_the_code() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \|[^|]+\| `([^`]+)` \|", section("Profiles"), re.MULTILINE)
    assert {name: json.loads(shown) for name, shown in rows} == {
        name: field.default
        for name, field in Profile.model_fields.items()
        if name not in {"prompt", "model", "tools", "writes"}
    }


def test_a_profile_with_every_documented_default_works() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \|[^|]+\| `([^`]+)` \|", section("Profiles"), re.MULTILINE)
    assert Profile.model_validate({name: json.loads(shown) for name, shown in rows}) == Profile()
