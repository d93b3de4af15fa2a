"""From what the validator says to what an operator can act on: file, key, what is wrong, what is legal."""

import types
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Union, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from callboard.config.checks import WRONG
from callboard.config.models import Config
from callboard.errors import ConfigError

_KINDS = {
    "string_type": "a text in quotes",
    "float_type": "a number",
    "tuple_type": 'an array, such as ["a", "b"]',
    "dict_type": "a table",
    "mapping_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "finite_number": "a finite number",
}
_PATTERNS = {
    "tools": '"module:attribute", such as "mytools:registry"',
    "profiles": "a name of letters, digits, dots, dashes and underscores",
    "models": "a name of letters, digits, dots, dashes and underscores",
}


def explain(error: ValidationError, file: Path, origins: Mapping[str, Path]) -> ConfigError:
    """One error for all that is wrong, a line each; `origins` are the files of profiles by name."""
    lines = [_line(detail, file, origins) for detail in error.errors(include_url=False)]
    return ConfigError(
        "\n".join(lines), hint="docs/configuration.md in Callboard's repository explains every key"
    )


def _line(detail: ErrorDetails, file: Path, origins: Mapping[str, Path]) -> str:
    where = [part for part in detail["loc"] if part != "[key]"]
    where += detail.get("ctx", {}).get("at", ())
    if where[0] == "profiles" and len(where) > 1:
        file = origins.get(str(where[1]), file)
    return f"{file}: {_dotted(where)}: {_problem(detail, where)}"


def _problem(detail: ErrorDetails, where: Sequence[int | str]) -> str:
    kind = detail["type"]
    context = detail.get("ctx", {})
    if kind == "extra_forbidden" or (_beside_default(where) and kind == "model_type"):
        return _unknown(where)
    if kind == WRONG:
        return context["said"]
    if kind == "missing":
        return "is missing"
    if kind == "literal_error":
        return f"must be {context['expected']}, not {_shown(detail['input'])}"
    if kind == "string_pattern_mismatch":
        return f"must be {_PATTERNS[str(where[0])]}, not {_shown(detail['input'])}"
    if kind in _KINDS:
        return f"must be {_KINDS[kind]}, not {_shown(detail['input'])}"
    said = detail["msg"].removeprefix("Input should be ").removeprefix("String should have ")
    return f"must be {said}, not {_shown(detail['input'])}"


def _beside_default(where: Sequence[int | str]) -> bool:
    """Whether this is a key of ``[models]`` that is meant to be a named model."""
    return len(where) == 2 and where[0] == "models" and where[1] != "default"  # noqa: PLR2004 - models.NAME


def _unknown(where: Sequence[int | str]) -> str:
    legal = legal_keys(where[:-1])
    close = get_close_matches(str(where[-1]), legal, n=1, cutoff=0.6)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    named = "; a named model is a table, [models.NAME]" if _beside_default(where) else ""
    return f"there is no such key{meant} (the keys here are {', '.join(legal)}{named})"


def legal_keys(where: Sequence[int | str]) -> list[str]:
    """The keys of the table at this place, by the models."""
    here: type[BaseModel] = Config
    for part in where:
        field = here.model_fields.get(str(part))
        inner = _model_in(
            field.annotation if field is not None else here.__annotations__["__pydantic_extra__"]
        )
        if inner is not None:
            here = inner
    return list(here.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in {Union, types.UnionType, dict}:
        return next((found for part in get_args(annotation) if (found := _model_in(part))), None)
    return None


def _dotted(where: Sequence[int | str]) -> str:
    dotted = ""
    for part in where:
        dotted += f"[{part}]" if isinstance(part, int) else f".{part}"
    return dotted.removeprefix(".")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return f"an array of {len(cast('list[Any]', value))}"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."  # noqa: PLR2004 - fits a line
