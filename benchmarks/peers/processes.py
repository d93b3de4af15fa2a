"""Child processes that are bounded in time and leave nothing behind."""

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

# No key, no account, and nothing sent anywhere: the frameworks' own traces and counts are off.
QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "LANGSMITH_TRACING": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
    "FASTMCP_CHECK_FOR_UPDATES": "off",
}


class ProcessFailedError(Exception):
    """A child process failed; the text is its last word."""


class ProcessTooSlowError(ProcessFailedError):
    """A child process took longer than it may, and was ended."""


def run(command: Sequence[str | Path], limit: float) -> None:
    """Run it to its end, in a process group of its own that is ended with it.

    Args:
        command: the program and its arguments
        limit: seconds that it may take

    Raises:
        ProcessTooSlowError: the limit was reached
        ProcessFailedError: it exited with anything but 0
    """
    keyless = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(  # noqa: S603 - programs of this folder, and uv
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env={**keyless, **QUIET},
            start_new_session=True,
        )
        try:
            code = child.wait(limit)
        except BaseException as error:
            # Ctrl-C comes here, too: the child is in a group of its own, and does not hear of it
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise ProcessTooSlowError(f"ended after {limit:.0f} s") from error
            raise
        if code != 0:
            said.seek(0)
            raise ProcessFailedError(last_word(said.read().decode(errors="replace"), code))


def last_word(said: str, code: int) -> str:
    """What says why: all of an installer's reasons, which start with `error:`; else the last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    starts = [place for place, line in enumerate(lines) if line.startswith("error:")]
    reasons = lines[starts[-1] :] if starts else lines[-1:]
    return " ".join(reasons) or f"exit code {code}"
