"""The exceptions, as a caller meets them."""

import copy
import inspect
import re

import pytest

from callboard import errors
from callboard.errors import CallboardError, Denied, ToolError

CLASSES = [getattr(errors, name) for name in errors.__all__]


def test_the_tree_in_the_docstring_names_every_class_and_no_other() -> None:
    drawn = re.findall(r"(?:[├└]── |^    )(\w+)", errors.__doc__ or "", re.MULTILINE)

    assert sorted({*drawn, "CallboardError"} - {"try", "except", "registry", "print"}) == sorted(
        errors.__all__
    )


def test_every_class_says_who_reacts_and_has_a_code_of_its_own() -> None:
    codes = [c.code for c in CLASSES if issubclass(c, CallboardError)]

    assert all(inspect.getdoc(c) for c in CLASSES)
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("made", [c for c in CLASSES if issubclass(c, ToolError)])
def test_code_hint_and_text_survive_a_copy(made: type[ToolError]) -> None:
    error = made("text", code="my.code", hint="do this")

    copied = copy.copy(error)

    assert (type(copied), str(copied), copied.code, copied.hint) == (made, "text", "my.code", "do this")


def test_a_denial_keeps_its_chain_of_reasons() -> None:
    assert Denied("no", reasons=("rule 1", "rule 2")).reasons == ("rule 1", "rule 2")
    assert Denied("no").reasons == ("no",)
