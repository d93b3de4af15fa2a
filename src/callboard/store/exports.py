"""Reading an export, of any version; docs/contracts/export.md says what stands in one."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, cast, get_args

from callboard.errors import StoreError

FORMAT = "callboard.runs"
VERSION = 1

Kind = Literal["run", "event", "call", "step", "blob"]
_KINDS: tuple[Kind, ...] = get_args(Kind)


class Exported(NamedTuple):
    """One thing of an export: a run, or what belongs to the run before it."""

    kind: Kind
    value: Mapping[str, Any]


def line(kind: str, value: Mapping[str, Any]) -> str:
    """One line of an export, in ASCII."""
    return json.dumps({kind: value}, separators=(",", ":")) + "\n"


class ExportReader:
    """Goes through the lines of an export once, holding one of them at a time.

    ::

        with open("runs.jsonl", encoding="utf-8", errors="replace") as file:
            for kind, value in (reader := ExportReader(file)): ...
        reader.complete, reader.troubles

    Fields and kinds of lines that are not known are passed over. A line that can't be read, as the last one
    of a file that was cut off, is passed over, too, and noted.

    Attributes:
        header: what the first line says: `format`, `v`, `callboard`, `at`.
        complete: whether the last line was there; known at the end.
        troubles: what was wrong with lines that were passed over.

    Args:
        lines: such as an open file.

    Raises:
        StoreError: `export.not_one` if this is no export, `export.too_new` if a newer Callboard wrote it.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = enumerate(lines, start=1)
        self.complete = False
        self.troubles: list[str] = []
        self.header = _header(next(self._lines, (1, ""))[1])

    def __iter__(self) -> Iterator[Exported]:
        """The things of the export, in order."""
        for number, text in self._lines:
            if not text.strip():
                continue
            read = _object(text)
            if read is None:
                what = "is no JSON object" if text.endswith("\n") else "is cut off"
                self.troubles.append(f"line {number} {what}")
                continue
            if "end" in read:
                self.complete = True
            for kind in _KINDS:
                if isinstance(read.get(kind), dict):
                    yield Exported(kind, read[kind])


def _header(text: str) -> Mapping[str, Any]:
    said: Any = (_object(text) or {}).get("export")
    header = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
    version: Any = header.get("v")
    if header.get("format") != FORMAT or type(version) is not int or version < 1:
        raise StoreError(
            "this is no export of runs: its first line does not say so",
            code="export.not_one",
            hint="callboard runs export writes one",
        )
    if version > VERSION:
        raise StoreError(
            f"this export has version {version}, and this Callboard reads versions up to {VERSION}",
            code="export.too_new",
            hint="upgrade Callboard",
        )
    return header


def _object(text: str) -> dict[str, Any] | None:
    try:
        read: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", read) if isinstance(read, dict) else None
