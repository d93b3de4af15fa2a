import time
from pathlib import Path

import pytest

from callboard.builtin.files import Workspace, walking
from callboard.builtin.files.listing import list_entries
from callboard.builtin.files.searching import MAX_HITS, search
from callboard.errors import ToolError


@pytest.fixture(autouse=True)
def shop(folder: Path) -> None:
    (folder / "docs/deep").mkdir(parents=True)
    (folder / "README.md").write_text("# Shop\r\nAsk about Refunds.\r\n")
    (folder / "docs/policy.md").write_text("refunds take 5 days\nno exceptions\nREFUNDS again\n")
    (folder / "docs/deep/notes.txt").write_text("x")
    (folder / ".git").mkdir()
    (folder / ".git/config").write_text("refunds")


def test_text_is_found_in_any_case_sorted_by_path(workspace: Workspace) -> None:
    assert search(workspace, "refunds") == (
        "README.md:2: Ask about Refunds.\n"
        "docs/policy.md:1: refunds take 5 days\n"
        "docs/policy.md:3: REFUNDS again"
    )


def test_a_search_can_be_held_to_a_folder_or_a_file(workspace: Workspace) -> None:
    assert search(workspace, "refunds", path="docs/deep") == "no match for refunds in 1 file"
    assert search(workspace, "shop", path="README.md") == "README.md:1: # Shop"
    with pytest.raises(ToolError) as caught:
        search(workspace, "shop", path="README.md/x")
    assert caught.value.code == "file.not_a_folder"


def test_regular_expressions_tell_case_apart_and_see_line_ends(workspace: Workspace) -> None:
    assert search(workspace, r"refunds take \d+ days$", regex=True) == "docs/policy.md:1: refunds take 5 days"
    assert search(workspace, r"Refunds\.$", regex=True) == "README.md:2: Ask about Refunds."
    assert search(workspace, r"(?i)^REFUNDS A", regex=True) == "docs/policy.md:3: REFUNDS again"


@pytest.mark.parametrize(
    "pattern", ["(", "a(?=b)", r"(a)\1", "", "x" * 501, "(a{1000}){1000}", "[" * 200, "*", r"\p{Nope}"]
)
def test_an_expression_that_can_not_be_used_is_refused(workspace: Workspace, pattern: str) -> None:
    with pytest.raises(ToolError) as caught:
        search(workspace, pattern, regex=True)
    assert caught.value.code == "search.bad_regex"
    assert caught.value.hint
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "pattern", [r"^(a+)+$", r"(x+x+)+y", r"(a|aa)*b", r"(.*)(.*)(.*)(.*)[^a]$", r"\w{150}!"]
)
def test_no_expression_takes_more_than_linear_time(workspace: Workspace, folder: Path, pattern: str) -> None:
    (folder / "long.txt").write_text(("a" * 200_000 + "!\n") * 5)
    started = time.monotonic()
    search(workspace, pattern, regex=True)
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("text", ["", "  ", "a\nb"])
def test_text_that_can_not_stand_in_a_line_is_refused(workspace: Workspace, text: str) -> None:
    with pytest.raises(ToolError) as caught:
        search(workspace, text)
    assert caught.value.code == "search.bad_text"


def test_what_is_no_text_or_too_large_is_passed_over_and_counted(workspace: Workspace, folder: Path) -> None:
    (folder / "image.bin").write_bytes(b"refunds\0")
    with (folder / "giant.txt").open("wb") as stream:
        stream.truncate(1 << 40)
    assert search(workspace, "refunds", path=".").endswith(
        "\n(2 files left out: no text, too large or not ours to read)"
    )


def test_answers_are_bounded_and_say_so(workspace: Workspace, folder: Path) -> None:
    (folder / "docs/many.txt").write_text("hit\n" * 1000)
    lines = search(workspace, "hit").split("\n")
    assert len(lines) == MAX_HITS + 1
    assert lines[-1] == f"(stopped after {MAX_HITS} matches: name a folder, or search for something rarer)"


def test_long_lines_are_cut_around_the_match(workspace: Workspace, folder: Path) -> None:
    (folder / "long.txt").write_text("a" * 5000 + "needle" + "b" * 5000 + "\x1b[31m\n")
    line = search(workspace, "needle")
    assert "needle" in line
    assert len(line) < 250
    assert "\x1b" not in line


def test_a_folder_is_listed_with_its_folders_marked(workspace: Workspace) -> None:
    assert list_entries(workspace) == ".git/\nREADME.md\ndocs/"
    assert list_entries(workspace, ".", "") == list_entries(workspace)
    assert list_entries(workspace, "docs") == "docs/deep/\ndocs/policy.md"
    assert list_entries(workspace, "docs/deep/") == "docs/deep/notes.txt"


def test_an_empty_folder_says_so(workspace: Workspace, folder: Path) -> None:
    (folder / "empty").mkdir()
    assert list_entries(workspace, "empty") == "empty is empty"


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("*.md", "README.md\ndocs/policy.md"),
        ("docs/*.md", "docs/policy.md"),
        ("/*.md", "README.md"),
        ("**/*.txt", "docs/deep/notes.txt"),
        ("docs/**", "docs/deep/notes.txt\ndocs/policy.md"),
        ("**/deep/**/notes.txt", "docs/deep/notes.txt"),
        ("README.md", "README.md"),
        ("[", "no file in . matches ["),
        ("*" * 150 + "x", "no file in . matches " + "*" * 150 + "x"),
    ],
)
def test_a_pattern_names_files_at_any_depth(workspace: Workspace, pattern: str, files: str) -> None:
    assert list_entries(workspace, ".", pattern) == files


@pytest.mark.parametrize("pattern", ["/", "./", "a\0b", "x" * 201])
def test_a_pattern_that_names_nothing_is_refused(workspace: Workspace, pattern: str) -> None:
    with pytest.raises(ToolError) as caught:
        list_entries(workspace, ".", pattern)
    assert caught.value.code == "list.bad_pattern"


def test_a_long_list_is_cut_and_says_so(workspace: Workspace, folder: Path) -> None:
    (folder / "full").mkdir()
    for number in range(510):
        (folder / f"full/{number:04}").touch()
    lines = list_entries(workspace, "full").split("\n")
    assert lines[0] == "full/0000"
    assert lines[-1] == "(10 more: name a folder or a pattern)"


def test_folders_inside_folders_end_somewhere(workspace: Workspace, folder: Path) -> None:
    deep = folder
    for _ in range(60):
        deep /= "d"
        deep.mkdir()
    (deep / "bottom.txt").write_text("bottom")
    left_out = "(1 folder more than 40 levels down left out: name one of them)"
    assert list_entries(workspace, ".", "bottom.txt") == f"no file in . matches bottom.txt\n{left_out}"
    assert search(workspace, "bottom") == f"no match for bottom in 3 files\n{left_out}"
    assert search(workspace, "bottom", path="/".join(["d"] * 30)).endswith("bottom.txt:1: bottom")


def test_an_end_before_all_was_seen_is_told(
    workspace: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walking, "MAX_ENTRIES", 3)
    told = "(stopped after 3 entries: name a folder below)"
    assert search(workspace, "nowhere") == f"no match for nowhere in 1 file\n{told}"
    assert list_entries(workspace, ".", "nowhere") == f"no file in . matches nowhere\n{told}"
    assert list_entries(workspace) == ".git/\nREADME.md\ndocs/"
    for number in range(4):
        (folder / f"docs/deep/{number}").touch()
    assert list_entries(workspace, "docs/deep").endswith(told)
    assert search(workspace, "nowhere", path="docs/deep").endswith(told)


def test_lines_that_an_expression_does_not_see_to_their_end_are_counted(
    workspace: Workspace, folder: Path
) -> None:
    (folder / "docs/long.txt").write_text("a" * 10_001 + "needle\nneedle" + "a" * 10_001)
    told = "(1 line looked at up to character 10000)"
    assert (
        search(workspace, "needle$", regex=True, path="docs")
        == "no match for needle$ in 3 files\n(2 lines looked at up to character 10000)"
    )
    assert search(workspace, "needle", regex=True, path="docs").endswith(f"\n{told}")
    assert "looked at" not in search(workspace, "needle", path="docs")
