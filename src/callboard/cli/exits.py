"""What the exit code of the command says."""

DONE = 0
FAILED = 1  # a run failed; a call of `tools call` failed or was denied
USAGE = 2  # the command line or the configuration is wrong, or the model that it names is not there
LIMIT = 3  # a run reached one of its limits
ASKS = 4  # `explain`: a person would be asked
STOPPED = 130  # somebody stopped it, as a shell reports Ctrl-C

# a run failed for them before its model was asked anything: this installation can't serve it
_SETUP = frozenset({"model.missing_extra", "model.local_unsupported"})
_RUNS = {"completed": DONE, "budget_exhausted": LIMIT, "cancelled": STOPPED}


def of_run(status: str, reason: str | None = None) -> int:
    """The exit code for a run that ended so."""
    if reason in _SETUP:
        return USAGE
    return _RUNS.get(status, FAILED)
