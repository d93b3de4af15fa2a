"""The exceptions, as a caller meets them."""

import copy
import inspect
import re
import traceback

import pytest

from callboard import errors
from callboard.errors import CallboardError, Denied, RegistrationError, ToolError

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


def test_a_traceback_says_the_next_step_of_what_is_wrong_with_a_program() -> None:
    wrong = RegistrationError("tool 's': rate is '10 per minute'", hint="such as '10/min'")

    assert traceback.format_exception(wrong)[-1] == "hint: such as '10/min'\n"
    assert traceback.format_exception(copy.copy(wrong)) == traceback.format_exception(wrong)


def test_a_hint_for_a_model_may_hold_a_secret_and_is_in_no_traceback() -> None:
    assert "tk-1" not in "".join(traceback.format_exception(ToolError("no", hint="not with tk-1")))
