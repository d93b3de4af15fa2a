import ast
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HARD = {"function": 60, "module": 600, "class": 400}
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@pytest.fixture(scope="module")
def ceilings(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "tests/repository/ceilings.toml").read_text())


def definitions(module: str, tree: ast.AST) -> Iterator[tuple[str, Definition]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Definition):
            name = f"{module}.{node.name}"
            yield name, node
            yield from definitions(name, node)
        else:
            yield from definitions(module, node)


def length(node: Definition) -> int:
    """Lines from the first to the last, decorators and docstring not counted."""
    first = node.body[0]
    docstring = 0
    if ast.get_docstring(node, clean=False) is not None:
        docstring = (first.end_lineno or first.lineno) - first.lineno + 1
    return (node.end_lineno or node.lineno) - node.lineno + 1 - docstring


def module_name(path: Path, root: Path) -> str:
    relative = path.relative_to(root)
    parts = relative.parts[1:] if relative.parts[0] == "src" else relative.parts
    return ".".join(parts).removesuffix(".py").removesuffix(".__init__")


@pytest.fixture(scope="module")
def sizes(root: Path, written: list[Path]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {"function": {}, "module": {}, "class": {}}
    for path in written:
        if path.suffix != ".py":
            continue
        text = path.read_text()
        module = module_name(path, root)
        found["module"][module] = text.count("\n")
        for name, node in definitions(module, ast.parse(text)):
            found["class" if isinstance(node, ast.ClassDef) else "function"][name] = length(node)
    return found


@pytest.mark.parametrize("kind", ["function", "module", "class"])
def test_nothing_is_longer_than_the_ceiling(
    kind: str, sizes: dict[str, dict[str, int]], ceilings: dict[str, Any]
) -> None:
    allowed = ceilings["exceptions"]
    too_long = {
        name: lines for name, lines in sizes[kind].items() if lines > allowed.get(name, ceilings[kind])
    }
    assert not too_long, f"split these, the ceiling for a {kind} is {ceilings[kind]} lines"


def test_an_exception_names_something_that_needs_it(
    sizes: dict[str, dict[str, int]], ceilings: dict[str, Any]
) -> None:
    everything = {**sizes["function"], **sizes["module"], **sizes["class"]}
    needless = [name for name in ceilings["exceptions"] if everything.get(name, 0) <= HARD["function"]]
    assert not needless, "these exceptions are not needed any more"


def test_ceilings_are_never_raised(git: Callable[..., str | None], ceilings: dict[str, Any]) -> None:
    assert all(ceilings[kind] <= most for kind, most in HARD.items())
    newer = ceilings
    for older in earlier_ceilings(git):
        for kind in HARD:
            assert newer[kind] <= older[kind], f"the ceiling for a {kind} was raised"
        newer = older


def earlier_ceilings(git: Callable[..., str | None]) -> Iterator[dict[str, Any]]:
    """The file's earlier versions, the newest first; none where there is no history."""
    name = "tests/repository/ceilings.toml"
    for commit in (git("log", "-30", "--format=%H", "--", name) or "").split():
        text = git("show", f"{commit}:{name}")
        if text is not None:
            yield tomllib.loads(text)
