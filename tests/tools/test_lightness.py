"""What a first call must not load, and the private switch that the closed validators stand on."""

import subprocess
import sys
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import SchemaValidator, ValidationError

from callboard.tools.rewriting import closed, exact

FIRST_CALL = """
import sys
from callboard.tools import registered, tool

@tool
def add(a: int, b: int) -> int:
    \"\"\"Add.

    Args:
        a: one
        b: another
    \"\"\"
    return a + b

entry = registered(add)
assert entry.finish(entry.run(entry.parse('{"a": 1, "b": 2}')[0], None))[0] == 3
heavy = [name for name in ("griffe", "jsonschema_rs", "hypothesis", "pydantic_ai") if name in sys.modules]
assert heavy == [], heavy
assert entry.description == "Add."
assert "griffe" in sys.modules
"""


def test_the_first_call_loads_neither_griffe_nor_the_schema_validator() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CALL], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


class Inner(BaseModel):
    x: int


class Outer(BaseModel):
    inner: Inner


def rewritten(model: type[BaseModel]) -> Any:
    core: Any = model.__pydantic_core_schema__
    return exact(closed(core))


def test_a_rewritten_schema_reaches_nested_models_only_with_the_private_switch() -> None:
    """decisions/0002: when this fails after an update of pydantic, read it again before anything else."""
    core: Any = rewritten(Outer)
    text = '{"inner": {"x": 1, "y": 2}}'
    kept_open = SchemaValidator(core)
    assert kept_open.validate_json(text, strict=True) == Outer(inner=Inner(x=1))
    made = SchemaValidator(core, _use_prebuilt=False)
    with pytest.raises(ValidationError) as caught:
        made.validate_json(text, strict=True)
    assert [each["type"] for each in caught.value.errors()] == ["extra_forbidden"]


def test_the_class_itself_stays_as_its_author_made_it() -> None:
    rewritten(Outer)
    assert Outer.model_validate_json('{"inner": {"x": 1, "y": 2}}') == Outer(inner=Inner(x=1))
