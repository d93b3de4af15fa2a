"""From the leaderboard's schemas to JSON Schema.

They name types of Python, Java and JavaScript. What is changed, and nothing else:

- `dict`, `HashMap` -> `object`; `array`, `tuple`, `Array`, `ArrayList` -> `array`
- `integer`, `long` -> `integer`; `float`, `double` -> `number`; `boolean`, `Boolean` -> `boolean`
- `string`, `String`, `char` -> `string`; `any` and an empty type -> no type: any value
- `optional` goes: `required` says it
- the root admits no other arguments, as the leaderboard's own checker does not
- an argument's default is a legal value, also where its type or its choices leave it out (`dontcare`, `null`)
- choices that are written as texts of another type are read: `"True"` of a `boolean` is `true`
- in the sets of Java and JavaScript a variable's name may stand for any value: every type admits a text, too
"""

from typing import Any

from callboard.tools.walk import is_dict

TYPES = {
    "Array": "array",
    "ArrayList": "array",
    "Boolean": "boolean",
    "HashMap": "object",
    "String": "string",
    "array": "array",
    "boolean": "boolean",
    "char": "string",
    "dict": "object",
    "double": "number",
    "float": "number",
    "integer": "integer",
    "long": "integer",
    "string": "string",
    "tuple": "array",
}
ANY = {"any", ""}
_PYTHON: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
_READ = {"True": True, "true": True, "False": False, "false": False}


def cleaned(parameters: dict[str, Any], *, variables: bool = False) -> dict[str, Any]:
    """The JSON Schema of a function's arguments.

    Args:
        parameters: as the leaderboard has them.
        variables: whether names of variables stand for values.

    Raises:
        KeyError: for a type that is not in the table.
    """
    made = _clean(parameters, variables=variables)
    return {**made, "additionalProperties": False}


def _clean(node: dict[str, Any], *, variables: bool) -> dict[str, Any]:
    made: dict[str, Any] = {key: value for key, value in node.items() if key not in {"type", "optional"}}
    if "type" in node and node["type"] not in ANY:
        made = {"type": TYPES[node["type"]], **made}
    if "properties" in made:
        made["properties"] = {
            name: _named(_clean(part, variables=variables), variables=variables)
            for name, part in made["properties"].items()
        }
    for key in ("items", "additionalProperties"):
        if is_dict(made.get(key)):
            made[key] = _named(_clean(made[key], variables=variables), variables=variables)
    return _with_default(_chosen(made))


def _named(made: dict[str, Any], *, variables: bool) -> dict[str, Any]:
    if not variables or made.get("type") in {None, "string"}:
        return made
    beside = {key: made[key] for key in ("description", "default") if key in made}
    return {**beside, "anyOf": [made, {"type": "string"}]}


def _chosen(made: dict[str, Any]) -> dict[str, Any]:
    """The choices as values of the type; those that are none are dropped."""
    kinds = _PYTHON.get(made.get("type", ""))
    if "enum" not in made or kinds is None:
        return made
    read = [_READ.get(value, value) if bool in kinds else value for value in made["enum"]]
    kept = [value for value in read if isinstance(value, kinds)]
    return {**made, "enum": kept} if kept else {key: made[key] for key in made if key != "enum"}


def _with_default(made: dict[str, Any]) -> dict[str, Any]:
    if "default" not in made or "type" not in made or _admits(made, made["default"]):
        return made
    beside = {key: made[key] for key in ("description", "default") if key in made}
    return {**beside, "anyOf": [made, {"const": made["default"]}]}


def _admits(made: dict[str, Any], value: Any) -> bool:
    kinds = _PYTHON[made["type"]]
    right = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
    return right and value in made.get("enum", [value])
