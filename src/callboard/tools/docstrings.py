"""What a docstring says of a tool and of its parameters: Google, NumPy and Sphinx style."""

import logging
from typing import NamedTuple


class Described(NamedTuple):
    """The text before the sections, and the text of each parameter."""

    text: str | None
    parameters: dict[str, str]


def read_docstring(text: str | None) -> Described:
    """Read one docstring, already without its indentation."""
    if not text or not text.strip():
        return Described(None, {})
    if "\n" not in text.strip():
        return Described(text.strip(), {})
    import griffe  # noqa: PLC0415 - 70 ms of CPU, and no call needs it

    log = logging.getLogger("griffe")
    was, log.disabled = log.disabled, True  # it warns of missing annotations on stderr
    try:
        sections = griffe.Docstring(text).parse("auto")
    finally:
        log.disabled = was
    said = [section.value.strip() for section in sections if section.kind is griffe.DocstringSectionKind.text]
    parameters = {
        item.name.lstrip("*"): " ".join(item.description.split())
        for section in sections
        if section.kind
        in {griffe.DocstringSectionKind.parameters, griffe.DocstringSectionKind.other_parameters}
        for item in section.value
        if item.description.strip()
    }
    return Described("\n\n".join(part for part in said if part) or None, parameters)
