"""From whatever may be registered to the frozen entry: everything is read once, here."""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from callboard.errors import RegistrationError
from callboard.tools.arguments import compile_arguments
from callboard.tools.calling import caller, simulation
from callboard.tools.define import Tool, ToolOptions, is_async, nature
from callboard.tools.entry import Needs, Parse, Published, RegisteredTool, Run
from callboard.tools.limits import turn_for
from callboard.tools.needs import check_unmarked
from callboard.tools.own import fitted, own_check, own_parser
from callboard.tools.published import PublishedSchema, PublishedSignature
from callboard.tools.results import finish_for
from callboard.tools.retries import retries_for
from callboard.tools.signature import (
    Signature,
    awaited_result,
    plain_function,
    read_signature,
    yielded_result,
)
from callboard.tools.walk import is_mapping

if TYPE_CHECKING:
    from callboard.tools.schemas import SchemaParser

SourceT = TypeVar("SourceT")

_MAX_ID = 256
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_REQUIRED = ("kind", "parse_output", "execute")
_CALLABLE = ("parse_input", "parse_output", "execute", "simulate", "probe")


@overload
def registered(source: RegisteredTool[SourceT]) -> RegisteredTool[SourceT]: ...
@overload
def registered(source: SourceT) -> RegisteredTool[SourceT]: ...
def registered(source: Any) -> RegisteredTool[Any]:
    """The entry of a Tool, a function, or seed 003's object or mapping.

    Raises:
        RegistrationError: for what can't work; it names the tool, the part and the reason.
    """
    if isinstance(source, RegisteredTool):
        return source  # pyright: ignore[reportUnknownVariableType]
    if isinstance(source, Tool):
        return _from_function(source, source)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(source, Mapping) or (hasattr(source, "execute") and not isinstance(source, type)):
        return _from_fields(source)
    if callable(source) and not isinstance(source, type):
        return _from_function(Tool(source, ToolOptions(), {}), source)
    named = f"the class {source.__name__}" if isinstance(source, type) else type(source).__name__
    raise RegistrationError(
        f"{named} is no tool", hint="register a function, a Tool, or an object with id, kind and execute"
    )


def _checked_id(tool_id: Any) -> str:
    if not isinstance(tool_id, str) or not tool_id:
        raise RegistrationError("a tool lacks its id", hint="give it a text as `id`")
    if len(tool_id) > _MAX_ID or tool_id != tool_id.strip() or _CONTROL.search(tool_id):
        raise RegistrationError(
            f"tool {tool_id[:60]!a}: the id is too long, or has blanks around it or control characters in it",
            hint=f"use up to {_MAX_ID} characters without them",
        )
    try:
        tool_id.encode()
    except UnicodeEncodeError:
        raise RegistrationError(
            f"tool {tool_id[:60]!a}: the id holds half of a surrogate pair", hint="use Unicode text"
        ) from None
    if tool_id == "<lambda>":
        raise RegistrationError("a lambda has no name", hint="give it one: tool(name=...)(lambda: ...)")
    return tool_id


def _checked_kind(tool_id: str, kind: Any) -> str:
    if not isinstance(kind, str) or not kind:
        raise RegistrationError(f"tool {tool_id!r}: its kind is no text", hint="use `read` or `write`")
    return kind


def _checked_text(tool_id: str, description: Any) -> str | None:
    if description is not None and not isinstance(description, str):
        raise RegistrationError(
            f"tool {tool_id!r}: its description is no text", hint="give a text, or nothing"
        )
    try:
        (description or "").encode()
    except UnicodeEncodeError:
        raise RegistrationError(
            f"tool {tool_id!r}: its description holds half of a surrogate pair", hint="use Unicode text"
        ) from None
    return description


def _checked_strict(tool_id: str, strict: Any) -> bool | None:
    if strict is None or isinstance(strict, bool):
        return strict
    raise RegistrationError(
        f"tool {tool_id!r}: strict is {type(strict).__name__}",
        hint="give True or False, or nothing for what its schema allows",
    )


class _Input(NamedTuple):
    """How the arguments of a tool are read and shown, and what runs with them."""

    parse: Parse
    published: Published
    run: Run
    is_own: bool


def _from_function(made: Tool[Any], source: Any) -> RegisteredTool[Any]:
    tool_id, options, function = _checked_id(made.id), made.options, made.function
    if not callable(function):
        raise RegistrationError(
            f"tool {tool_id!r}: {type(function).__name__} can't be called", hint="decorate a function"
        )
    signature = read_signature(tool_id, function, made.names)
    kind = nature(function)
    steps = kind in {"generator", "async generator"}
    awaited = awaited_result(signature.result) if kind == "plain" else None
    result = yielded_result(signature.result) if steps else awaited or signature.result
    names = tuple(parameter.name for parameter in signature.parameters)
    parse, published, run, is_own = _input(tool_id, made, signature, result)
    if options.parse_output is None:
        finish = finish_for(tool_id, result)
    else:
        finish = own_check(tool_id, options.parse_output)
    asynchronous = kind in {"coroutine", "async generator"} or awaited is not None
    simulate, simulate_needs = _beside(tool_id, "simulate", options.simulate, names, is_own=is_own)
    probe, probe_needs = _beside(tool_id, "probe", options.probe, names, is_own=is_own)
    return RegisteredTool(
        id=tool_id,
        kind=_checked_kind(tool_id, made.kind),
        parse_input=_first(parse),
        parse_output=_first(finish),
        execute=run,
        debug_steps=options.debug_steps,
        source=source,
        published=published,
        parse=parse,
        run=run,
        finish=finish,
        own_parser=is_own,
        is_async=asynchronous,
        needs=() if steps and signature.asks is None else signature.asks,
        worker="inline" if asynchronous or not options.blocking else "thread",
        simulate=simulate,
        simulate_is_async=options.simulate is not None and is_async(options.simulate),
        simulate_needs=simulate_needs,
        probe=probe,
        probe_needs=probe_needs,
        **_conduct(tool_id, made.kind, _reader(options), quick=not (asynchronous or options.blocking)),
    )


def _beside(
    tool_id: str, what: str, function: Callable[..., Any] | None, names: tuple[str, ...], *, is_own: bool
) -> tuple[Run | None, Needs]:
    """What calls `simulate` or `probe`; behind an own parser there are no arguments by name."""
    if function is None:
        return None, None
    if not callable(function):
        raise RegistrationError(f"tool {tool_id!r}: its {what} can't be called", hint="give a function")
    if is_own:
        return _by_position(tool_id, function), ()
    return simulation(tool_id, function, names, what=what)


def _by_position(tool_id: str, function: Callable[..., Any]) -> Run:
    check_unmarked(tool_id, plain_function(function))
    return fitted(function, 2)


def _conduct(tool_id: str, kind: str, get: Callable[[str], Any], *, quick: bool) -> dict[str, Any]:
    """How the calls are treated: what the decorator and seed 003's form say in the same words."""
    agents, idempotent, probe = get("agents"), bool(get("idempotent")), get("probe")
    if probe is not None and kind == "read":
        raise RegistrationError(
            f"tool {tool_id!r} is a read and has a probe: there is no write that could have taken place",
            hint="leave out the probe",
        )
    return {
        "turn": turn_for(
            tool_id,
            serial=get("serial"),
            concurrency=get("concurrency"),
            rate=get("rate"),
            limit=get("limit"),
        ),
        "agents": None if agents is None else frozenset(agents),
        "retries": retries_for(tool_id, get("retries"), kind=kind, idempotent=idempotent, quick=quick),
        "idempotent": idempotent,
        "probe_is_async": probe is not None and is_async(probe),
        "mask_errors": bool(get("mask_errors")),
        "strict": _checked_strict(tool_id, get("strict")),
    }


def _first(check: Callable[[Any], tuple[Any, Any, Any]]) -> Callable[[Any], Any]:
    """The value alone, for callers of seed 003's `parse_input` and `parse_output`."""

    def value_of(given: Any) -> Any:
        return check(given)[0]

    return value_of


def _input(tool_id: str, made: Tool[Any], signature: Signature, result: Any) -> _Input:
    options, function = made.options, made.function
    doc, description = _doc(function), _checked_text(tool_id, options.description)
    if options.schema is not None and options.parse_input is not None:
        raise RegistrationError(f"tool {tool_id!r} has a schema and a parse_input", hint="keep one of them")
    if options.schema is not None:
        schema = _schema_parser(tool_id, options.schema)
        _check_takes(tool_id, signature, schema)
        shown = PublishedSchema((tool_id, made.kind), description, doc, schema.schema)
        return _Input(schema.parse, shown, caller(function, signature), is_own=False)
    if options.parse_input is not None:
        shown = PublishedSchema((tool_id, made.kind), description, doc, None)
        return _Input(own_parser(options.parse_input), shown, _fed(function, signature), is_own=True)
    arguments = compile_arguments(tool_id, signature.parameters)
    published = PublishedSignature((tool_id, made.kind), description, doc, arguments, result)
    return _Input(arguments.parse, published, caller(function, signature), is_own=False)


def _doc(function: object) -> str | None:
    """The docstring of the function, else that of a callable object's class; never that of `partial`."""
    plain = plain_function(function)
    text: str | None = plain.__doc__
    if text is None and plain is not function:
        target = function
        while isinstance(target, partial):
            target = target.func
        text = type(target).__doc__ if not inspect.isroutine(target) else None
    return None if text is None else inspect.cleandoc(text)


def _schema_parser(tool_id: str, schema: Any) -> "SchemaParser":
    from callboard.tools.schemas import SchemaParser  # noqa: PLC0415 - only tools with a schema need it

    return SchemaParser(tool_id, schema)


def _check_takes(tool_id: str, signature: Signature, schema: "SchemaParser") -> None:
    """A function whose tool came with a schema is called by name: it must take what the schema admits."""
    taken = {parameter.name for parameter in signature.parameters}
    required = {each.name for each in signature.parameters if each.default is inspect.Parameter.empty}
    strangers, loose = set(schema.properties) - taken, required - set(schema.required)
    if strangers:
        raise RegistrationError(
            f"tool {tool_id!r}: its schema has {min(strangers)!r}, which the function does not take",
            hint="name the function's parameters as the schema's properties",
        )
    if loose:
        raise RegistrationError(
            f"tool {tool_id!r}: the function needs {min(loose)!r}, which its schema does not require",
            hint="list it under `required`, or give it a default",
        )
    if schema.is_open:
        raise RegistrationError(
            f"tool {tool_id!r}: its schema admits any other key, which the function can't take",
            hint="set `additionalProperties` to false",
        )


def _fed(function: Callable[..., Any], signature: Signature) -> Run:
    """What runs a function that gets the one value which its `parse_input` made."""
    context, takes = signature.context, len(signature.parameters)

    def run(value: Any, ctx: Any) -> Any:
        named = {} if ctx is None else dict(ctx.delivered)
        if context is not None:
            named[context] = ctx
        return function(value, **named) if takes else function(**named)

    return run


def _from_fields(source: Any) -> RegisteredTool[Any]:
    """Seed 003's form; a `schema` may stand in place of `parse_input`."""
    get = _reader(source)
    tool_id = _checked_id(get("id"))
    _check_fields(tool_id, get)
    kind, description = _checked_kind(tool_id, get("kind")), _checked_text(tool_id, get("description"))
    if get("parse_input") is not None:
        parse, schema = own_parser(get("parse_input")), None
    else:
        made = _schema_parser(tool_id, get("schema"))
        parse, schema = made.parse, made.schema
    finish, run = own_check(tool_id, get("parse_output")), _by_position(tool_id, get("execute"))
    asynchronous, simulate, probe = is_async(get("execute")), get("simulate"), get("probe")
    worker = "inline" if asynchronous or get("blocking") is False else "thread"
    return RegisteredTool(
        id=tool_id,
        kind=kind,
        parse_input=_first(parse),
        parse_output=_first(finish),
        execute=run,
        debug_steps=get("debug_steps"),
        source=source,
        published=PublishedSchema((tool_id, kind), description, None, schema),
        parse=parse,
        run=run,
        finish=finish,
        own_parser=schema is None,
        is_async=asynchronous,
        needs=(),
        worker=worker,
        simulate=None if simulate is None else _by_position(tool_id, simulate),
        simulate_is_async=simulate is not None and is_async(simulate),
        simulate_needs=None if simulate is None else (),
        probe=None if probe is None else _by_position(tool_id, probe),
        probe_needs=None if probe is None else (),
        **_conduct(tool_id, kind, get, quick=worker == "inline" and not asynchronous),
    )


def _reader(source: Any) -> Callable[[str], Any]:
    if is_mapping(source):
        return source.get
    return lambda name: getattr(source, name, None)


def _check_fields(tool_id: str, get: Callable[[str], Any]) -> None:
    missing = [name for name in _REQUIRED if get(name) is None]
    if get("parse_input") is None and get("schema") is None:
        missing.insert(1, "parse_input")
    if missing:
        raise RegistrationError(f"tool {tool_id!r} lacks {', '.join(missing)}", hint="give it each of them")
    for name in _CALLABLE:
        if get(name) is not None and not callable(get(name)):
            raise RegistrationError(f"tool {tool_id!r}: its {name} can't be called", hint="give a function")
