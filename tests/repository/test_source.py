"""What holds for the source as a whole: what it exports, imports, and says about itself."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import callboard

PUBLIC = [
    "Abort",
    "Approver",
    "Decision",
    "Host",
    "Injected",
    "Principal",
    "RunResult",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolRegistry",
    "ToolResult",
    "__version__",
    "secret",
    "tool",
]
HEAVY = ["pydantic", "pydantic_ai", "sqlalchemy", "alembic", "rich", "griffe", "jsonschema_rs", "cyclopts"]


def test_the_public_names_are_a_closed_list_and_all_are_there() -> None:
    assert sorted(callboard.__all__) == PUBLIC
    assert [name for name in PUBLIC if getattr(callboard, name, None) is None] == []
    assert dir(callboard) == callboard.__all__


def test_importing_callboard_loads_nothing_heavy() -> None:
    program = f"import sys, callboard; print(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.split() == []


def test_each_room_has_a_card_that_says_what_it_owns(root: Path) -> None:
    source = root / "src/callboard"
    rooms = [*source.glob("*/__init__.py"), *source.glob("builtin/*/__init__.py")]
    rooms.append(root / "src/callboard_worker/__init__.py")
    cards = {path.parent: path.with_name("README.md") for path in rooms}
    missing = [str(room.relative_to(root)) for room, card in cards.items() if not card.exists()]
    assert not missing, "a README.md of at most eight lines: owns, does not own, imports, tests"
    for card in cards.values():
        text = card.read_text()
        assert text.count("\n") <= 8, card
        assert "Owns:" in text, card


def test_the_program_in_the_sandbox_imports_little(root: Path) -> None:
    allowed = {*sys.stdlib_module_names, "msgpack", "pydantic", "pydantic_core", "callboard_worker"}
    imported = {
        name.split(".")[0]
        for path in (root / "src/callboard_worker").rglob("*.py")
        for name in imports(ast.parse(path.read_text()))
    }
    assert imported <= allowed


def imports(tree: ast.AST) -> list[str]:
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module or "callboard_worker")
    return names


def test_nothing_is_left_to_do_and_no_machine_shows_through(root: Path, written: list[Path]) -> None:
    marks = "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X"])
    places = "|".join(["wo" + "rk/(?:main|shared)", "ro" + "ot/", "home/" + r"[a-z]", r"tmp/la" + "b"])
    pattern = re.compile(rf"\b(?:{marks})\b|(?<![\w.])/(?:{places})")
    found: list[str] = []
    for path in written:
        if path.suffix not in {".py", ".md", ".toml", ".txt", ".csv", ""} or path.name == "LICENSE":
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
            if pattern.search(line):
                found.append(f"{path.relative_to(root)}:{number}: {line.strip()[:80]}")
    assert not found
