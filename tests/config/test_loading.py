"""What `callboard.toml` may say, and what its author reads when it is wrong."""

import os
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
        "(the keys here are tools, policy, models, profiles, state, store, limits, telemetry)"
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
        (
            "limits.call_seconds = 1e308",
            "limits.call_seconds: must be less than or equal to 31536000, not 1e+308",
        ),
        (
            "models.fast = { model = 'x', base_url = 'user:pw@host' }",
            "models.fast.base_url: must be an address such as 'http://127.0.0.1:11434/v1'",
        ),
        (
            "models.fast = { model = 'x', settings = { timeout = 'soon' } }",
            "models.fast.settings.timeout: must be seconds, more than 0, at most 86400, not 'soon'",
        ),
        (
            "models.fast = { model = 'x', settings = { max_retries = 'x' } }",
            "models.fast.settings.max_retries: must be a whole number from 0 to 100, not 'x'",
        ),
        (
            "models.a = { model = 'b' }\nmodels.b = { model = 'openai:x' }",
            "models.a.model: must be local, or provider:name; a named model can't point at another, 'b'",
        ),
        (
            'state.folder = "~nobody-of-that-name/st"',
            "state.folder: can't be used: Could not determine home directory.",
        ),
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


@pytest.mark.parametrize(
    "address", ["ftp://host", "http://", "http://host:99999", "http://a b", "http://[x", "x"]
)
def test_a_base_url_must_be_an_address(address: str) -> None:
    with pytest.raises(ValidationError, match="must be an address"):
        ModelConfig(model="x", base_url=address)


@pytest.mark.parametrize(
    "setting",
    [
        {"timeout": 0},
        {"timeout": True},
        {"timeout": float("nan")},
        {"timeout": 1e9},
        {"timeout": 10**400},
        {"max_retries": -1},
        {"max_retries": 1.0},
        {"max_retries": 10**6},
        {"max_tokens": 0},
        {"temperature": "hot"},
    ],
    ids=str,
)
def test_a_setting_that_cant_work_is_refused(setting: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="must be"):
        ModelConfig(model="x", settings=setting)


def test_settings_that_are_the_providers_own_pass() -> None:
    settings = {"timeout": 0.5, "max_retries": 0, "max_tokens": 1, "temperature": 0, "top_k": "any"}
    assert ModelConfig(model="x", settings=settings).settings == settings


def test_a_table_named_local_is_no_chain(tmp_path: Path) -> None:
    (tmp_path / "callboard.toml").write_text('models.local = { model = "local" }')
    assert set(load(cwd=tmp_path).models.named) == {"local"}


def test_a_configuration_that_is_no_regular_file_is_never_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "callboard.toml"
    file.symlink_to("gone.toml")
    with pytest.raises(ConfigError, match=r"callboard\.toml: is a link that leads nowhere"):
        load(cwd=tmp_path)
    file.unlink()
    file.mkdir()
    with pytest.raises(ConfigError, match=r"callboard\.toml: is not a regular file"):
        load(cwd=tmp_path)
    file.rmdir()
    os.mkfifo(file)
    for load_it in (lambda: load(cwd=tmp_path), lambda: load(file)):
        with pytest.raises(ConfigError, match=r"callboard\.toml: is not a regular file"):
            load_it()


def test_a_folder_of_profiles_that_cant_be_looked_into_is_never_passed_over(tmp_path: Path) -> None:
    (tmp_path / "profiles").symlink_to("gone")
    with pytest.raises(ConfigError, match="profiles: can't be read: No such file"):
        load(cwd=tmp_path)
    (tmp_path / "profiles").unlink()
    (tmp_path / "profiles").mkdir()
    os.mkfifo(tmp_path / "profiles" / "a.toml")
    with pytest.raises(ConfigError, match=r"profiles/a\.toml: is not a regular file"):
        load(cwd=tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = " + "[" * 3000 + "]" * 3000, "its tables and arrays are nested too deeply"),
        ("limits.call_seconds = " + "1" * 5000, "holds a value that can't be read: Exceeds the limit"),
    ],
    ids=["deep", "long"],
)
def test_toml_that_python_cant_hold_is_an_error_with_the_file(text: str, said: str, tmp_path: Path) -> None:
    assert failing(tmp_path, text).startswith(f"callboard.toml: {said}")


@pytest.mark.parametrize("folder", [".", "sub/..", "..", "/"])
def test_a_state_folder_around_the_configuration_is_refused(folder: str, tmp_path: Path) -> None:
    said = failing(tmp_path, f'state.folder = "{folder}"')
    assert said.startswith("callboard.toml: state.folder: must be a folder of its own")


def test_a_state_folder_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "callboard.toml").write_text('state.folder = "~/st"')
    assert load(cwd=tmp_path).state_folder == tmp_path / "home" / "st"
