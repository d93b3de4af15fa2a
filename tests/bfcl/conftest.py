"""What the tests of the corpus counted stands in the summary of every run of them."""

import pytest

from tests.bfcl.counted import LINES


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print it."""
    if LINES:
        terminalreporter.section("Berkeley Function Calling Leaderboard")
        for line in LINES:
            terminalreporter.write_line(line)
