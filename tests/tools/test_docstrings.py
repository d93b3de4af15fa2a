"""Descriptions from docstrings in three styles, without a word on stderr."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from typing import Annotated, Any

import pytest
from pydantic import Field
from typing_extensions import Doc

from callboard.tools import registered, tool


def google(path: str, limit: int = 3) -> str:
    """Read a file.

    It reads text only.

    Args:
        path: where it is,
            relative to the workspace
        limit: how many lines

    Returns:
        The text.

    Raises:
        OSError: when it can't.
    """
    return path


def numpy(path: str, limit: int = 3) -> str:
    """Read a file.

    It reads text only.

    Parameters
    ----------
    path : str
        where it is,
        relative to the workspace
    limit : int
        how many lines

    Returns
    -------
    str
        The text.
    """
    return path


def sphinx(path: str, limit: int = 3) -> str:
    """Read a file.

    It reads text only.

    :param path: where it is,
        relative to the workspace
    :param int limit: how many lines
    :returns: The text.
    """
    return path


@pytest.mark.parametrize("function", [google, numpy, sphinx])
def test_summary_and_parameters_are_read(function: Any, capfd: pytest.CaptureFixture[str]) -> None:
    entry = registered(tool(function))
    assert entry.description == "Read a file.\n\nIt reads text only."
    assert entry.input_schema["properties"] == {
        "path": {"type": "string", "description": "where it is, relative to the workspace"},
        "limit": {"type": "integer", "default": 3, "description": "how many lines"},
    }
    assert capfd.readouterr() == ("", "")


def test_an_unannotated_parameter_makes_no_noise(capfd: pytest.CaptureFixture[str]) -> None:
    def loose(path, other):  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]
        """Do it.

        Args:
            path: the path
            nowhere: no such parameter
        """

    assert registered(tool(loose)).parameters["path"] == {"description": "the path"}
    assert capfd.readouterr() == ("", "")


def test_what_field_says_wins_over_the_docstring() -> None:
    def f(
        x: Annotated[int, Field(description="from the field")], y: Annotated[int, Field(alias="why")]
    ) -> None:
        """Do it.

        Args:
            x: from the docstring
            y: by its Python name
        """

    properties = registered(tool(f)).input_schema["properties"]
    assert properties["x"]["description"] == "from the field"
    assert properties["why"]["description"] == "by its Python name"


def test_a_text_or_doc_in_annotated_describes() -> None:
    def f(x: Annotated[int, "how many"], y: Annotated[int, Doc("how few")] = 1) -> None: ...

    views = registered(tool(f)).parameters
    assert views["x"] == {"type": "integer", "description": "how many"}
    assert views["y"] == {"type": "integer", "description": "how few", "default": 1}


@pytest.mark.parametrize(
    ("text", "description"), [(None, None), ("", None), ("One line.", "One line."), ("   \n  ", None)]
)
def test_short_docstrings_are_taken_as_they_are(text: str | None, description: str | None) -> None:
    def f() -> None: ...

    f.__doc__ = text
    assert registered(tool(f)).description == description
