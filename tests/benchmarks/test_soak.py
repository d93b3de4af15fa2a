"""A process that lives long."""

import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parents[2] / "benchmarks" / "soak.py"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_million_calls_of_every_outcome_leave_memory_flat(capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run(
        [sys.executable, str(SOAK)], capture_output=True, text=True, timeout=1700, check=False
    )
    with capsys.disabled():
        sys.stdout.write(f"\n{done.stdout}")
    assert (done.returncode, done.stderr) == (0, "")
