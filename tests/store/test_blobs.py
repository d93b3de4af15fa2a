"""Large results: found by those they belong to."""

from pathlib import Path

import pytest

from callboard.errors import StoreError
from callboard.store import blobs, open_store


def test_a_text_is_kept_once_for_each_run_and_principal(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        first = store.blobs.put("text", run="r1", principal=("ada", None))
        assert store.blobs.put("text", run="r1", principal=("ada", None)) == first
        assert store.blobs.put("text", run="r2", principal=None) == first
        assert store.blobs.put("other", run="r1", principal=None) != first
        assert store.blobs.get(first, run="r1", principal=("ada", None)) == "text"
        assert store.blobs.get(first, run="r1", principal=None) is None
        assert store.blobs.get(first, run="r1", principal=("ada", "acme")) is None
        assert store.blobs.get(first, run="r3", principal=("ada", None)) is None
        assert store.blobs.look(first, run="r1") == "text"


def test_what_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blobs, "MAX_BLOB", 10)
    monkeypatch.setattr(blobs, "MAX_RUN", 25)
    with open_store(tmp_path) as store:
        with pytest.raises(StoreError, match="11 characters is too large"):
            store.blobs.put("x" * 11, run="r1", principal=None)
        for letter in "ab":
            store.blobs.put(letter * 10, run="r1", principal=None)
        with pytest.raises(StoreError, match="large results of run r1 have more"):
            store.blobs.put("c" * 10, run="r1", principal=None)
        store.blobs.put("c" * 10, run="r2", principal=None)


def test_a_text_of_any_characters_comes_back(tmp_path: Path) -> None:
    text = '"\u00e4\U0001f600\\u0000\u202e"' * 1000
    with open_store(tmp_path) as store:
        handle = store.blobs.put(text, run="", principal=None)
    with open_store(tmp_path) as store:
        assert store.blobs.get(handle, run="", principal=None) == text
