"""Changes of pydantic's core schema, made before a validator and a published schema are built from it.

Pydantic leaves nested models open and its own strict JSON pass differs from its own JSON Schema in places
(docs/types.md lists them). Two sets of rules, applied one after the other, settle both.
"""

import enum
from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import (
    PydanticCustomError,
    SchemaValidator,
    ValidationError,
    core_schema,
    to_json,
    to_jsonable_python,
)

from callboard.errors import RegistrationError
from callboard.tools.reasons import reason_of
from callboard.tools.textforms import key_form, text_form
from callboard.tools.walk import is_dict, is_list, is_tuple

Node = dict[str, Any]
Rule = Callable[[Node], Node]

# What stands under these keys of a node is no core schema.
_OPAQUE = frozenset({
    "cls", "computed_fields", "config", "default", "default_factory", "discriminator", "expected", "function",
    "members", "metadata", "ref", "schema_ref", "serialization", "type",
})  # fmt: skip


def closed(core: Node) -> Node:
    """The schema with every model, dataclass and TypedDict closed that does not say otherwise itself."""
    return _rewritten(core, CLOSING, {})


def exact(core: Node) -> Node:
    """The schema whose validator accepts, of JSON, what the published schema accepts.

    Raises:
        RegistrationError: for a type that has no JSON form.
    """
    return _rewritten(core, EXACT, _JSON_BRANCH)


def thorough(core: Any) -> Any:
    """What `exact` made, for a validator that goes on after the first mistake in a list or dict."""
    return _rewritten(core, _GOING_ON, {})


def _rewritten(node: Any, rules: Mapping[str, Rule], branches: Mapping[str, str]) -> Any:
    """The node with its parts rewritten first; of a node with branches only one is kept."""
    if is_list(node):
        return [_rewritten(item, rules, branches) for item in node]
    if is_tuple(node):
        return tuple(_rewritten(item, rules, branches) for item in node)
    if not is_dict(node):
        return node
    kind = node.get("type")
    if not isinstance(kind, str):  # fields by name
        return {key: _rewritten(value, rules, branches) for key, value in node.items()}
    if kind in branches:
        return _kept(node, _rewritten(node[branches[kind]], rules, branches))
    made: Node = {
        key: value if key in _OPAQUE else _rewritten(value, rules, branches) for key, value in node.items()
    }
    rule = rules.get(kind)
    return made if rule is None else rule(made)


def _closed_class(node: Node) -> Node:
    if node.get("root_model"):
        return node
    return {**node, "config": _closed_config(node.get("config") or {})}


def _closed_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Closed where the author says nothing; read by the published name only, whatever the author says."""
    made = {"extra_fields_behavior": "forbid", **config}
    if made.get("validate_by_name") or made.get("validate_by_alias") is False:
        made.update(validate_by_name=False, validate_by_alias=True)
    return made


def _closed_typed_dict(node: Node) -> Node:
    own: Mapping[str, Any] = getattr(node.get("cls"), "__pydantic_config__", None) or {}
    made = {**node, "config": _closed_config(node.get("config") or {})}
    if "extra" not in own and node.get("extra_behavior") not in {"allow", "forbid"}:
        made["extra_behavior"] = "forbid"
    return made


def _one_alias(node: Node) -> Node:
    """One wire name per field: the published schema can name no second one."""
    alias = node.get("validation_alias")
    if not is_list(alias):
        return node
    choices: list[Any] = alias
    for path in choices if is_list(choices[0]) else [choices]:
        if len(path) == 1:
            return {**node, "validation_alias": path[0]}
    raise RegistrationError("an AliasPath can't be published: it reaches into another value")


def _list_of(node: Node) -> Node:
    """`Iterable` is validated at once: a lazy validator would complain inside the tool."""
    return {**node, "type": "list"}


CLOSING: Mapping[str, Rule] = {
    "dataclass": _closed_class,
    "dataclass-field": _one_alias,
    "generator": _list_of,
    "model": _closed_class,
    "model-field": _one_alias,
    "typed-dict": _closed_typed_dict,
    "typed-dict-field": _one_alias,
}


def _finite(node: Node) -> Node:
    return {**node, "allow_inf_nan": False}


def _stops(node: Node) -> Node:
    """The first mistake in a list or dict is enough to refuse it: `thorough` looks for all."""
    return {**node, "fail_fast": True}


def _goes_on(node: Node) -> Node:
    return {key: value for key, value in node.items() if key != "fail_fast"}


_GOING_ON: Mapping[str, Rule] = dict.fromkeys(("dict", "list", "tuple"), _goes_on)


def _kept(node: Node, made: Any) -> Node:
    """The replacement under the name by which others refer to the node."""
    return {**made, "ref": node["ref"]} if "ref" in node else made


def _no_json_form(node: Node) -> Node:
    named = node.get("cls_repr") or getattr(node.get("cls"), "__name__", None) or node["type"]
    raise RegistrationError(
        f"{named} has no JSON form", hint="use a type that JSON can carry, or bring a `schema`"
    )


def _unique(collection: type[set[Any]] | type[frozenset[Any]]) -> Rule:
    def check(items: list[Any]) -> Any:
        made = collection(items)
        if len(made) != len(items):
            raise PydanticCustomError("set_duplicates", "Input should have no element twice")
        return made

    def rule(node: Node) -> Node:
        fields = {key: node[key] for key in ("items_schema", "min_length", "max_length") if key in node}
        made = core_schema.no_info_after_validator_function(
            check, core_schema.list_schema(**fields, fail_fast=True)
        )
        return _kept(node, made)

    return rule


def _typed_choices(node: Node) -> Node:
    """A choice travels as the JSON that is published. Python counts true as 1; JSON does not."""
    listed: list[Any] = list(node["members"] if node["type"] == "enum" else node["expected"])
    values: list[Any] = [item.value if isinstance(item, enum.Enum) else item for item in listed]
    if all(type(value) is str for value in (values if node["type"] == "enum" else listed)):
        return node
    legal = [(_choice_form(value), item) for value, item in zip(values, listed, strict=True)]
    named = ", ".join(repr(form) for form, _ in legal)

    def check(value: Any) -> Any:
        kind = isinstance(value, bool)
        for form, item in legal:
            if form == value and isinstance(form, bool) is kind:
                return item
        raise PydanticCustomError("literal_error", "Input should be one of {expected}", {"expected": named})

    first = core_schema.no_info_plain_validator_function(check)
    if node["type"] == "literal":
        return _kept(node, first)
    inner: Any = {key: value for key, value in node.items() if key != "ref"}
    return _kept(node, core_schema.chain_schema([first, inner]))


def _choice_form(value: Any) -> Any:
    try:
        return to_jsonable_python(value)
    except Exception as failure:  # the value may be of any class
        raise RegistrationError(
            f"{type(value).__name__} has no JSON form: {reason_of(failure)}",
            hint="list texts, numbers or null",
        ) from failure


# Keys that need no reading: a JSON key is one of these, or is refused.
_PLAIN_KEYS = frozenset({"any", "chain", "enum", "function-plain", "literal", "str"})


def _read_keys(node: Node) -> Node:
    """Keys of other types are read from their text; two texts of one key are no way to lose a value."""
    keys: Any = node.get("keys_schema", {"type": "any"})
    node = _stops(node)
    if keys["type"] in _PLAIN_KEYS:
        return node
    reader = SchemaValidator(key_form(keys)).validate_json  # type: ignore[arg-type]

    def read(items: dict[str, Any]) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for text, item in items.items():
            try:
                key = reader(to_json(text), strict=True)
            except ValidationError as error:
                reason = error.errors(include_url=False)[0]["msg"]
                raise PydanticCustomError(
                    "dict_key", "Key {key}: {reason}", {"key": text, "reason": reason}
                ) from None
            if key in made:
                raise PydanticCustomError("dict_key", "Key {key} is there twice", {"key": text})
            made[key] = item
        return made

    inner: Any = {key: value for key, value in node.items() if key != "ref"} | {
        "keys_schema": core_schema.str_schema()
    }
    return _kept(node, core_schema.no_info_after_validator_function(read, inner))


def _from_list(node: Node) -> Node:
    """A named tuple travels as the list that is published, not as an object."""

    def check(value: Any, inner: Callable[[Any], Any]) -> Any:
        if not isinstance(value, list):
            raise PydanticCustomError("tuple_type", "Input should be a valid array")
        return inner(value)

    plain: Any = {key: value for key, value in node.items() if key != "ref"}
    return _kept(node, core_schema.no_info_wrap_validator_function(check, plain))


def _tuple_of_list(node: Node) -> Node:
    return _made_from(list, tuple)(_stops(node))


def _made_from(kind: type[Any], convert: Callable[[Any], Any]) -> Rule:
    """Behind a validator of the author, strict takes no list for a tuple any more: it is converted before."""

    def made(value: Any) -> Any:
        return convert(value) if isinstance(value, kind) else value

    def rule(node: Node) -> Node:
        plain: Any = {key: value for key, value in node.items() if key != "ref"}
        return _kept(node, core_schema.no_info_before_validator_function(made, plain))

    return rule


# Arguments are JSON, read strictly.
_JSON_BRANCH = {"json-or-python": "json_schema", "lax-or-strict": "strict_schema"}
EXACT: Mapping[str, Rule] = {
    "bytes": _made_from(str, str.encode),
    "callable": _no_json_form,
    "complex": _no_json_form,
    "date": text_form,
    "datetime": text_form,
    "decimal": text_form,
    "dict": _read_keys,
    "enum": _typed_choices,
    "float": _finite,
    "frozenset": _unique(frozenset),
    "is-instance": _no_json_form,
    "is-subclass": _no_json_form,
    "list": _stops,
    "literal": _typed_choices,
    "named-tuple": _from_list,
    "set": _unique(set),
    "time": text_form,
    "timedelta": text_form,
    "tuple": _tuple_of_list,
    "uuid": text_form,
}
