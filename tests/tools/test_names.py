"""Names on the wire find their way back."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard.tools import WireNames

ids = st.text(min_size=1, max_size=120).filter(lambda text: text.isprintable()) | st.from_regex(
    r"[A-Za-z0-9_.:/-]{1,130}", fullmatch=True
)


@pytest.mark.covers("B33", "B34", "B36")
@given(st.lists(ids, max_size=12))
def test_names_are_legal_distinct_and_reversible(tool_ids: list[str]) -> None:
    names = WireNames(tool_ids)
    for tool_id in tool_ids:
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", names[tool_id])
        assert names.tool_id(names[tool_id]) == tool_id
    assert len(set(names.values())) == len(set(tool_ids)) == len(names)


@given(st.lists(ids, max_size=12), st.randoms())
def test_names_do_not_depend_on_order_or_company(tool_ids: list[str], shuffle: random.Random) -> None:
    names = WireNames(tool_ids)
    shuffle.shuffle(tool_ids)
    assert dict(WireNames(tool_ids)) == dict(names)
    for tool_id in tool_ids:
        assert WireNames([tool_id])[tool_id] == names[tool_id]


@pytest.mark.parametrize("name", ["add", "read_file", "a-b", "A" * 64, "_"])
def test_a_legal_id_is_its_own_name(name: str) -> None:
    assert WireNames([name])[name] == name


@pytest.mark.parametrize("name", ["0", "2fa", "9" * 64, "日本"])
def test_an_id_that_gemini_would_refuse_gets_another_name_for_all_providers(name: str) -> None:
    assert re.fullmatch(r"tool_[a-z0-9_-]+", WireNames([name])[name])


@pytest.mark.covers("B33")
def test_a_prefixed_long_id_is_shortened_and_ends_in_a_hash_of_all_of_it() -> None:
    first, second = "n" * 40 + "." + "t" * 40, "n" * 40 + "." + "t" * 39 + "u"
    names = WireNames([first, second])
    assert len(names[first]) <= 64
    assert names[first].startswith("n" * 40)
    assert names[first] != names[second]


@pytest.mark.covers("B36")
def test_ids_that_normalise_alike_are_told_apart() -> None:
    names = WireNames(["a.b", "a/b", "a b", "a_b"])
    assert names["a_b"] == "a_b"
    assert len(set(names.values())) == 4
    assert all(name.startswith("a_b") for name in names.values())


def test_an_id_that_is_registered_under_the_name_of_another_keeps_it() -> None:
    taken = WireNames(["a.b"])["a.b"]
    names = WireNames(["a.b", taken])
    assert names[taken] == taken
    assert names["a.b"] != taken
    assert names.tool_id(names["a.b"]) == "a.b"


def test_an_id_without_a_legal_character_gets_a_name() -> None:
    assert re.fullmatch(r"tool_[a-z2-7]{10}", WireNames(["天气"])["天气"])


def test_a_name_that_was_never_given_leads_nowhere() -> None:
    names = WireNames(["a.b"])
    assert names.tool_id("a.b") is None
    with pytest.raises(KeyError):
        names["other"]
