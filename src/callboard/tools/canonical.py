"""One spelling for equal JSON, for showing and hashing only: what runs is the text that passed."""

import json
from typing import Any

_encoder = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical(text: str) -> str:
    """The JSON text with sorted keys and no blanks; integers keep all digits, floats stay floats.

    Raises:
        ValueError: for what is no JSON text, or holds a number outside a double's range.
    """
    return canonical_json(json.loads(text))


def canonical_json(value: Any) -> str:
    """The canonical text of a JSON value.

    Raises:
        ValueError: for NaN and infinities.
    """
    return _encoder.encode(value)
