"""Types that travel as text: the one spelling each accepts, and what else is read on the repairing pass.

The spelling is a regular expression that is published, too, so that schema and validator accept the same
texts.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import PydanticCustomError, SchemaValidator, core_schema

from callboard.errors import RegistrationError

# The context of the second validation, after repairs: clear spellings that are not the published one pass.
REPAIRING: Any = "repairing"

_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9]"
_OFFSET = rf"(Z|[+-]{_CLOCK})"
_DAY = r"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"
_SECONDS = r":[0-5][0-9](\.[0-9]{1,6})?"
_COUNT = r"[0-9]{1,6}"
_SPAN_SECONDS = rf"{_COUNT}(\.[0-9]{{1,6}})?S"
_SPAN_CLOCK = rf"T({_COUNT}H({_COUNT}M)?({_SPAN_SECONDS})?|{_COUNT}M({_SPAN_SECONDS})?|{_SPAN_SECONDS})"
_HEX = "[0-9a-fA-F]"


@dataclass(frozen=True, slots=True)
class TextForm:
    """How one type is spelled.

    Attributes:
        pattern: the published spelling.
        example: shown in errors.
        format: the JSON Schema format, where one says the same.
        also: spellings read on the repairing pass; None where there are none.
    """

    pattern: str
    example: str
    format: str | None = None
    also: str | None = None

    def published(self) -> dict[str, Any]:
        """The JSON Schema of the spelling."""
        made: dict[str, Any] = {"type": "string", "pattern": f"^{self.pattern}$"}
        if self.format is not None:
            made["format"] = self.format
        return made


FORMS: Mapping[str, TextForm] = {
    "date": TextForm(_DAY, "2024-05-31", "date"),
    "datetime": TextForm(
        rf"{_DAY}T{_CLOCK}{_SECONDS}{_OFFSET}",
        "2024-05-31T10:00:00Z",
        "date-time",
        also=rf"{_DAY}[Tt ]{_CLOCK}({_SECONDS})?([Zz]|[+-]{_CLOCK})?",
    ),
    "decimal": TextForm(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?", "12.50"),
    "time": TextForm(rf"{_CLOCK}({_SECONDS})?{_OFFSET}?", "10:00:00"),
    "timedelta": TextForm(
        rf"-?P({_COUNT}W|{_COUNT}D({_SPAN_CLOCK})?|{_SPAN_CLOCK})",
        "PT1H30M",
        also=rf"-?({_COUNT} days?,? )?{_CLOCK}({_SECONDS})?",
    ),
    "uuid": TextForm(
        f"{_HEX}{{8}}-({_HEX}{{4}}-){{3}}{_HEX}{{12}}",
        "123e4567-e89b-12d3-a456-426614174000",
        "uuid",
        also=rf"(urn:uuid:)?\{{?{_HEX}{{8}}-?({_HEX}{{4}}-?){{3}}{_HEX}{{12}}\}}?",
    ),
}
# No format says a day without an offset, so the pattern has to know the calendar.
_LEAP_YEAR = r"([1-9][0-9](0[48]|[2468][048]|[13579][26])|([2468][048]|[13579][26])00)"
_MONTH_DAY = (
    r"((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
)
_NAIVE = TextForm(
    rf"([1-9][0-9]{{3}}-{_MONTH_DAY}|{_LEAP_YEAR}-02-29)T{_CLOCK}{_SECONDS}",
    "2024-05-31T10:00:00",
    also=rf"{_DAY}[Tt ]{_CLOCK}({_SECONDS})?",
)
_INTEGER_KEY = TextForm(r"(0|-?[1-9][0-9]{0,38})", "12")


def form_of(node: Mapping[str, Any]) -> TextForm:
    """The form of a core schema node of one of these types."""
    if node["type"] == "datetime" and node.get("tz_constraint") == "naive":
        return _NAIVE
    if node["type"] == "uuid" and "version" in node:
        version = f"{_HEX}{{8}}-{_HEX}{{4}}-{node['version']}{_HEX}{{3}}-[89abAB]{_HEX}{{3}}-{_HEX}{{12}}"
        return TextForm(version, FORMS["uuid"].example, "uuid")
    return FORMS[node["type"]]


def text_form(node: dict[str, Any]) -> dict[str, Any]:
    """The node with its text checked first; its own bounds are checked by pydantic as before."""
    own = {key: value for key, value in node.items() if key not in {"ref", "metadata", "serialization"}}
    text: Any = core_schema.str_schema()
    if node["type"] == "decimal":
        text = core_schema.custom_error_schema(text, "decimal_type")
    reader = _reader(form_of(node), SchemaValidator(own))  # type: ignore[arg-type]
    made: Any = core_schema.with_info_after_validator_function(reader, text)
    return {**made, "ref": node["ref"]} if "ref" in node else made


def key_form(node: dict[str, Any]) -> dict[str, Any]:
    """The schema of a mapping's keys, which JSON gives as text.

    Raises:
        RegistrationError: for keys that text can't name in one way.
    """
    if node["type"] == "int":
        reader = _reader(_INTEGER_KEY, SchemaValidator(node))  # type: ignore[arg-type]
        return dict(core_schema.with_info_after_validator_function(reader, core_schema.str_schema()))
    if node["type"] in {"definition-ref", "function-after", "function-before", "function-wrap"}:
        return node
    raise RegistrationError(f"keys of type {node['type']} can't travel as JSON keys", hint="use text keys")


def published_key(node: Mapping[str, Any]) -> dict[str, Any] | None:
    """The JSON Schema of integer keys; None for all others, which are published as they are."""
    return _INTEGER_KEY.published() if node["type"] == "int" else None


def _reader(form: TextForm, inner: SchemaValidator) -> Callable[[str, Any], Any]:
    spelling = re.compile(form.pattern)
    also = None if form.also is None else re.compile(form.also)

    def read(text: str, info: Any) -> Any:
        clear = also is not None and also.fullmatch(text) is not None
        if spelling.fullmatch(text) or (clear and info.context is REPAIRING):
            return inner.validate_python(text)
        raise PydanticCustomError(
            "text_form" if clear else "text_unclear",
            "Input should be spelled like {example}",
            {"example": form.example},
        )

    return read
