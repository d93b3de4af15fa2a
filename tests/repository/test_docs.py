"""Every example in the documentation is a file in docs_src, and every file there runs."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.name for path in (ROOT / "docs_src").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# <!-- docs_src/first_tool.py --> on the line before the block
BLOCK = re.compile(
    r"(?:<!-- (?P<file>docs_src/\S+) -->\n)?^```python\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL
)
SIGNATURE = 3  # lines of a block that shows a signature, not an example


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_runs(name: str, tmp_path: Path) -> None:
    keyless = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "docs_src" / name)],
        cwd=tmp_path,
        env=keyless,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_python_block_is_part_of_an_example_file(page: Path) -> None:
    for block in BLOCK.finditer(page.read_text()):
        code = block["code"]
        if block["file"] is None and code.count("\n") <= SIGNATURE:
            assert ast.parse(code)
            continue
        assert block["file"], f"name the file before this block, as <!-- docs_src/NAME.py -->:\n{code}"
        assert code.strip() in (ROOT / block["file"]).read_text(), block["file"]


def test_every_page_is_in_the_index_and_every_link_leads_somewhere() -> None:
    index = (ROOT / "docs/README.md").read_text()
    for page in PAGES:
        name = str(page.relative_to(ROOT)).removeprefix("docs/")
        assert name == "README.md" or f"({name})" in index, f"{name} is not in docs/README.md"
        for target in re.findall(r"\]\((?!https?://|#|mailto:)([^)#\s]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_decision_has_a_number_of_its_own_and_is_in_the_index() -> None:
    folder = ROOT / "decisions"
    index = (folder / "README.md").read_text()
    pages = sorted(path.name for path in folder.glob("[0-9]*.md") if path.name != "0000-template.md")
    assert len({name[:4] for name in pages}) == len(pages)
    for name in pages:
        assert f"({name})" in index, f"{name} is not in decisions/README.md"
        text = (folder / name).read_text()
        assert text.startswith(f"# {name[:4]}: ")
        for heading in ("Status: ", "## Problem", "## Refused", "## Choice", "## How we would know"):
            assert heading in text, f"{name} lacks {heading}"
