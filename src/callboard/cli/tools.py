"""`callboard tools list|show|call`: the tools of this folder's configuration."""

import asyncio
import json as jsonlib
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, cast

from cyclopts import CycloptsError, Parameter

from callboard.cli.exits import DONE, FAILED, STOPPED
from callboard.cli.flags import AsJson, Asking, ConfigPath
from callboard.cli.output import (
    debugging,
    print_error,
    print_json,
    print_table,
    print_text,
    print_traceback,
)

if TYPE_CHECKING:
    from pathlib import Path

    from callboard.tools import RegisteredTool
    from callboard.types import ToolResult

EXAMPLES = """\
Examples:
  callboard tools list
  callboard tools call add a=1 b=2
"""
LIST_EXAMPLES = """\
Examples:
  callboard tools list
  callboard tools list --json
"""
SHOW_EXAMPLES = """\
Examples:
  callboard tools show add
  callboard tools show add --json
"""
CALL_EXAMPLES = """\
Examples:
  callboard tools call add a=1 b=2
  callboard tools call add '{"a": 1, "b": 2}' --json
  callboard tools call save_note title=x body="hello" --simulate

The call passes the gate like a model's: it is checked, decided and recorded, and may ask you.
"""

_UNKNOWN = {
    "ok": True,
    "simulated": True,
    "unvalidated": True,
}  # the gate's word for a write without a preview

Name = Annotated[str, Parameter(help="The tool's id.")]


def list_tools(*, json: AsJson = False, config: ConfigPath = None) -> int:
    """The tools, with their mode and what they are for."""
    return asyncio.run(_list(config, as_json=json))


async def _list(config: "Path | None", *, as_json: bool) -> int:
    from callboard.host import Host  # noqa: PLC0415 - for this command only

    async with Host(config) as host:
        tools = host.registry.definitions
    if as_json:
        print_json([described(tool) for tool in tools])
        return DONE
    rows = [(tool.id, tool.kind, (tool.description or "").split("\n")[0]) for tool in tools]
    print_table(("tool", "mode", "what it does"), rows)
    return DONE


def described(tool: "RegisteredTool") -> dict[str, Any]:
    """A tool as JSON: what is published of it."""
    return {
        "id": tool.id,
        "kind": tool.kind,
        "description": tool.description,
        "parameters": tool.input_schema,
        "result": tool.output_schema,
        "calls": treated(tool),
        "hidden": hidden(tool),
        "fingerprint": tool.fingerprint,
    }


def hidden(tool: "RegisteredTool") -> dict[str, str | None]:
    """The parameters that no model sees, each with the name of its secret; None for an injected one."""
    return {need.parameter: need.secret for need in tool.needs or ()}


def treated(tool: "RegisteredTool") -> dict[str, Any]:
    """How the calls of a tool are treated, as far as it asks for something."""
    turn, retries = tool.turn, tool.retries
    pace = None if turn is None else turn.pace
    made = {
        "at_once": None if turn is None or turn.places is None else turn.places._asdict(),
        "rate": None if pace is None else pace._asdict(),
        "retries": None if retries is None else retries.times,
        "idempotent": tool.idempotent or None,
        "probe": tool.probe is not None or None,
    }
    return {name: value for name, value in made.items() if value is not None}


def told(tool: "RegisteredTool") -> list[str]:
    """The same in words, a line for each."""
    lines = [] if tool.turn is None else [f"limit: {tool.turn}"]
    if tool.retries is not None:
        lines.append(f"retries: {tool.retries.times} after a first try that failed")
    if tool.idempotent:
        lines.append("idempotent: a second execution of the same call changes nothing")
    if tool.probe is not None:
        lines.append("probe: it can tell whether a write took place")
    given = hidden(tool).items()
    if given:
        sources = (f"{name} ({f'secret {secret}' if secret else 'injected'})" for name, secret in given)
        lines.append(f"given by the host, not by models: {', '.join(sources)}")
    return ["", *lines] if lines else []


def show_tool(name: Name, /, *, json: AsJson = False, config: ConfigPath = None) -> int:
    """One tool: its description and the schema that a model sees."""
    return asyncio.run(_show(name, config, as_json=json))


async def _show(name: str, config: "Path | None", *, as_json: bool) -> int:
    from callboard.host import Host  # noqa: PLC0415 - for this command only

    async with Host(config) as host:
        tool, known = host.registry.get(name), list(host.registry.ids())
    if tool is None:
        print_error(f"there is no tool {name!r}", hint=_meant(name, known))
        return FAILED
    shown = described(tool)
    if as_json:
        print_json(shown)
        return DONE
    print_text(f"{tool.id} ({tool.kind})\n")
    print_text(tool.description or "no description: a model would not know what it is for")
    for title in ("parameters", "result"):
        if shown[title] is not None:
            print_text(f"\n{title}:")
            print_json(shown[title])
    for line in told(tool):
        print_text(line)
    print_text(f"\nfingerprint: {tool.fingerprint}")
    return DONE


def call_tool(
    name: Name,
    /,
    *arguments: Annotated[str, Parameter(help="One JSON object, or name=value for each argument.")],
    json: AsJson = False,
    simulate: Annotated[
        bool, Parameter(negative="", show_default=False, help="A write is simulated: nothing is changed.")
    ] = False,
    config: ConfigPath = None,
    asking: Asking | None = None,
) -> int:
    """Call a tool through the gate."""
    return asyncio.run(_call(name, arguments, config, asking or Asking(), simulate=simulate, as_json=json))


async def _call(
    name: str,
    words: Sequence[str],
    config: "Path | None",
    asking: Asking,
    *,
    simulate: bool,
    as_json: bool,
) -> int:
    from callboard.cli.answers import check_answers  # noqa: PLC0415 - for this command only
    from callboard.cli.run import interrupts, who_answers  # noqa: PLC0415 - same
    from callboard.cli.surfaces import Lines, Output  # noqa: PLC0415 - same
    from callboard.errors import ToolError, Unavailable  # noqa: PLC0415 - same
    from callboard.host import Host  # noqa: PLC0415 - same
    from callboard.types import Abort, ExecutionOptions  # noqa: PLC0415 - same

    shown = Lines(Output(stderr=True))
    abort, approver = Abort(), who_answers(asking, shown)
    async with Host(config) as host:
        known = list(host.registry.ids())
        check_answers(approver, known)
        tool = host.registry.get(name)
        raw = arguments_of(words, {} if tool is None else tool.input_schema)
        execution = ExecutionOptions(abort=abort, approver=approver, simulate=simulate)
        try:
            # what a tool prints is no part of the JSON
            printed = redirect_stdout(sys.stderr) if as_json else nullcontext()
            with printed, interrupts(shown, abort.set, "call"):
                result = await host.registry.invoke_async(name, raw, execution=execution)
        except ToolError as error:
            if isinstance(error, Unavailable) and tool is None:
                error.hint = _meant(name, known)
            _print_failure(error, as_json=as_json)
            return STOPPED if abort.aborted else FAILED
    _print_result(result, as_json=as_json)
    return DONE


def _meant(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, n=1)
    meant = f"did you mean {close[0]!r}? " if close else ""
    return f"{meant}callboard tools list shows the tools"


def _print_result(result: "ToolResult[Any]", *, as_json: bool) -> None:
    from callboard.events import call_event_to_json  # noqa: PLC0415 - loaded by the call anyway

    if not as_json:
        print_text(result.text)
        if result.value == _UNKNOWN:
            print_text(
                "simulated: it was not run. It has no preview, so what it would have done is not known"
            )
        return
    record = call_event_to_json(result.invocation)
    value = None if record["result"] is None else jsonlib.loads(record["result"])
    print_json({"ok": True, "value": value, "text": result.text, "record": record})


def _print_failure(error: Any, *, as_json: bool) -> None:
    from callboard.events import call_event_to_json  # noqa: PLC0415 - loaded by the call anyway

    print_traceback(error)
    if not as_json:
        from callboard.cli.drawing import step  # noqa: PLC0415 - rich, loaded by the call anyway

        hint = step(error.code, str(error), error.hint)
        if hint is None and error.__cause__ is not None and not debugging():
            hint = "CALLBOARD_DEBUG=1 shows where it came from"
        print_error(f"{error} [{error.code}]", hint=hint)
        return
    record = None if error.invocation is None else call_event_to_json(error.invocation)
    print_json({"ok": False, "error": str(error), "code": error.code, "hint": error.hint, "record": record})


def arguments_of(words: Sequence[str], schema: Mapping[str, Any]) -> str:
    """The JSON text of a call's arguments: as it was typed, or put together from ``name=value``.

    A value is taken as text where the schema takes text, else as JSON where it is JSON.

    Raises:
        CycloptsError: a word is neither, or a name comes twice.
    """
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return words[0]
    made: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise CycloptsError(msg=f"{word!r} is neither one JSON object nor name=value")
        if name in made:
            raise CycloptsError(msg=f"{name} is given twice")
        made[name] = _value(text, schema.get("properties", {}).get(name, {}))
    return jsonlib.dumps(made)


def _value(text: str, schema: Mapping[str, Any]) -> Any:
    if _takes_text(schema):
        return text
    try:
        return jsonlib.loads(text)
    except ValueError:
        return text


def _takes_text(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    if kind == "string" or (isinstance(kind, list) and "string" in kind):
        return True
    return any(_takes_text(cast("Mapping[str, Any]", part)) for part in schema.get("anyOf", ()))
