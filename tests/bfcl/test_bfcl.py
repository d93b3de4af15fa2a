"""The Berkeley Function Calling Leaderboard: its functions register, and its right calls pass.

The counts stand in the summary of `pytest -m slow tests/bfcl`.
"""

import json
import resource
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema_rs
import pytest

from callboard import ToolRegistry
from callboard.errors import InvalidArguments
from callboard.tools import RegisteredTool
from callboard.tools.samples import sample
from tests.bfcl.calls import calls
from tests.bfcl.cleaning import cleaned
from tests.bfcl.counted import say
from tests.bfcl.rows import SETS, Row, installed, rows
from tests.tools.legal import HOLDERS, check, schema_of

KNOWN = tomllib.loads((Path(__file__).parent / "refused.toml").read_text(encoding="utf-8"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


class Corpus(NamedTuple):
    """All rows, and one registry with the functions of them all; a tool's id is the row's and the name."""

    rows: list[tuple[str, Row]]
    registry: ToolRegistry[Any]


@pytest.fixture(scope="module")
def data() -> Path:
    try:
        return installed()
    except RuntimeError as error:
        pytest.skip(f"bfcl-eval can't be installed: {error}")


@pytest.fixture(scope="module")
def corpus(data: Path) -> Corpus:
    """Registered once; how long that took, and what it holds, is printed."""
    found = [(name, row) for name in SETS for row in rows(data, name)]
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    tools = [tool for name, row in found for tool in functions(name, row)]
    registry: ToolRegistry[Any] = ToolRegistry().register_all(tools)
    seconds = time.process_time() - started
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    say(f"\nregistered {len(tools)} functions of {len(found)} rows: {seconds:.2f} s CPU, {grown:.0f} MB")
    return Corpus(found, registry)


def same(value: Any) -> Any:
    return value


def functions(name: str, row: Row) -> Iterator[dict[str, Any]]:
    for function in row.functions:
        yield {
            "id": f"{row.id}:{function['name']}",
            "kind": "read",
            "description": function["description"],
            "schema": cleaned(function["parameters"], variables="java" in name),
            "execute": same,
            "parse_output": same,
        }


def judged(row: Row, registry: ToolRegistry[Any], counts: Counter[str]) -> str | None:
    """Why no right call of the row passes; None where one does, for each call of its ground truth."""
    reason: str | None = None
    for truth in row.truth:
        for name, arguments in truth.items():
            tool = registry.require(f"{row.id}:{name}")
            refused, passed = None, False
            for call in calls(arguments, dict(tool.input_schema)):
                counts["calls"] += 1
                try:
                    counts["repaired"] += tool.parse(json.dumps(call))[2]
                    passed = True
                except InvalidArguments as error:
                    counts["refused"] += 1
                    refused = str(error)
            if not passed:
                reason = refused
    return reason


def test_every_function_registers_and_every_right_call_passes_but_those_listed(corpus: Corpus) -> None:
    counts: Counter[str] = Counter()
    refused: dict[str, str | None] = {}
    for name, row in corpus.rows:
        counts[name] += 1
        reason = judged(row, corpus.registry, counts)
        if reason is not None:
            refused[row.id] = reason
    say("\n" + "\n".join(f"{name:<24}{counts[name]:>6} rows" for name in SETS))
    say(f"{'calls':<24}{counts['calls']:>6}, of them {counts['repaired']} after a repair")
    say(f"{'refused spellings':<24}{counts['refused']:>6}, each beside its reason in the row's own schema")
    say(f"{'rows without a right call':<24}{len(refused):>5}: {', '.join(sorted(refused))}")
    assert refused.keys() == KNOWN["rows"].keys(), refused
    assert len(refused) <= 25
    assert counts["refused"] == KNOWN["refused_spellings"]


@pytest.mark.parametrize("dialect", HOLDERS)
def test_every_function_is_exported_legally(corpus: Corpus, dialect: Any) -> None:
    started = time.process_time()
    made = corpus.registry.export(dialect)
    seconds = time.process_time() - started
    size = len(json.dumps(made.definitions))
    say(f"\n{dialect}: {len(made.definitions)} definitions, {size / 1e6:.1f} MB, {seconds:.2f} s CPU")
    assert {each.tool_id: each.code for each in made.left_out} == KNOWN["left_out"].get(dialect, {})
    assert len(made.definitions) + len(made.left_out) == len(corpus.registry.ids())
    for definition in made.definitions:
        check(definition, dialect)


@pytest.mark.parametrize("dialect", HOLDERS)
def test_what_a_model_is_shown_admits_every_call_that_the_tool_takes(corpus: Corpus, dialect: Any) -> None:
    made = corpus.registry.export(dialect)
    shown = {str(made.names.tool_id(name_of(each))): schema_of(each, dialect) for each in made.definitions}
    narrower: list[str] = []
    for _, row in corpus.rows:
        for name, arguments in (pair for truth in row.truth for pair in truth.items()):
            tool = corpus.registry.require(f"{row.id}:{name}")
            if tool.id in shown:
                admits = jsonschema_rs.Draft202012Validator(shown[tool.id], offline=True).is_valid
                taken = (call for call in calls(arguments, dict(tool.input_schema)) if takes(tool, call))
                narrower += [tool.id for call in taken if not admits(call)]
    assert narrower == []


def takes(tool: RegisteredTool[Any], call: dict[str, Any]) -> bool:
    """Whether it takes the call as it is, without a repair."""
    try:
        return not tool.parse(json.dumps(call))[2]
    except InvalidArguments:
        return False


def name_of(definition: dict[str, Any]) -> str:
    name: str = definition.get("function", definition)["name"]
    return name


def test_every_function_has_a_sample_call_that_passes(corpus: Corpus) -> None:
    def passes(tool: RegisteredTool[Any]) -> bool:
        made = sample(tool)
        return made is not None and tool.parse(made)[2] is False

    without = [tool.id for tool in corpus.registry.definitions if not passes(tool)]
    say(f"\n{len(corpus.registry.ids()) - len(without)} sample calls")
    assert without == []
