"""Which requirement and which case is shown by which test, read from the tests' text.

`python tests/behaviour/coverage.py` prints what has no test yet.
"""

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
# The parts of the project that are done: every statement of theirs has a test.
FINISHED = frozenset({1, 2})


def statements() -> dict[str, tuple[int, str]]:
    """From each id to the part that owns it and the statement."""
    found: dict[str, tuple[int, str]] = {}
    for path in sorted((TESTS / "behaviour/statements").glob("*.toml")):
        for part, entries in tomllib.loads(path.read_text())["part"].items():
            for name, text in entries.items():
                if name in found:
                    raise ValueError(f"{path.name}: {name} is stated twice")
                found[name] = int(part), text
    return found


def shown() -> dict[str, list[str]]:
    """From each id that a test names to these tests, as `file::test`."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for test, name in _marked(ast.parse(path.read_text())):
            found.setdefault(name, []).append(f"{path.relative_to(TESTS)}::{test}")
    return found


def _marked(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each id in a `pytest.mark.covers(...)`, with the test or the assignment that it stands at."""
    for statement in tree.body:
        name = getattr(statement, "name", "all")
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.covers":
                for each in _ids(node):
                    yield name, each


def _ids(node: ast.Call) -> Iterator[str]:
    """The ids are written out, so that they can be searched for."""
    for argument in node.args:
        if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
            raise TypeError(f"line {node.lineno}: write the id out instead of {ast.unparse(argument)}")
        yield argument.value


def missing(parts: frozenset[int] | set[int]) -> dict[str, str]:
    """The statements of these parts that no test shows."""
    tests = shown()
    return {name: text for name, (part, text) in statements().items() if part in parts and name not in tests}


def main() -> None:
    """Print what is missing, of the parts given (by default the first that is not finished)."""
    parts = {int(argument) for argument in sys.argv[1:]}
    if not parts:
        parts = {min(part for part, _ in statements().values() if part not in FINISHED)}
    lacking = missing(parts)
    for name, text in sorted(lacking.items()):
        sys.stdout.write(f"{name}  {text}\n")
    total = sum(part in parts for part, _ in statements().values())
    sys.stdout.write(f"{total - len(lacking)} of {total} statements of part {sorted(parts)} have a test\n")


if __name__ == "__main__":
    main()
