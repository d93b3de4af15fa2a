"""Answers from a file: for demos and scripts that know beforehand what may run."""

import json
from collections.abc import Callable, Collection
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from callboard.config.reading import read_toml
from callboard.errors import ConfigError
from callboard.types import ApprovalAnswer, ApprovalRequest, Approver

_SHAPE = 'it holds tables like [[allow]] tool = "write_file" arguments = { path = "a.txt", content = "x" }'


class Answers:
    """Allows the calls that the file lists, by tool and exact arguments, and denies all others.

    Args:
        file: TOML; docs/terminal.md shows it.
        tell: is given each answer as a line of text.

    Raises:
        ConfigError: the file can't be read, or is not of that shape.
    """

    def __init__(self, file: Path, tell: Callable[[str], object]) -> None:
        self._file = file
        self._tell = tell
        self._listed = [_entry(file, number, entry) for number, entry in enumerate(_read(file))]
        self._allowed = frozenset(self._listed)

    def check(self, known: Collection[str]) -> None:
        """Refuse a file that names a tool which is not there: it would deny in silence.

        Raises:
            ConfigError: names the file, the place and what was perhaps meant.
        """
        for number, (tool, _) in enumerate(self._listed):
            if tool not in known:
                close = get_close_matches(tool, known, n=1)
                raise ConfigError(
                    f"{self._file}: allow[{number}].tool: there is no tool {tool!r}"
                    + (f"; did you mean {close[0]!r}?" if close else ""),
                    hint="callboard tools list shows the tools",
                )

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Look it up."""
        allowed = (request.tool_id, _canonical(request.arguments)) in self._allowed
        word = "allow" if allowed else "deny"
        self._tell(f"{word:<7} {request.tool_id} {request.arguments} (answered by {self._file})")
        reason = (
            f"{self._file} {'allows exactly this call' if allowed else 'does not list exactly this call'}"
        )
        return ApprovalAnswer(allowed, request.digest, reason, by=str(self._file))


def check_answers(approver: Approver, known: Collection[str]) -> None:
    """Check the answers of a file against the tools that are there, where a file answers.

    Raises:
        ConfigError: as `Answers.check`.
    """
    if isinstance(approver, Answers):
        approver.check(known)


def _read(file: Path) -> list[Any]:
    table = read_toml(file)
    entries = table.pop("allow", [])
    if table or not isinstance(entries, list):
        wrong = next(iter(table), "allow")
        raise ConfigError(f"{file}: {wrong}: is not part of an answer file", hint=_SHAPE)
    return cast("list[Any]", entries)


def _entry(file: Path, number: int, entry: Any) -> tuple[str, str]:
    where = f"{file}: allow[{number}]"
    if not isinstance(entry, dict):
        raise ConfigError(f"{where}: must be a table", hint=_SHAPE)
    table = cast("dict[str, Any]", entry)
    if unknown := table.keys() - {"tool", "arguments"}:
        raise ConfigError(f"{where}.{min(unknown)}: there is no such key (tool, arguments)", hint=_SHAPE)
    tool, arguments = table.get("tool"), table.get("arguments", {})
    if not isinstance(tool, str):
        raise ConfigError(f"{where}.tool: must be the tool's name", hint=_SHAPE)
    try:
        return tool, _canonical(arguments if isinstance(arguments, str) else json.dumps(arguments))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{where}.arguments: must be a table, or JSON text: {error}", hint=_SHAPE) from None


def _canonical(text: str) -> str:
    return json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
