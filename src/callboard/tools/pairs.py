"""How many key-value pairs a JSON text must hold, told from the validated value.

A text without a doubled key holds exactly one pair per key that was validated, and one colon per pair, if no
text in it holds a colon. So counting one character rules doubled keys out for most calls; where the figures
differ, or a type's pairs can't be told, the text is read again with a parser that looks at every key.
"""

from collections.abc import Callable, Mapping
from operator import attrgetter, itemgetter
from typing import Any

from callboard.tools.places import bare_choice

# A figure, a function from the validated value to the figure, or None where it can't be told.
Pairs = int | Callable[[Any], int] | None

_SCALARS = frozenset({
    "bool", "bytes", "date", "datetime", "decimal", "enum", "float", "int", "literal", "none", "str", "time",
    "timedelta", "url", "uuid",
})  # fmt: skip


def pairs_of(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Pairs:
    """The pairs of a core schema node's JSON."""
    return _Reader(definitions).of(node)


def total_of(fields: Mapping[str, Pairs]) -> Callable[[dict[str, Any]], int] | None:
    """From the arguments that were given to the pairs of their JSON; None where it can't be told."""
    if any(pairs is None for pairs in fields.values()):
        return None
    inner = [(name, pairs) for name, pairs in fields.items() if pairs != 0]
    if not inner:
        return len
    if len(inner) == 1:
        name, pairs = inner[0]
        counted = _function(pairs)
        return lambda given: len(given) + counted(given[name]) if name in given else len(given)
    several = [(name, _function(pairs)) for name, pairs in inner]
    return lambda given: len(given) + sum(count(given[name]) for name, count in several if name in given)


def _is_closed(node: Mapping[str, Any]) -> bool:
    config: Mapping[str, Any] = node.get("config") or {}
    return config.get("extra_fields_behavior") == "forbid"


def _is_no_plain_attribute(field: Mapping[str, Any]) -> bool:
    """Of a dataclass: a field that may be left out, or that is no attribute of the instance."""
    return (
        field["schema"]["type"] == "default" or not field.get("init", True) or field.get("init_only", False)
    )


def _function(pairs: Pairs) -> Callable[[Any], int]:
    return pairs if callable(pairs) else lambda _: pairs or 0


class _Reader:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._above: set[str] = set()

    def of(self, node: Mapping[str, Any]) -> Pairs:
        kind: str = node["type"]
        if kind in _SCALARS:
            return 0
        reader: Callable[[Mapping[str, Any]], Pairs] | None = getattr(
            self, f"_{kind.replace('-', '_')}", None
        )
        return None if reader is None else reader(node)

    def _definition_ref(self, node: Mapping[str, Any]) -> Pairs:
        ref: str = node["schema_ref"]
        if ref in self._above or ref not in self._definitions:
            return None
        self._above.add(ref)
        try:
            return self.of(self._definitions[ref])
        finally:
            self._above.discard(ref)

    def _constant(self, node: Mapping[str, Any]) -> Pairs:
        """Behind a function the value may be another one: only a figure still holds."""
        pairs = self.of(node["schema"])
        return pairs if isinstance(pairs, int) else None

    _function_after = _constant
    _custom_error = _constant

    def _chain(self, node: Mapping[str, Any]) -> Pairs:
        steps = {self.of(step) for step in node["steps"]}
        return 0 if steps == {0} else None

    def _default(self, node: Mapping[str, Any]) -> Pairs:
        return 0 if self.of(node["schema"]) == 0 else None

    def _nullable(self, node: Mapping[str, Any]) -> Pairs:
        pairs = self.of(node["schema"])
        if pairs in {0, None}:
            return pairs
        counted = _function(pairs)
        return lambda value: 0 if value is None else counted(value)

    def _union(self, node: Mapping[str, Any]) -> Pairs:
        choices: list[Any] = node["choices"]
        return 0 if all(self.of(bare_choice(choice)) == 0 for choice in choices) else None

    def _list(self, node: Mapping[str, Any]) -> Pairs:
        pairs = self.of(node["items_schema"]) if "items_schema" in node else None
        if pairs in {0, None}:
            return pairs
        if isinstance(pairs, int):
            return lambda items: pairs * len(items)
        return lambda items: sum(map(_function(pairs), items))

    def _tuple(self, node: Mapping[str, Any]) -> Pairs:
        return 0 if all(self.of(item) == 0 for item in node["items_schema"]) else None

    def _dict(self, node: Mapping[str, Any]) -> Pairs:
        if node.get("keys_schema", {}).get("type") != "str" or "values_schema" not in node:
            return None
        pairs = self.of(node["values_schema"])
        if pairs is None:
            return None
        if isinstance(pairs, int):
            return lambda items: (1 + pairs) * len(items)
        return lambda items: len(items) + sum(map(_function(pairs), items.values()))

    def _model(self, node: Mapping[str, Any]) -> Pairs:
        if not _is_closed(node) or node.get("custom_init") or node.get("post_init") or node.get("root_model"):
            return None
        if node["schema"]["type"] != "model-fields":
            return None
        fields: Mapping[str, Any] = node["schema"]["fields"]
        if all(field["schema"]["type"] != "default" for field in fields.values()):
            return self._all_given(fields, attrgetter)
        if all(self.of(field["schema"]) == 0 for field in fields.values()):
            return lambda value: len(value.__pydantic_fields_set__)
        return None

    def _dataclass(self, node: Mapping[str, Any]) -> Pairs:
        if not _is_closed(node) or node.get("post_init"):
            return None
        if node["schema"]["type"] != "dataclass-args":
            return None
        fields: dict[str, Any] = {field["name"]: field for field in node["schema"]["fields"]}
        if any(_is_no_plain_attribute(field) for field in fields.values()):
            return None
        return self._all_given(fields, attrgetter)

    def _typed_dict(self, node: Mapping[str, Any]) -> Pairs:
        fields: Mapping[str, Any] = node["fields"]
        if node.get("extra_behavior") != "forbid":
            return None
        if all(field.get("required", True) for field in fields.values()):
            return self._all_given(fields, itemgetter)
        return len if all(self.of(field["schema"]) == 0 for field in fields.values()) else None

    def _all_given(self, fields: Mapping[str, Any], getter: Callable[[str], Callable[[Any], Any]]) -> Pairs:
        known = {name: self.of(field["schema"]) for name, field in fields.items()}
        if any(pairs is None for pairs in known.values()):
            return None
        if all(isinstance(pairs, int) for pairs in known.values()):
            return len(known) + sum(pairs for pairs in known.values() if isinstance(pairs, int))
        parts = [(getter(name), _function(pairs)) for name, pairs in known.items()]
        return lambda value: len(parts) + sum(count(get(value)) for get, count in parts)
