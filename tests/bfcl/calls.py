"""From the ground truth, which lists the values that are right for each argument, to calls."""

from collections.abc import Iterator
from typing import Any

from callboard.tools.walk import is_dict, is_list

LEFT_OUT = ""  # among the values of an argument: a call may come without it


def calls(truth: dict[str, list[Any]], parameters: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Calls in which every listed value of every argument occurs, the first of the others beside it."""
    widest = max((len(values) for values in truth.values()), default=1)
    seen: list[dict[str, Any]] = []
    for number in range(widest):
        made = _chosen(truth, parameters, number)
        if made not in seen:
            seen.append(made)
            yield made


def _chosen(truth: dict[str, list[Any]], schema: dict[str, Any], number: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    properties: dict[str, Any] = schema.get("properties", {})
    required = schema.get("required", [])
    for name, values in truth.items():
        if not values:
            continue
        part = properties.get(name, {})
        value = values[min(number, len(values) - 1)]
        if value == LEFT_OUT and not (name in required and part.get("type") == "string"):
            if name not in required:
                continue
            value = next((each for each in values if each != LEFT_OUT), value)
        made[name] = _value(value, part, number)
    return made


def _value(value: Any, schema: dict[str, Any], number: int) -> Any:
    """Inside objects that the schema describes, each key lists its right values again."""
    if is_dict(value):
        if value and all(is_list(each) for each in value.values()) and _lists(value, schema):
            return _chosen(value, schema, number)
        return value
    if is_list(value):
        return [_value(each, schema.get("items", {}), number) for each in value]
    return value


def _lists(value: dict[str, Any], schema: dict[str, Any]) -> bool:
    """Whether the lists are alternatives, and not the values themselves."""
    properties = schema.get("properties", {})
    return any(properties.get(key, {}).get("type") != "array" or _nested(each) for key, each in value.items())


def _nested(values: list[Any]) -> bool:
    return any(is_list(each) or each == LEFT_OUT for each in values)
