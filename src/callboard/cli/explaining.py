"""`callboard explain`: may this agent make this call, and why?"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from cyclopts import CycloptsError, Parameter

from callboard.cli.exits import ASKS, DONE, FAILED
from callboard.cli.flags import AsJson, ConfigPath
from callboard.cli.output import print_json, print_text
from callboard.cli.tools import arguments_of

if TYPE_CHECKING:
    from callboard.calls.explaining import Explanation

EXAMPLES = """\
Examples:
  callboard explain write_file
  callboard explain write_file path=a.txt content=hello --profile careful
  callboard explain add '{"a": 1, "b": "x"}' --agent main --user ada --json

The gate's own functions answer, and nothing runs: no tool, no hook, and nobody
is asked. Without arguments, these are left open.
"""

_WORDS = {
    "allow": "it runs",
    "ask": "a person is asked",
    "deny": "it may not",
    "fail": "its arguments are refused",
}
_EXITS = {"allow": DONE, "ask": ASKS}


class Somebody:
    """Stands for whoever will answer in a run: the terminal, `--answers` or `--yes`. Never asked."""

    name = "the person at the terminal, --answers FILE or --yes of the run; nobody where there is none"

    async def ask(self, request: object) -> NoReturn:
        """Nobody calls this."""
        raise AssertionError(request)


def explain(
    tool: Annotated[str, Parameter(help="The tool's id.")],
    /,
    *arguments: Annotated[str, Parameter(help="One JSON object, or name=value for each argument.")],
    agent: Annotated[
        str | None, Parameter(help="The agent's path, such as main; else that of the profile.")
    ] = None,
    profile: Annotated[str, Parameter(help="The profile of the run.")] = "loop",
    user: Annotated[str | None, Parameter(help="On behalf of this user.")] = None,
    tenant: Annotated[str | None, Parameter(help="On behalf of this tenant; needs --user.")] = None,
    simulate: Annotated[bool, Parameter(negative="", show_default=False, help="As in a simulation.")] = False,
    json: AsJson = False,
    config: ConfigPath = None,
) -> int:
    """Whether an agent may call a tool with these arguments, and why: the way through the gate."""
    told = asyncio.run(_told(tool, arguments, agent, profile, (user, tenant), config, simulate=simulate))
    if json:
        print_json(told.to_json())
    else:
        _print(told)
    return _EXITS.get(told.verdict, FAILED)


async def _told(
    tool: str,
    words: tuple[str, ...],
    agent: str | None,
    profile: str,
    whose: tuple[str | None, str | None],
    config: Path | None,
    *,
    simulate: bool,
) -> "Explanation":
    from callboard.calls.explaining import ANYTHING  # noqa: PLC0415 - for this command only
    from callboard.host import Host  # noqa: PLC0415 - same
    from callboard.types import Principal  # noqa: PLC0415 - same

    user, tenant = whose
    if user is None and tenant is not None:
        raise CycloptsError(msg="--tenant needs --user")
    async with Host(config) as host:
        found = host.registry.get(tool)
        schema: Mapping[str, Any] = {} if found is None else found.input_schema
        return await host.explain(
            tool,
            arguments_of(words, schema) if words else ANYTHING,
            profile=profile,
            agent=agent,
            principal=None if user is None else Principal(user, tenant),
            approver=Somebody(),
            simulate=simulate,
        )


def _print(told: "Explanation") -> None:
    who = "an agent" if told.agent is None else told.agent
    sure = "" if told.certain else " (as far as can be said before the call is made)"
    print_text(f"{told.verdict}: {who} and {told.tool}: {_WORDS[told.verdict]}{sure}")
    for step in told.steps:
        print_text(f"  {step.step:<10} {step.outcome:<7} {step.text}")
    if told.arguments is not None:
        print_text(f"arguments: {told.arguments}")
    if told.code is not None:
        print_text(f"code: {told.code}")
    if told.hint:
        print_text(f"hint: {told.hint}")
