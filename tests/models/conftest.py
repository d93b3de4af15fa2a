"""The embedded model for tests; skipped with the reason where this machine can't have it."""

import pytest

from callboard.errors import ModelError
from callboard.models.engine import Engine, installed
from callboard_worker import landlock


@pytest.fixture(scope="session")
def engine() -> Engine:
    if landlock.abi() < 1:
        pytest.skip("this kernel has no Landlock: the embedded model refuses to start")
    try:
        return installed()
    except ModelError as error:
        pytest.skip(str(error))
