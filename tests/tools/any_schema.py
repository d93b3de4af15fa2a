"""Schemas of every kind, as tools bring them."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from typing import Any

from hypothesis import strategies as st

names = st.sampled_from(["a", "b", "c", "item", "enum", "type", "$ref", "from-date", "properties"])
words = st.sampled_from(["", "a", "red", "2024-05-31", "ä"])
atoms: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from([0.5, 1.0, -2.5]), words
)
values: st.SearchStrategy[Any] = st.recursive(
    atoms,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
small = st.integers(0, 3)
DEFS = ["Leaf", "Tree", "Firm"]
KINDS = ["string", "integer", "number", "boolean", "null", "array", "object"]


def optional(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={key.lstrip("_"): part for key, part in parts.items()})


told = optional(description=words, title=words, default=atoms, deprecated=st.just(True))
numeric = optional(
    minimum=st.integers(-3, 3), exclusiveMinimum=st.sampled_from([-2, 0.5]), maximum=st.integers(0, 5),
    exclusiveMaximum=st.sampled_from([4, 2.5]), multipleOf=st.sampled_from([1, 2, 0.5]),
)  # fmt: skip
textual = optional(
    minLength=small, maxLength=small, pattern=st.sampled_from(["^a", "d$", "[0-9]{2}"]),
    format=st.sampled_from(["date", "date-time", "uuid", "email"]),
)  # fmt: skip


def _of(kind: str, inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    if kind == "array":
        return optional(
            items=inner, prefixItems=st.lists(inner, min_size=1, max_size=2), minItems=small, maxItems=small,
            uniqueItems=st.booleans(), contains=inner,
        )  # fmt: skip
    if kind == "object":
        return optional(
            properties=st.dictionaries(names, inner, max_size=3),
            required=st.lists(names, unique=True, max_size=2), additionalProperties=inner,
            patternProperties=st.dictionaries(st.just("^a"), inner, max_size=1), minProperties=small,
            propertyNames=st.just({"maxLength": 4}),
        )  # fmt: skip
    return numeric if kind in {"integer", "number"} else textual if kind == "string" else st.just({})


def _typed(kind: str, inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda a, b: {"type": kind, **a, **b}, _of(kind, inner), told)


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        *(_typed(kind, inner) for kind in ("array", "object")),
        st.builds(
            lambda kinds, a, b, c: {"type": kinds, **a, **b, **c},
            st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True), _of("array", inner),
            _of("object", inner), numeric,
        ),
        st.builds(
            lambda a, b, c: {**a, **b, **c},
            st.one_of(
                st.builds(lambda each: {"anyOf": each}, several),
                st.builds(lambda each: {"oneOf": each}, several),
                st.builds(lambda each: {"allOf": each}, several),
                st.builds(lambda each: {"not": each}, inner),
                st.builds(lambda a, b: {"if": a, "then": b}, inner, inner),
            ),
            _of("object", inner) | textual | st.builds(lambda kind: {"type": kind}, st.sampled_from(KINDS)),
            told,
        ),
    )  # fmt: skip


choices = st.lists(atoms, min_size=1, max_size=4, unique_by=repr)
leaves: st.SearchStrategy[Any] = st.one_of(
    st.booleans(),
    *(_typed(kind, st.just({})) for kind in ("string", "integer", "number", "boolean", "null")),
    st.builds(lambda value, told: {"const": value, **told}, values, told),
    st.builds(lambda listed, told: {"enum": listed, **told}, choices, told),
    st.builds(
        lambda name, a, b: {"$ref": f"#/$defs/{name}", **a, **b}, st.sampled_from(DEFS), told,
        st.just({}) | textual | st.just({"required": ["a"]}),
    ),
)  # fmt: skip
schemas: st.SearchStrategy[Any] = st.recursive(leaves, _grown, max_leaves=8)


def _root(properties: dict[str, Any], others: Any, leaf: Any, beside: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": others,
        **beside,
        "$defs": {
            "Leaf": leaf,
            "Tree": {"type": "object", "properties": {"kids": {"items": {"$ref": "#/$defs/Tree"}}}},
            "Firm": {
                "type": "object",
                "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Firm"}, {"type": "null"}]}},
                "required": ["next"],
            },
        },
    }


leaf = st.one_of(*(_typed(kind, st.just({})) for kind in KINDS))
roots: st.SearchStrategy[dict[str, Any]] = st.builds(
    _root, st.dictionaries(names, schemas, min_size=1, max_size=3), st.booleans() | schemas, leaf,
    st.fixed_dictionaries({}, optional={"required": st.lists(names, unique=True, max_size=2)}),
)  # fmt: skip
