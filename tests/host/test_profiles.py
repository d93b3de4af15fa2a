"""Profiles: what is refused, and what is said about it."""

from pathlib import Path

import pytest

from callboard import Host, tool
from callboard.config import load
from callboard.errors import ConfigError
from callboard.host.profiles import Profile
from callboard.testing import ScriptedModel, call, text


@tool(mode="read")
def look() -> str:
    """Look."""
    return "seen"


async def refused(folder: Path, profile: str, *tools: object) -> ConfigError:
    async with Host(load(cwd=folder), tools=[look, *tools]) as host:
        with pytest.raises(ConfigError) as caught:
            host.start("x", profile=profile, model=ScriptedModel([]))
        assert host.store.runs.list() == []
    return caught.value


async def test_a_profile_that_is_not_there_is_named_with_what_is_close(tmp_path: Path) -> None:
    close = await refused(tmp_path, "lopo")
    other = await refused(tmp_path, "careful")

    assert str(close) == "there is no profile 'lopo'; did you mean 'loop'?"
    assert (str(other), other.hint) == ("there is no profile 'careful'", "the profiles are loop")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("max_rounds = 0", "max_rounds: must be greater than or equal to 1, not 0"),
        ('max_rounds = "5"', "max_rounds: must be a whole number, not '5'"),
        ('text_ends = "no"', "text_ends: must be true or false, not 'no'"),
        (
            'instructions = "x"',
            "instructions: there is no such key; did you mean 'prompt'? (the keys here are "
            + ", ".join(Profile.model_fields)
            + ")",
        ),
        ("prompt = 3", "prompt: must be a text in quotes, not 3"),
        ("seconds = 1e308", "seconds: must be less than or equal to 86400, not 1e+308"),
        ('writes = "never"', "writes: must be 'ask' or 'allow', not 'never'"),
        ('mode = "loup"', "mode: must be 'loop', not 'loup'"),
        ("tools = 1", 'tools: must be an array, such as ["a", "b"], not 1'),
        ('tools = ["lok"]', "tools: there is no tool 'lok'; did you mean 'look'?"),
    ],
)
async def test_a_key_that_can_not_be_used_is_named_with_its_file_and_what_is_legal(
    tmp_path: Path, line: str, said: str
) -> None:
    (tmp_path / "callboard.toml").write_text(f"[profiles.bad]\n{line}\n")

    assert str(await refused(tmp_path, "bad")) == f"{tmp_path}/callboard.toml: profiles.bad.{said}"


async def test_a_profile_in_a_file_of_its_own_is_named_by_that_file(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "own.toml").write_text('writs = "ask"\n')

    said = str(await refused(tmp_path, "own"))

    assert said.startswith(
        f"{tmp_path}/profiles/own.toml: writs: there is no such key; did you mean 'writes'?"
    )


async def test_a_tool_with_the_name_of_the_loops_own_is_refused_before_anything_is_recorded(
    tmp_path: Path,
) -> None:
    @tool(mode="read")
    def finalize(text: str) -> str:
        """Not the loop's."""
        return text

    assert "a tool is called 'finalize'" in str(await refused(tmp_path, "loop", finalize))


async def test_a_tool_of_that_name_is_no_trouble_where_the_profile_leaves_it_out(tmp_path: Path) -> None:
    @tool(mode="read")
    def finalize(text: str) -> str:
        """Not the loop's."""
        return text

    (tmp_path / "callboard.toml").write_text('[profiles.own]\ntools = ["look"]\n')
    model = ScriptedModel([call("look"), call("finalize", text="done")])

    async with Host(tmp_path, tools=[look, finalize]) as host:
        result = await host.run("x", profile="own", model=model)

    assert (result.status, result.text) == ("completed", "done")


@pytest.mark.parametrize(
    ("policy", "writes", "reason"),
    [
        ("allow", "", "[policy]: write = allow"),
        ("ask", 'writes = "allow"', "the profile's writes: write = allow"),
        ("deny", 'writes = "allow"', "[policy]: write = deny"),
    ],
)
async def test_the_policy_holds_for_writes_unless_the_profile_says_otherwise(
    tmp_path: Path, policy: str, writes: str, reason: str
) -> None:
    @tool
    def save() -> str:
        """Save."""
        return "saved"

    (tmp_path / "callboard.toml").write_text(f'[policy]\nwrite = "{policy}"\n[profiles.own]\n{writes}\n')

    async with Host(tmp_path, tools=[save]) as host:
        await host.run("x", profile="own", model=ScriptedModel([call("save"), text("done")]))
        record = host.store.calls.list()[0]

    assert record["reasons"] == [reason]
