"""What the command loads before it knows which one is asked for."""

import subprocess
import sys


def test_the_command_is_there_before_anything_heavy_is() -> None:
    heavy = ("pydantic", "sqlalchemy", "alembic", "rich.live", "msgspec", "callboard.host", "callboard.tools")
    code = f"import sys, callboard.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=True
    )
    assert done.stdout == "[]\n"
