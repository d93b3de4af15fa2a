"""What the exit code of the command says."""

DONE = 0
FAILED = 1  # a run failed; a call of `tools call` failed or was denied
USAGE = 2  # the command line or the configuration is wrong
LIMIT = 3  # a run reached one of its limits
STOPPED = 130  # somebody stopped it, as a shell reports Ctrl-C

_RUNS = {"completed": DONE, "budget_exhausted": LIMIT, "cancelled": STOPPED}


def of_run(status: str) -> int:
    """The exit code for a run that ended so."""
    return _RUNS.get(status, FAILED)
