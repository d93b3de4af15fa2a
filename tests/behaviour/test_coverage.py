import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def coverage() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "behaviour_coverage", Path(__file__).with_name("coverage.py")
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_statement_of_a_finished_part_has_a_test(coverage: ModuleType) -> None:
    assert coverage.missing(coverage.FINISHED) == {}


def test_no_test_names_a_statement_that_does_not_exist(coverage: ModuleType) -> None:
    known = coverage.statements()
    assert {name: tests for name, tests in coverage.shown().items() if name not in known} == {}


def test_the_statements_are_complete(coverage: ModuleType) -> None:
    known = coverage.statements()
    for seed, last in (("S0", 96), ("S1", 105), ("S3", 90)):
        assert [name for name in known if name.startswith(seed)] == [
            f"{seed}-{number:03}" for number in range(1, last + 1)
        ]
    assert sum(name.startswith("B") for name in known) == 60


def test_what_is_missing_can_be_printed(coverage: ModuleType) -> None:
    done = subprocess.run(
        [sys.executable, str(coverage.__file__), "4"], capture_output=True, text=True, check=True, timeout=30
    )
    assert "of 96 statements of part [4] have a test" in done.stdout
