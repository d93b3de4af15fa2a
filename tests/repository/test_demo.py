"""The demo does what the README shows, with the real local model."""

import re
import subprocess
import sys
from pathlib import Path

import pytest


def settled(text: str) -> list[str]:
    """The lines without what differs from run to run: ids, times, places."""
    text = re.sub(r"\b[0-9a-f]{12}\b|\b[0-9a-f]{16}-\d+\b", "ID", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "WHEN", text)
    text = re.sub(r"\b\d+(\.\d+)? ?m?s\b", "TIME", text)
    text = re.sub(r"\S*/(?=build/demo|examples/demo)", "", text)
    return [" ".join(line.split()) for line in text.strip().splitlines()]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_readme_shows_what_the_demo_prints(root: Path) -> None:
    shown = (root / "README.md").read_text().split("<!-- demo -->\n```console\n")[1].split("```")[0]

    done = subprocess.run(
        [sys.executable, str(root / "examples/demo/run.py")], capture_output=True, text=True, check=True
    )

    assert settled(done.stdout) == settled(shown)
