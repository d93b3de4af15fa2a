"""A text that holds a secret, in whatever spelling, holds it no more."""

import base64
import html
import json
import time
from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from callboard import ToolRegistry, secret, tool
from callboard.types import Redaction

Spell = Callable[[str], str]


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _ascii_json(text: str) -> str:
    return json.dumps(text)[1:-1]


SPELLINGS: dict[str, Spell] = {
    "as it is": str,
    "JSON": _json,
    "ASCII JSON": _ascii_json,
    "JSON with escaped slashes": lambda text: _json(text).replace("/", "\\/"),
    "JSON in capitals": lambda text: "".join(
        f"\\u{ord(char):04X}" if 0x7F < ord(char) < 0x10000 else _json(char) for char in text
    ),
    "JSON in JSON": lambda text: _json(_json(text)),
    "ASCII JSON in JSON": lambda text: _json(_ascii_json(text)),
    "JSON three times": lambda text: _json(_json(_json(text))),
    "Python": lambda text: repr(text)[1:-1],
    "ASCII Python": lambda text: ascii(text)[1:-1],
    "Python in JSON": lambda text: _json(repr(text)[1:-1]),
    "URL": quote,
    "URL, everything": lambda text: quote(text, safe=""),
    "URL, small": lambda text: "".join(
        char if char.isascii() and char.isalnum() else quote(char, safe="").lower() for char in text
    ),
    "URL in URL": lambda text: quote(quote(text, safe=""), safe=""),
    "form": quote_plus,
    "URL of JSON": lambda text: quote(_json(text)),
    "HTML": html.escape,
    "hexadecimal": lambda text: text.encode().hex(),
    "HEXADECIMAL": lambda text: text.encode().hex().upper(),
}

CHARACTERS = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from("\"'\\/%&<> +=-_.~:\n\r\t\b\f\x00\x7fné€😀n0u5c"),
)
SECRETS = st.text(CHARACTERS, min_size=6, max_size=40).filter(lambda text: len(text.strip()) >= 6)
AROUND = st.text(CHARACTERS, max_size=12)


def redaction(*secrets: str) -> Redaction:
    made = Redaction()
    for each in secrets:
        made.add(each)
    return made


@pytest.mark.parametrize("name", SPELLINGS)
@settings(deadline=None)
@given(hidden=SECRETS, before=AROUND, after=AROUND)
@example(hidden='\\"\\"\\"', before="", after="")
@example(hidden="\\\\\\\\\\\\", before="a", after='"')
@example(hidden="%%2525%25", before="%", after="25")
@example(hidden="a\\nb\\u0041", before="\\", after="\\")
def test_no_spelling_of_a_secret_is_left(name: str, hidden: str, before: str, after: str) -> None:
    spelled = SPELLINGS[name](hidden)

    shown = redaction(hidden).text(before + spelled + after)

    assert "***" in shown
    if "*" not in hidden:
        assert spelled not in shown


@settings(deadline=None)
@given(hidden=SECRETS, before=st.binary(max_size=8), after=st.binary(max_size=8), safe=st.booleans())
def test_no_base64_of_anything_around_a_secret_is_left(
    hidden: str, before: bytes, after: bytes, safe: bool
) -> None:
    data = hidden.encode()
    encode = base64.urlsafe_b64encode if safe else base64.b64encode
    whole = encode(before + data + after).decode()
    first, last = -(-len(before) * 8 // 6), (len(before) + len(data)) * 8 // 6
    # Of the secret's bits none may be left but in the characters that it shares with what is around it.
    shown = redaction(hidden).text(f"<{whole}>")

    assert whole[first:last] not in shown
    assert "***" in shown
    for text in (quote(whole, safe=""), json.dumps(whole), whole.rstrip("=")):
        assert "***" in redaction(hidden).text(text)


@settings(deadline=None)
@given(hidden=SECRETS, other=st.text(CHARACTERS, max_size=60))
def test_a_text_without_the_secret_stays_as_it_is(hidden: str, other: str) -> None:
    plain = "".join(
        char for char in other if char not in hidden and char not in "\\%&+0123456789abcdefABCDEF="
    )
    assume(len(plain) < 6 or plain == plain.strip())

    assert redaction(hidden).text(plain) == plain


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(CHARACTERS, max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(CHARACTERS, max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(hidden=SECRETS, around=JSON)
def test_the_record_of_a_result_stays_json_and_holds_no_secret(hidden: str, around: Any) -> None:
    @tool(mode="read")
    def show(token: Annotated[str, secret("TOKEN")]) -> Any:
        return {"around": around, "list": [token, 1, f"a{token}b"], "twice": json.dumps([token]), token: None}

    def resolve(*_: object) -> str:
        return hidden

    result = ToolRegistry(secrets=resolve).register(show).invoke("show")

    kept = json.loads(result.invocation.result or "")
    assert kept["list"][1] == 1
    assert json.loads(result.text) == kept
    if "*" not in hidden:
        for text in (kept["list"][0], kept["list"][2], kept["twice"], *kept):
            assert hidden not in text
            assert _ascii_json(hidden) not in text


@settings(deadline=None)
@given(secrets=st.lists(SECRETS, min_size=2, max_size=4), data=st.data())
def test_several_secrets_are_all_taken_out(secrets: list[str], data: st.DataObject) -> None:
    order = data.draw(st.permutations(secrets))
    text = "".join(order)
    shown = redaction(*secrets).text(text)

    for each in secrets:
        if "*" not in each:
            assert each not in shown


@pytest.mark.parametrize(
    ("hidden", "text"),
    [
        ('\\"' * 12, '\\"' * 20_000),
        ("\\" * 12 + "z", "\\" * 40_000),
        ('\\"\\"\\"\\"\\"x', '\\\\\\"' * 20_000),
        ("%%%%%%%%%z", "%25" * 20_000),
        ("a" * 20 + "b", "a" * 40_000),
        ("      x      y", " " * 40_000),
        ("&&&&&&&&z", "&amp;" * 20_000),
        ("sk-0123456789", "sk-012345678" * 8_000),
    ],
)
def test_looking_for_a_secret_takes_a_time_that_grows_with_the_text_only(hidden: str, text: str) -> None:
    looking = redaction(hidden)
    began = time.process_time()

    looking.text(text)

    assert time.process_time() - began < 5.0
