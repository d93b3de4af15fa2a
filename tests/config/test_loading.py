"""What `callboard.toml` may say, and what its author reads when it is wrong."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from callboard.config import Config, ModelConfig, Policy, load
from callboard.errors import ConfigError

ALL = """
tools = ["mytools:registry", "mytools.more:add"]

[policy]
read = "ask"
write = "deny"

[models]
default = "fast"

[models.fast]
model = "openai:small"
base_url = "http://127.0.0.1:11434/v1"
api_key_env = "MY_KEY"
settings = { temperature = 0, stop = ["x"] }

[profiles.careful]
mode = "loop"
writes = "ask"

[state]
folder = "state"

[limits]
call_seconds = 2.5
"""


def failing(folder: Path, text: str) -> str:
    (folder / "callboard.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(cwd=folder)
    return str(caught.value).replace(f"{folder}/", "")


def test_a_folder_without_the_file_has_the_defaults(tmp_path: Path) -> None:
    config = load(cwd=tmp_path)
    assert config.model_dump() == Config().model_dump()
    assert (config.policy.read, config.policy.write, config.tools, config.path) == ("allow", "ask", (), None)
    assert config.state_folder == tmp_path / ".callboard"


def test_every_key_arrives(tmp_path: Path) -> None:
    (tmp_path / "callboard.toml").write_text(ALL)
    config = load(cwd=tmp_path)
    assert config.path == tmp_path / "callboard.toml"
    assert config.folder == tmp_path
    assert config.tools == ("mytools:registry", "mytools.more:add")
    assert config.policy == Policy(read="ask", write="deny")
    assert config.models.default == "fast"
    assert config.models.named == {
        "fast": ModelConfig(
            model="openai:small",
            base_url="http://127.0.0.1:11434/v1",
            api_key_env="MY_KEY",
            settings={"temperature": 0, "stop": ["x"]},
        ),
    }
    assert config.profiles == {"careful": {"mode": "loop", "writes": "ask"}}
    assert config.state_folder == tmp_path / "state"
    assert config.limits.call_seconds == 2.5


def test_a_path_may_name_the_file_or_its_folder(tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text('[state]\nfolder = "/srv/state"\n')
    assert load(other).state_folder == Path("/srv/state")
    (tmp_path / "callboard.toml").write_text("tools = []\n")
    assert load(tmp_path).path == tmp_path / "callboard.toml"


def test_the_file_is_looked_for_in_this_folder_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "callboard.toml").write_text('[policy]\nwrite = "allow"\n')
    inner = tmp_path / "inner"
    inner.mkdir()
    assert load(cwd=inner).policy.write == "ask"
    monkeypatch.chdir(tmp_path)
    assert load().policy.write == "allow"


def test_a_file_of_profiles_takes_the_place_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "callboard.toml").write_text("[profiles.a]\nfrom = 1\n[profiles.b]\nfrom = 2\n")
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "a.toml").write_text("rounds = 3\n")
    (tmp_path / "profiles" / "c.toml").write_text("")
    assert load(cwd=tmp_path).profiles == {"a": {"rounds": 3}, "b": {"from": 2}, "c": {}}


def test_files_of_profiles_count_without_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "a.toml").write_text("rounds = 3\n")
    assert load(cwd=tmp_path).profiles == {"a": {"rounds": 3}}


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "callboard.toml").write_text("\ufefftools = []\n", encoding="utf-8")
    assert load(cwd=tmp_path).tools == ()


def test_a_configuration_cant_be_changed() -> None:
    with pytest.raises(ValidationError):
        Config().policy = Policy()


def test_a_misspelt_key_is_named_with_the_closest_and_the_legal_ones(tmp_path: Path) -> None:
    assert failing(tmp_path, 'tols = ["a:b"]') == (
        "callboard.toml: tols: there is no such key; did you mean 'tools'? "
        "(the keys here are tools, policy, models, profiles, state, limits)"
    )
    assert failing(tmp_path, "[models.fast]\nmodel = 'x'\nbase_ulr = 'y'") == (
        "callboard.toml: models.fast.base_ulr: there is no such key; did you mean 'base_url'? "
        "(the keys here are model, base_url, api_key_env, settings)"
    )
    assert "models.defualt: there is no such key; did you mean 'default'?" in failing(
        tmp_path,
        "[models]\ndefualt = 'x'",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('policy.write = "never"', "policy.write: must be 'allow', 'ask' or 'deny', not 'never'"),
        ("policy.read = true", "policy.read: must be 'allow', 'ask' or 'deny', not true"),
        ('tools = "a:b"', """tools: must be an array, such as ["a", "b"], not 'a:b'"""),
        (
            'tools = ["x:y", "ab"]',
            """tools[1]: must be "module:attribute", such as "mytools:registry", not 'ab'""",
        ),
        ("limits.call_seconds = 0", "limits.call_seconds: must be greater than 0, not 0"),
        ('limits.call_seconds = "60"', "limits.call_seconds: must be a number, not '60'"),
        ("limits.call_seconds = inf", "limits.call_seconds: must be a finite number, not inf"),
        ("state = 3", "state: must be a table, not 3"),
        ("models.default = 3", "models.default: must be a text in quotes, not 3"),
        ("[models.fast]", "models.fast.model: is missing"),
        ("profiles.a = 3", "profiles.a: must be a table, not 3"),
        ("profiles = 3", "profiles: must be tables, [profiles.NAME]"),
        (
            '[profiles."a b"]',
            "profiles.a b: must be a name of letters, digits, dots, dashes and underscores, not 'a b'",
        ),
    ],
)
def test_a_wrong_value_is_named_with_what_is_legal(text: str, said: str, tmp_path: Path) -> None:
    assert failing(tmp_path, text) == f"callboard.toml: {said}"


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    said = failing(tmp_path, "[policy]\nwrite = 1\n[state]\nfodler = 'x'")
    assert [line.split(": ")[1] for line in said.splitlines()] == ["policy.write", "state.fodler"]


def test_broken_toml_is_named_with_its_line(tmp_path: Path) -> None:
    assert failing(tmp_path, "tools = []\nx = = 3") == (
        "callboard.toml: is not valid TOML: Invalid value (at line 2, column 5)"
    )


def test_a_broken_file_of_profiles_is_the_one_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "a.toml").write_text("x = = 3")
    assert failing(tmp_path, "") == "profiles/a.toml: is not valid TOML: Invalid value (at line 1, column 5)"
    (tmp_path / "profiles" / "a.toml").rename(tmp_path / "profiles" / "b c.toml")
    (tmp_path / "profiles" / "b c.toml").write_text("x = 3")
    assert failing(tmp_path, "").startswith("profiles/b c.toml: profiles.b c: must be a name of letters")


def test_a_given_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: there is no such file"):
        load(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match=r"callboard\.toml: there is no such file"):
        load(tmp_path)


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "callboard.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"is not UTF-8 text \(byte 0\)"):
        load(cwd=tmp_path)
