from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callboard.builtin.files import Workspace
from callboard.builtin.files.reading import MAX_TEXT, read_text
from callboard.errors import ToolError


def refused(workspace: Workspace, start: int | None = None, end: int | None = None) -> ToolError:
    with pytest.raises(ToolError) as caught:
        read_text(workspace, "a.txt", start, end)
    return caught.value


@pytest.fixture
def file(folder: Path) -> Path:
    return folder / "a.txt"


def test_text_comes_back_as_it_is_line_ends_included(workspace: Workspace, file: Path) -> None:
    file.write_bytes("one\r\ntwo\nthrée\rfour\u2028five".encode())
    assert read_text(workspace, "a.txt") == "one\r\ntwo\nthrée\rfour\u2028five"


def test_a_byte_order_mark_is_no_text(workspace: Workspace, file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbfhello\nworld")
    assert read_text(workspace, "a.txt") == "hello\nworld"
    assert read_text(workspace, "a.txt", 1, 1) == "hello\n"


def test_an_empty_file_is_empty_text(workspace: Workspace, file: Path) -> None:
    file.touch()
    assert read_text(workspace, "a.txt") == ""
    assert read_text(workspace, "a.txt", 1, 10) == ""
    assert refused(workspace, 2).hint == "the file is empty"


@pytest.mark.parametrize(
    ("start", "end", "lines"),
    [(1, 1, "1\n"), (2, 3, "2\n3\n"), (4, None, "4\n5"), (None, 2, "1\n2\n"), (5, 99, "5"), (5, 5, "5")],
)
def test_a_range_counts_from_one_and_includes_both_ends(
    workspace: Workspace, file: Path, start: int | None, end: int | None, lines: str
) -> None:
    file.write_text("1\n2\n3\n4\n5")
    assert read_text(workspace, "a.txt", start, end) == lines


@pytest.mark.parametrize(("start", "end"), [(0, 1), (-1, None), (3, 2), (None, 0)])
def test_a_range_that_is_none_is_refused(
    workspace: Workspace, file: Path, start: int | None, end: int | None
) -> None:
    file.write_text("1\n2\n3\n")
    assert refused(workspace, start, end).code == "file.bad_range"


def test_a_line_behind_the_end_says_how_many_there_are(workspace: Workspace, file: Path) -> None:
    file.write_text("1\n2\n3\n")
    error = refused(workspace, 4)
    assert error.code == "file.no_such_line"
    assert str(error) == "a.txt has 3 lines; there is no line 4"


def test_a_file_of_a_hundred_thousand_lines_is_read_in_parts(workspace: Workspace, file: Path) -> None:
    file.write_text("".join(f"this is line {number}\n" for number in range(1, 100_001)))
    error = refused(workspace)
    assert error.code == "file.too_large"
    assert "start_line" in (error.hint or "")
    assert read_text(workspace, "a.txt", 99_999) == "this is line 99999\nthis is line 100000\n"
    assert refused(workspace, 1, 100_000).hint == "ask for fewer lines"


def test_a_line_that_is_too_long_is_passed_over_on_the_way_and_refused_when_asked_for(
    workspace: Workspace, file: Path
) -> None:
    file.write_bytes(b"x" * (3 * MAX_TEXT) + b"\nsecond\n")
    assert read_text(workspace, "a.txt", 2) == "second\n"
    assert refused(workspace, 1, 1).hint == "this line is too long to be read"


def test_a_sparse_giant_is_not_read_to_its_end(workspace: Workspace, file: Path) -> None:
    with file.open("wb") as stream:
        stream.truncate(1 << 40)
    assert refused(workspace).code == "file.too_large"
    assert refused(workspace, 2).code == "file.too_large"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"caf\xe9", "byte 0xe9 is no UTF-8"),
        (b"a\0b", "there is a NUL at byte 1"),
        ("hi".encode("utf-16"), "it is UTF-16"),
        (b"\xed\xa0\x80", "byte 0xed is no UTF-8"),
    ],
)
def test_what_is_no_text_is_refused_with_the_reason(
    workspace: Workspace, file: Path, data: bytes, reason: str
) -> None:
    file.write_bytes(data)
    error = refused(workspace)
    assert error.code == "file.not_text"
    assert str(error) == f"a.txt is not UTF-8 text: {reason}"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    st.integers(1, 6),
    st.integers(1, 6),
)
def test_ranges_put_together_are_the_file(
    workspace: Workspace, file: Path, text: str, first: int, more: int
) -> None:
    text = text.removeprefix("\ufeff")
    file.write_bytes(text.encode())
    assert read_text(workspace, "a.txt") == text
    lines = text.split("\n")
    expected = "\n".join(lines[first - 1 : first - 1 + more])
    if first > 1 and first > len(lines) - (not lines[-1]):
        with pytest.raises(ToolError, match="there is no line"):
            read_text(workspace, "a.txt", first, first + more - 1)
    else:
        answer = read_text(workspace, "a.txt", first, first + more - 1)
        assert answer.removesuffix("\n") == expected.removesuffix("\n")
