"""A folder with a secret beside it, and the workspace on that folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from callboard.builtin.files import Workspace

SECRET = "the secret beside the workspace"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    inside = tmp_path / "inside"
    inside.mkdir()
    return inside


@pytest.fixture
def workspace(folder: Path) -> Iterator[Workspace]:
    made = Workspace(folder)
    yield made
    made.close()
