"""`callboard calls`: the records of calls, and one of them whole."""

import json as jsonlib
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, validators

from callboard.cli.exits import DONE, FAILED
from callboard.cli.flags import CALL_STATUSES, AsJson, ConfigPath, Limit, Status, split
from callboard.cli.opened import no_run, opened, whole_id
from callboard.cli.output import print_error, print_json, print_note, print_table, print_text, when
from callboard.cli.times import MOMENTS, duration, moment

if TYPE_CHECKING:
    from callboard.store import CallFilter, Store

EXAMPLES = """\
Examples:
  callboard calls
  callboard calls --run 3f9a --status failed,denied
  callboard calls --tool write_file --since 2h --json --limit 500
  callboard calls --code permission.denied,approval.denied --user ada
  callboard calls --slow 500ms --since 2026-11-30
  callboard calls show 8f3c21d0a4b5c6d7-12
"""
LIST_EXAMPLES = """\
Examples:
  callboard calls list --since 2h
  callboard calls list --limit 50 --before 1234      (the next page)
"""
SHOW_EXAMPLES = """\
Examples:
  callboard calls show 8f3c21d0a4b5c6d7-12    (as `calls` lists it)
  callboard calls show 8f3c21d0a4b5c6d7-12 --result > result.txt
  callboard calls show 8f3c21d0a4b5c6d7-12 --json
"""

_LABELS = {"started_ns": "started", "duration_ns": "took"}
Column = Literal["tool_id", "agent", "user", "tenant", "code"]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which calls."""

    run: Annotated[str | None, Parameter(help="Only calls of this run, its id or the beginning of it.")] = (
        None
    )
    status: Status = None
    tool: Annotated[
        str | None, Parameter(help="Only calls of this tool; several with commas between them.")
    ] = None
    agent: Annotated[str | None, Parameter(help="Only calls of this agent, such as main.")] = None
    user: Annotated[str | None, Parameter(help="Only calls on behalf of this user.")] = None
    tenant: Annotated[str | None, Parameter(help="Only calls on behalf of this tenant.")] = None
    code: Annotated[
        str | None,
        Parameter(help="Only calls that failed with this code; several with commas between them."),
    ] = None
    since: Annotated[str | None, Parameter(help=f"Started then or later: {MOMENTS}.")] = None
    until: Annotated[str | None, Parameter(help="Started before then.")] = None
    simulated: Annotated[
        bool | None,
        Parameter(negative="--real", show_default=False, help="Only simulated calls, or only real ones."),
    ] = None
    slow: Annotated[str | None, Parameter(help="Took so long or longer, such as 500ms or 2s.")] = None
    before: Annotated[
        int | None,
        Parameter(validator=validators.Number(gte=1), help="Older than the record with this number (seq)."),
    ] = None

    def filter(self, run: str | None, limit: int) -> "CallFilter":
        """What the store is asked for; `run` is the whole id.

        Raises:
            CycloptsError: one of the values is none.
        """
        from callboard.store import CallFilter  # noqa: PLC0415 - for these commands only

        now = time.time()
        return CallFilter(
            run=run,
            status=split(self.status, CALL_STATUSES),
            tool=words(self.tool),
            agent=self.agent,
            user=self.user,
            tenant=self.tenant,
            code=words(self.code),
            since=moment(self.since, now),
            until=moment(self.until, now),
            simulated=self.simulated,
            slow=duration(self.slow),
            limit=limit,
            before=self.before,
        )

    def unknown(self, store: "Store") -> Iterator[str]:
        """What was asked for and was never recorded, with what was."""
        asked: tuple[tuple[str, Column, tuple[str, ...]], ...] = (
            ("tool", "tool_id", words(self.tool)),
            ("agent", "agent", words(self.agent)),
            ("user", "user", words(self.user)),
            ("tenant", "tenant", words(self.tenant)),
            ("code", "code", words(self.code)),
        )
        for name, column, given in asked:
            known = store.calls.words(column) if given else ()
            for word in given:
                if word not in known:
                    there = f"there are {', '.join(known)}" if known else "none is recorded"
                    yield f"no call with the {name} {word!r} is recorded ({there})"


def list_calls(
    *, wanted: Wanted | None = None, limit: Limit = 50, json: AsJson = False, config: ConfigPath = None
) -> int:
    """The records of calls, newest first: those of runs, and those made outside of runs."""
    asked = wanted or Wanted()
    asked.filter(None, limit)  # what is wrong with the words is said first
    store = opened(config)
    run = None
    if asked.run is not None:
        run = None if store is None else whole_id(store, asked.run)
        if run is None:
            return no_run(asked.run)
    found = [] if store is None else store.calls.list(asked.filter(run, limit + 1))
    calls = found[:limit]
    if json:
        print_json(calls)
        return DONE
    print_table(("call", "started", "run", "tool", "status", "took", "what"), [_row(call) for call in calls])
    if len(found) > limit:
        print_note(f"there are older ones: --before {calls[-1]['seq']}")
    if store is not None and not calls:
        for line in asked.unknown(store):
            print_note(line)
    return DONE


def show_call(
    call: Annotated[str, Parameter(help="The call's id, or its beginning.")],
    /,
    *,
    result: Annotated[
        bool, Parameter(negative="", show_default=False, help="Only its result, as it is.")
    ] = False,
    json: AsJson = False,
    config: ConfigPath = None,
) -> int:
    """One call: every field of its record, and its whole result."""
    store = opened(config)
    found = None if store is None else store.calls.get(call)
    if store is None or found is None:
        print_error(f"there is no call {call!r}", hint="callboard calls shows their ids")
        return FAILED
    found["result"] = whole_result(store, found)
    if json:
        print_json(found)
    elif result:
        sys.stdout.write(readable(found["result"]))
    else:
        print_pages(_fields(found))
    return DONE


def whole_result(store: "Store", call: Mapping[str, Any]) -> str | None:
    """The JSON text of a call's result, also where its record holds only the handle of it."""
    result: str | None = call.get("result")
    if result is None or not result.startswith('{"blob":'):
        return result
    try:
        handle: Any = jsonlib.loads(result).get("blob")
    except ValueError:
        return result
    held = store.blobs.look(str(handle), run=(call["run"] or "").partition("/")[0])
    return result if held is None else held


def readable(result: str | None) -> str:
    """A result to read: a text as it is, all else as its JSON."""
    if result is None:
        return ""
    value: Any = jsonlib.loads(result)
    return value if isinstance(value, str) else result + "\n"


def print_pages(lines: Iterator[str]) -> None:
    """Lines on standard output; what is longer than a terminal goes to the person's pager."""
    text = "\n".join(lines)
    if not sys.stdout.isatty():
        print_text(text)
        return
    import pydoc  # noqa: PLC0415 - for a terminal only

    from callboard.cli.visible import visible  # noqa: PLC0415 - same

    pydoc.pager(visible(text, keep="\n\t"))


def words(text: str | None) -> tuple[str, ...]:
    """The words of ``a,b``."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def _fields(call: Mapping[str, Any]) -> Iterator[str]:
    """Every field with a value, a line each; arguments and result whole, below."""
    for name, value in call.items():
        if name in {"type", "arguments", "result", "failure"} or value is None or value == []:
            continue
        yield f"{_LABELS.get(name, name) + ':':<15} {_said(name, value)}"
    failure: Mapping[str, Any] = call.get("failure") or {}
    for name, value in failure.items():
        if value is not None:
            yield f"{name + ':':<15} {value}"
    for name in ("arguments", "result"):
        if call.get(name) is not None:
            yield f"{name}:"
            yield readable(call[name]).rstrip("\n") if name == "result" else call[name]


def _said(name: str, value: Any) -> str:
    if name == "started_ns":
        return when(value / 1e9)
    if name == "duration_ns":
        return _took(value)
    if name == "reasons":
        return "; ".join(value)
    if name in {"principal", "parents"}:
        return ", ".join(str(part) for part in value if part is not None)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _took(duration_ns: int) -> str:
    return f"{duration_ns / 1e6:.1f} ms" if duration_ns else "-"


def _row(call: dict[str, Any]) -> tuple[str, ...]:
    failure: dict[str, Any] | None = call.get("failure")
    what = call.get("arguments") or ""
    if failure:
        what = f"{failure['code']}: {failure['message']}  {what}"
    if call.get("damaged"):
        what = f"the rest is damaged in the file: row {call['seq']} of the table calls"
    return (
        call["invocation_id"],
        when(call["started_ns"] / 1e9),
        call["run"] or "-",
        call["tool_id"],
        call["status"] + (" (simulated)" if call.get("simulated") else ""),
        _took(call["duration_ns"]),
        what,
    )
