"""What differs between two JSON values, line by line."""

import json
from collections.abc import Iterator
from typing import Any, cast

_LONGEST = 160  # characters of a value


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """``- path: value`` for what went, ``+ path: value`` for what came, ``~ path: old -> new``."""
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
        for key in [*old, *(key for key in new if key not in old)]:
            below = f"{path}.{key}" if path else key
            if key not in new:
                yield f"- {below}: {_shown(old[key])}"
            elif key not in old:
                yield f"+ {below}: {_shown(new[key])}"
            else:
                yield from differences(old[key], new[key], below)
    elif before != after or type(before) is not type(after):  # pyright: ignore[reportUnknownArgumentType] - any JSON
        yield f"~ {path}: {_shown(before)} -> {_shown(after)}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
