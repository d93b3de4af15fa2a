"""From whatever may be registered to the frozen entry: everything is read once, here."""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from callboard.errors import InvalidArguments, InvalidResult, RegistrationError, ToolError
from callboard.tools.arguments import compile_arguments
from callboard.tools.calling import caller, companion, fitted, gives_awaitable
from callboard.tools.define import Tool, ToolOptions, is_async, is_async_generator, is_generator
from callboard.tools.entry import ErasedTool, Finish, Finished, Parse, Parsed, RegisteredTool
from callboard.tools.published import PublishedSchema, PublishedSignature
from callboard.tools.results import finish_for, walked
from callboard.tools.schemas import SchemaParser
from callboard.tools.signature import Signature, plain_function, read_signature, yielded_result
from callboard.tools.walk import NotJson, admitted, json_text, nothing_else

_ID = re.compile(r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]{0,254}[^\s\x00-\x1f\x7f])?")
_MAX_COPY_DEPTH = 200


def registered(
    source: "Tool[Any] | RegisteredTool | ErasedTool | Mapping[str, Any] | Callable[..., Any]",
) -> RegisteredTool:
    """The entry of a Tool, a function, or seed 003's object or mapping.

    Raises:
        RegistrationError: for what can't work; it names the tool, the part and the reason.
    """
    if isinstance(source, RegisteredTool):
        return source
    if isinstance(source, Tool):
        return _from_function(source, source)
    if isinstance(source, Mapping) or hasattr(source, "execute"):
        return _from_fields(source)
    if isinstance(source, type):
        raise RegistrationError(
            f"{source.__name__} is a class, not a tool", hint="register an instance, or a function"
        )
    if callable(source):
        return _from_function(Tool(source, ToolOptions(), {}), source)
    raise RegistrationError(
        f"{type(source).__name__} is no tool",
        hint="register a function, a Tool, or an object with id, kind and execute",
    )


def _checked_id(tool_id: Any) -> str:
    if not isinstance(tool_id, str) or not tool_id:
        raise RegistrationError("a tool lacks its id", hint="give it a text as `id`")
    if not _ID.fullmatch(tool_id):
        raise RegistrationError(
            f"tool {tool_id[:60]!r}: the id is too long, or has blanks around it or control characters in it",
            hint="use up to 256 characters without them",
        )
    try:
        tool_id.encode()
    except UnicodeEncodeError:
        raise RegistrationError(f"tool {tool_id[:60]!a}: the id is no Unicode text") from None
    return tool_id


def _from_function(made: Tool[Any], source: Any) -> RegisteredTool:
    tool_id, options, function = _checked_id(made.id), made.options, made.function
    if not callable(function):
        raise RegistrationError(f"tool {tool_id!r}: {type(function).__name__} can't be called")
    if tool_id == "<lambda>":
        raise RegistrationError("a lambda has no name", hint="give one: tool(name=...)")
    signature = read_signature(tool_id, function, made.names)
    steps = is_generator(function) or is_async_generator(function)
    result = yielded_result(signature.result) if steps else signature.result
    names = tuple(parameter.name for parameter in signature.parameters)
    run = caller(function, signature)
    doc, description = _doc(function), options.description
    if options.schema is not None:
        schema = SchemaParser(tool_id, options.schema)
        _check_takes(tool_id, signature, schema)
        parse, published = (
            schema.parse,
            PublishedSchema(tool_id, made.kind, description or doc, schema.schema),
        )
        own_parser = False
    elif options.parse_input is not None:
        parse, own_parser = _own_parser(options.parse_input), True
        published = PublishedSchema(tool_id, made.kind, description or doc, None)
        run = _fed(function, signature)
    else:
        arguments = compile_arguments(tool_id, signature.parameters)
        parse, own_parser = arguments.parse, False
        published = PublishedSignature((tool_id, made.kind), description, doc, arguments, result)
    finish = (
        finish_for(tool_id, result)
        if options.parse_output is None
        else _own_check(tool_id, options.parse_output)
    )
    asynchronous = is_async(function)
    return RegisteredTool(
        id=tool_id,
        kind=_checked_kind(tool_id, made.kind),
        parse_input=lambda raw: parse(raw)[0],
        parse_output=lambda value: finish(value)[0],
        execute=run,
        debug_steps=options.debug_steps,
        source=source,
        published=published,
        parse=parse,
        run=run,
        finish=finish,
        own_parser=own_parser,
        is_async=asynchronous,
        wants_context=signature.context is not None or steps,
        worker="inline" if asynchronous or not options.blocking else "thread",
        serial=_lock_name(tool_id, options.serial),
        simulate=None
        if options.simulate is None
        else companion(tool_id, "simulate", options.simulate, names),
        simulate_is_async=gives_awaitable(options.simulate),
        permissions=None
        if options.permissions is None
        else companion(tool_id, "permissions", options.permissions, names),
        agents=None if options.agents is None else frozenset(options.agents),
        idempotent=options.idempotent,
        mask_errors=options.mask_errors,
    )


def _doc(function: Any) -> str | None:
    plain = plain_function(function)
    own = None if inspect.isroutine(function) else inspect.getdoc(plain)
    if own is None and plain.__name__ == "__call__":
        own = inspect.getdoc(function)
    return inspect.getdoc(function) if inspect.isroutine(function) else own


def _checked_kind(tool_id: str, kind: Any) -> str:
    if not isinstance(kind, str) or not kind:
        raise RegistrationError(f"tool {tool_id!r}: its kind is no text", hint="use `read` or `write`")
    return kind


def _lock_name(tool_id: str, serial: Any) -> str | None:
    if not serial:
        return None
    if serial is True:
        return f"tool:{tool_id}"
    if not isinstance(serial, str):
        raise RegistrationError(f"tool {tool_id!r}: serial is True, False or the name of a resource")
    return serial


def _check_takes(tool_id: str, signature: Signature, schema: SchemaParser) -> None:
    """A function whose tool came with a schema is called by name: it must take what the schema admits."""
    taken = {parameter.name for parameter in signature.parameters}
    strangers = sorted(set(schema.properties) - taken)
    if strangers:
        raise RegistrationError(
            f"tool {tool_id!r}: its schema has {strangers[0]!r}, which the function does not take",
            hint="name the function's parameters as the schema's properties",
        )
    required = {each.name for each in signature.parameters if each.default is inspect.Parameter.empty}
    loose = sorted(required - set(schema.required))
    if loose:
        raise RegistrationError(
            f"tool {tool_id!r}: the function needs {loose[0]!r}, which its schema does not require",
            hint="list it under `required`, or give it a default",
        )
    if schema.is_open:
        raise RegistrationError(
            f"tool {tool_id!r}: its schema admits any other key, which the function can't take",
            hint="set `additionalProperties` to false",
        )


def _fed(function: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    """What runs a function that gets the one value which its `parse_input` made."""
    context, takes = signature.context, len(signature.parameters)

    def run(value: Any, ctx: Any) -> Any:
        named = {} if context is None else {context: ctx}
        return function(value, **named) if takes else function(**named)

    return run


_REQUIRED = ("kind", "parse_output", "execute")


def _from_fields(source: Any) -> RegisteredTool:
    """Seed 003's form; a `schema` may stand in place of `parse_input`."""
    get = _reader(source)
    tool_id = _checked_id(get("id"))
    missing = [name for name in _REQUIRED if get(name) is None]
    if get("parse_input") is None and get("schema") is None:
        missing.insert(1, "parse_input")
    if missing:
        raise RegistrationError(
            f"tool {tool_id!r} lacks {', '.join(missing)}", hint="give it every one of them"
        )
    for name in ("parse_input", "parse_output", "execute", "simulate", "permissions"):
        if get(name) is not None and not callable(get(name)):
            raise RegistrationError(f"tool {tool_id!r}: {name} can't be called")
    kind, execute, simulate, permissions = (
        _checked_kind(tool_id, get("kind")),
        get("execute"),
        get("simulate"),
        get("permissions"),
    )
    description = get("description")
    if description is not None and not isinstance(description, str):
        raise RegistrationError(f"tool {tool_id!r}: its description is no text")
    if get("parse_input") is not None:
        parse, schema = _own_parser(get("parse_input")), None
    else:
        made = SchemaParser(tool_id, get("schema"))
        parse, schema = made.parse, made.schema
    finish = _own_check(tool_id, get("parse_output"))
    asynchronous, agents = is_async(execute), get("agents")
    run = fitted(execute, 2)
    return RegisteredTool(
        id=tool_id,
        kind=kind,
        parse_input=lambda raw: parse(raw)[0],
        parse_output=lambda value: finish(value)[0],
        execute=run,
        debug_steps=get("debug_steps"),
        source=source,
        published=PublishedSchema(tool_id, kind, description, schema),
        parse=parse,
        run=run,
        finish=finish,
        own_parser=schema is None,
        is_async=asynchronous,
        wants_context=True,
        worker="inline" if asynchronous or get("blocking") is False else "thread",
        serial=_lock_name(tool_id, get("serial")),
        simulate=None if simulate is None else fitted(simulate, 2),
        simulate_is_async=gives_awaitable(simulate),
        permissions=None if permissions is None else fitted(permissions, 2),
        agents=None if agents is None else frozenset(agents),
        idempotent=bool(get("idempotent")),
        mask_errors=bool(get("mask_errors")),
    )


def _reader(source: Any) -> Callable[[str], Any]:
    if isinstance(source, Mapping):
        fields: Mapping[str, Any] = source
        return fields.get
    return lambda name: getattr(source, name, None)


def _own_parser(parse_input: Callable[..., Any]) -> Parse:
    """A tool with a parser of its own gets the raw value as it came; JSON containers are copied first."""
    read = fitted(parse_input, 1)

    def parse(raw: Any) -> Parsed:
        given = _copied(raw, _MAX_COPY_DEPTH)
        try:
            frozen: str | None = json_text(admitted(given, nothing_else))
        except NotJson:
            frozen = None
        try:
            return read(given), frozen, False
        except ToolError:
            raise
        except Exception as failure:
            raise InvalidArguments(str(failure) or type(failure).__name__) from failure

    return parse


def _copied(value: Any, room: int) -> Any:
    """The caller may change his while somebody is asked."""
    if type(value) not in {dict, list, bytearray}:
        return value
    if not room:
        raise InvalidArguments(
            f"the arguments are deeper than {_MAX_COPY_DEPTH} levels", code="args.too_deep"
        )
    if isinstance(value, dict):
        return {key: _copied(item, room - 1) for key, item in value.items()}
    return bytes(value) if isinstance(value, bytearray) else [_copied(item, room - 1) for item in value]


def _own_check(tool_id: str, parse_output: Callable[..., Any]) -> Finish:
    """A tool's own check of its result; what it lets through has to be JSON."""
    check, finish = fitted(parse_output, 1), walked(tool_id)

    def checked(value: Any) -> Finished:
        try:
            value = check(value)
        except ToolError:
            raise
        except Exception as failure:
            raise InvalidResult(str(failure) or type(failure).__name__) from failure
        return finish(value)

    return checked
