"""From a profile's name to what its run may use: the ready-made ones, and those of the configuration."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from callboard.config import PROFILES, Config
from callboard.errors import ConfigError
from callboard.host.policy import Writes
from callboard.orchestration import LoopConfig

READY_MADE: Mapping[str, Mapping[str, Any]] = {"loop": {"mode": "loop", "text_ends": True}}

_KINDS = {
    "string_type": "a text in quotes",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "frozen_set_type": 'an array, such as ["a", "b"]',
}
_PROMPTS = ("instructions", "system", "system_prompt")  # what others call it


class Profile(LoopConfig):
    """What a run may use: one agent's loop, and what its writes may do without asking.

    Attributes:
        writes: takes the place of `[policy] write` for the runs of this profile; None leaves it in force.
    """

    writes: Writes | None = None


def profile(name: str, config: Config) -> Profile:
    """The profile of that name.

    Raises:
        ConfigError: there is none, or one of its keys can't be used.
    """
    raw = config.profiles.get(name, READY_MADE.get(name))
    if raw is None:
        known = sorted({*config.profiles, *READY_MADE})
        raise ConfigError(
            f"there is no profile {name!r}{_meant(name, known)}", hint=f"the profiles are {', '.join(known)}"
        )
    try:
        return Profile.model_validate(raw)
    except ValidationError as error:
        where = _place(name, config)
        raise ConfigError(
            "\n".join(f"{where}{_problem(detail)}" for detail in error.errors(include_url=False)),
            hint="docs/configuration.md in Callboard's repository explains every key of a profile",
        ) from None


def check_tools(name: str, chosen: Profile, ids: Iterable[str], config: Config) -> None:
    """Refuse a profile that these tools can't serve, before anything is recorded.

    Raises:
        ConfigError: it names a tool that is not there, or a tool has the name of one of the engine's own.
    """
    known = sorted(ids)
    for missing in sorted((chosen.tools or frozenset()) - set(known)):
        raise ConfigError(
            f"{_place(name, config)}tools: there is no tool {missing!r}{_meant(missing, known)}",
            hint="callboard tools list shows them",
        )
    for taken in chosen.controls:
        if taken in known and (chosen.tools is None or taken in chosen.tools):
            raise ConfigError(
                f"a tool is called {taken!r}, which is the name of one of the loop's own tools",
                hint="register it under another name, or leave it out of the profile's tools",
            )


def _meant(name: str, known: Iterable[str]) -> str:
    """What was perhaps meant, as part of an error."""
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _place(name: str, config: Config) -> str:
    """Where the profile is written: the file, and the beginning of the key."""
    file = config.folder / PROFILES / f"{name}.toml"
    if not file.is_file():
        return f"{config.path or 'the configuration'}: profiles.{name}."
    return f"{file}: "


def _problem(detail: ErrorDetails) -> str:
    key, kind, given = ".".join(map(str, detail["loc"])), detail["type"], detail["input"]
    if kind == "extra_forbidden":
        legal = list(Profile.model_fields)
        meant = "; did you mean 'prompt'?" if key in _PROMPTS else _meant(key, legal)
        return f"{key}: there is no such key{meant} (the keys here are {', '.join(legal)})"
    if kind == "literal_error":
        return f"{key}: must be {detail.get('ctx', {})['expected']}, not {_shown(given)}"
    if kind in _KINDS:
        return f"{key}: must be {_KINDS[kind]}, not {_shown(given)}"
    return f"{key}: must be {detail['msg'].removeprefix('Input should be ')}, not {_shown(given)}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."  # noqa: PLR2004 - fits a line
