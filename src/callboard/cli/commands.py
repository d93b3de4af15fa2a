"""The commands, their help, and what happens to errors."""

import errno
import io
import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, UnusedCliTokensError

from callboard import __version__
from callboard.cli import (
    calls,
    checking,
    definitions,
    doctor,
    explaining,
    exporting,
    models,
    pruning,
    records,
    run,
    stats,
    tools,
)
from callboard.cli.exits import FAILED, STOPPED, USAGE
from callboard.cli.output import debugging, print_error, show_log
from callboard.errors import CallboardError, ConfigError, ModelError

_EXITS = """\

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration,
3 a limit was reached, 4 a person would be asked (explain), 130 stopped."""
_RUN_EXITS = """\

Exit codes: 0 the run completed, also where calls of it were denied or failed
(its last line counts them), 1 it failed, 2 wrong usage or configuration,
3 a limit was reached, 130 stopped."""
_CALL_EXITS = """\

Exit codes: 0 the call succeeded, 1 it failed or was denied,
2 wrong usage or configuration, 130 stopped."""

_EXPLAIN_EXITS = """\

Exit codes: 0 it runs, 4 a person is asked, 1 it is denied or its arguments
are refused, 2 wrong usage or configuration."""

_EXAMPLES = """\
Examples:
  callboard run "what is in this folder?"
  callboard tools list
  callboard calls --status failed,denied
"""


def _group(name: str, text: str, examples: str) -> App:
    return App(name=name, help=text, help_format="plaintext", help_epilogue=examples)


app = App(
    name="callboard",
    version=f"callboard {__version__}",
    help="The tool runtime for LLM agents: every call passes one gate.",
    help_format="plaintext",
    help_epilogue=_EXAMPLES + _EXITS,
    exit_on_error=False,
    print_error=False,
    result_action="return_value",
)
_tools = _group("tools", "The tools that a run could call.", tools.EXAMPLES)
_runs = _group("runs", "The runs that were recorded; without a command, they are listed.", records.EXAMPLES)

_calls = _group("calls", "The records of calls; without a command, they are listed.", calls.EXAMPLES)

app.command(run.run, name="run", help_epilogue=run.EXAMPLES + _RUN_EXITS)
app.command(explaining.explain, name="explain", help_epilogue=explaining.EXAMPLES + _EXPLAIN_EXITS)
app.command(doctor.doctor, name="doctor", help_epilogue=doctor.EXAMPLES)
app.command(models.list_models, name="models", help_epilogue=models.EXAMPLES)
app.command(_tools)
app.command(_runs)
app.command(_calls)
_tools.command(tools.list_tools, name="list", help_epilogue=tools.LIST_EXAMPLES)
_tools.command(tools.show_tool, name="show", help_epilogue=tools.SHOW_EXAMPLES)
_tools.command(tools.call_tool, name="call", help_epilogue=tools.CALL_EXAMPLES + _CALL_EXITS)
_tools.command(checking.check_file, name="check", help_epilogue=checking.EXAMPLES)
_tools.command(definitions.export_tools, name="export", help_epilogue=definitions.EXAMPLES)
_runs.default(records.list_runs)
_runs.command(records.list_runs, name="list", help_epilogue=records.LIST_EXAMPLES)
_runs.command(records.show_run, name="show", help_epilogue=records.SHOW_EXAMPLES)
_runs.command(exporting.export_runs, name="export", help_epilogue=exporting.EXAMPLES)
_runs.command(pruning.prune_runs, name="prune", help_epilogue=pruning.EXAMPLES)
_calls.default(calls.list_calls)
_calls.command(calls.list_calls, name="list", help_epilogue=calls.LIST_EXAMPLES)
_calls.command(calls.show_call, name="show", help_epilogue=calls.SHOW_EXAMPLES)
_calls.command(stats.call_stats, name="stats", help_epilogue=stats.EXAMPLES)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Errors are a readable line on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # an odd encoding never ends a run
    words = sys.argv[1:] if arguments is None else list(arguments)
    if debugging():
        show_log()
    try:
        done = app(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return STOPPED
    except Exception as error:
        if debugging() and not isinstance(error, CallboardError | CycloptsError):
            raise
        return _failed(error, app.parse_commands(words)[0])
    return done if isinstance(done, int) else 0


def _failed(error: Exception, command: Sequence[str]) -> int:
    """Say what went wrong with this command; returns the exit code."""
    named = " ".join(("callboard", *command))
    match error:
        case UnusedCliTokensError(unused_tokens=list(unused)) if named == "callboard run":
            print_error(
                f"the prompt is one text, and there is more: {' '.join(unused)}",
                hint=f'put all of it in quotes: {named} "..."',
            )
            return USAGE
        case UnusedCliTokensError(unused_tokens=list(unused)):
            print_error(f"{named} does not take {' '.join(unused)!r}", hint=f"{named} --help shows how")
            return USAGE
        case CycloptsError():
            print_error(error, hint=f"{named} --help shows how")
            return USAGE
        case ConfigError() | ModelError():  # a model that can't be opened; one that fails ends its run
            print_error(error)
            return USAGE
        case CallboardError():
            print_error(error)
        case BrokenPipeError():  # `callboard calls | head`
            _write_no_more()
        case OSError(errno=errno.ENOSPC | errno.EIO):
            _write_no_more()
            print_error(f"the output can't be written: {error.strerror}")
        case _:
            hint = "CALLBOARD_DEBUG=1 shows where it came from"
            print_error(f"{type(error).__name__}: {error}", hint=hint)
    return FAILED


def _write_no_more() -> None:
    """What is still waiting to be written goes nowhere: at its end the process would try, and fail, again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
