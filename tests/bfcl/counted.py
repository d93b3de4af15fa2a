"""Lines for the summary of the run."""

LINES: list[str] = []


def say(text: str) -> None:
    """Add some."""
    LINES.append(text.strip())
