"""The stores over which runs are taken up again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from callboard.runs import MemoryJournalStore
from callboard.store import open_store
from tests.runs.lives import Mortal


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mortal]:
    if request.param == "memory":
        yield Mortal(MemoryJournalStore())
        return
    with open_store(tmp_path) as opened:
        yield Mortal(opened.journal)
