"""From a profile's name to what its run may use: the ready-made ones, and those of the configuration."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from callboard.config import Config
from callboard.errors import ConfigError
from callboard.host.policy import Writes
from callboard.orchestration import LoopConfig

READY_MADE: Mapping[str, Mapping[str, Any]] = {"loop": {"mode": "loop", "text_ends": True}}


class Profile(LoopConfig):
    """What a run may use: one agent's loop, and what its writes may do without asking."""

    writes: Writes = "ask"


def profile(name: str, config: Config) -> Profile:
    """The profile of that name.

    Raises:
        ConfigError: there is none, or one of its keys can't be used.
    """
    raw = config.profiles.get(name, READY_MADE.get(name))
    if raw is None:
        known = sorted({*config.profiles, *READY_MADE})
        close = get_close_matches(name, known, n=1)
        raise ConfigError(
            f"there is no profile {name!r}",
            hint=f"did you mean {close[0]!r}?" if close else f"the profiles are {', '.join(known)}",
        )
    try:
        return Profile.model_validate(raw)
    except ValidationError as error:
        raise ConfigError(
            "\n".join(f"profile {name}: {_place(e['loc'])}: {e['msg']}" for e in error.errors()),
            hint=f"the keys are {', '.join(Profile.model_fields)}",
        ) from None


def _place(loc: tuple[int | str, ...]) -> str:
    return ".".join(map(str, loc)) or "profile"
