import ast
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef


def test_every_test_asserts_something(root: Path) -> None:
    idle: list[str] = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, Function)]
        asserting = {node.name for node in functions if asserts(node, set())}
        while more := {node.name for node in functions if asserts(node, asserting)} - asserting:
            asserting |= more
        idle += [
            f"{path.relative_to(root)}::{node.name}"
            for node in functions
            if node.name.startswith("test_") and node.name not in asserting
        ]
    assert not idle


def asserts(function: Function, helpers: set[str]) -> bool:
    """Whether it asserts, expects an error, or calls a function of its module that does."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in helpers or called in {"pytest.raises", "pytest.fail", "pytest.warns"}:
                return True
    return False
