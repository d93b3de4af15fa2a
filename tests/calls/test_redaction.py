"""What was delivered as a secret is kept out of all that is said of a call."""

import asyncio
import base64
import gc
import json
import logging
import threading
import traceback
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

import pytest

from callboard import Decision, Injected, ToolContext, ToolError, ToolRegistry, secret, tool
from callboard.conversation import Image, Resource, Text
from callboard.errors import Withheld
from callboard.events import CallProgress
from callboard.policy import CallView
from callboard.tools import Retries
from callboard.types import ApprovalAnswer, ApprovalRequest, ExecutionOptions, Redaction
from tests.calls.secret_tools import KEY, Token, always, asking, everything, fail, keys, knowing, show
from tests.calls.surroundings import BOUND, code_of, records, registry


@pytest.mark.parametrize("how", ["plain", "inside", "json", "base64", "url"])
def test_a_result_shows_stars_to_the_model_and_in_the_record_and_its_value_to_the_program(how: str) -> None:
    tools = registry(show, secrets=keys)

    result = tools.invoke("show", {"how": how})

    assert result.value == show.function(KEY, how)
    shown = result.text
    for told in (shown, result.invocation.result or "", everything(tools)):
        for form in (KEY, json.dumps(KEY)[1:-1], quote(KEY), base64.b64encode(KEY.encode()).decode()[:-4]):
            assert form not in told
    assert "***" in shown
    json.loads(result.invocation.result or "")


def test_a_result_without_the_secret_stays_as_it_is() -> None:
    result = registry(show, secrets=keys).invoke("show", {"how": "number"})

    assert (result.content, result.invocation.result) == (str(len(KEY)), str(len(KEY)))


def test_a_number_that_holds_the_secret_becomes_a_text_and_the_record_stays_json() -> None:
    @tool(mode="read")
    def account(pin: Token) -> dict[str, Any]:
        return {"id": int(pin), "other": 7, "text": f"no. {pin}"}

    result = registry(account, secrets=always("123456")).invoke("account")

    assert json.loads(result.invocation.result or "") == {"id": "***", "other": 7, "text": "no. ***"}
    assert json.loads(result.text) == {"id": "***", "other": 7, "text": "no. ***"}


def test_parts_of_content_show_stars_in_their_texts() -> None:
    @tool(mode="read")
    def parts(token: Token) -> list[Any]:
        shown = Text(f"a {token}", metadata={"note": token})
        return [shown, Resource(f"file:///{token}", text=token), Image(b"picture"), "plain"]

    result = registry(parts, secrets=always("sk-0123456789")).invoke("parts")

    assert "sk-0123456789" not in repr(result.content)
    assert result.content[0] == Text("a ***", metadata={"note": "***"})
    assert result.content[2] == Image(b"picture")
    assert "sk-0123456789" not in (result.invocation.result or "")


@pytest.mark.parametrize("size", [99_990, 99_995, 100_000, 250_000])
def test_a_large_result_is_cut_after_its_secrets_are_taken_out(size: int) -> None:
    kept: list[str] = []

    class Shelf:
        def put(self, text: str) -> str:
            kept.append(text)
            return "handle"

    @tool(mode="read")
    def large(token: Token) -> str:
        return "x" * (size // 2 - 6) + token + "y" * (size // 2)

    result = registry(large, secrets=always("sk-0123456789ab"), blobs=Shelf()).invoke("large")

    for told in (result.text, result.invocation.result or "", *kept):
        assert "sk-0" not in told
        assert "89ab" not in told


async def failure_of(tools: ToolRegistry, given: Any, *, sync: bool) -> ToolError:
    try:
        result = tools.invoke("fail", given) if sync else await tools.invoke_async("fail", given)
    except ToolError as error:
        return error
    raise AssertionError(result)


@pytest.mark.covers("B57")
@pytest.mark.parametrize("how", ["text", "repr", "tool", "attributes", "exit", "chained", "cut", "result"])
async def test_a_failure_tells_no_secret_whatever_the_tool_raises(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    tools = registry(fail, secrets=always("sk-0123456789ab"))

    for sync in (True, False):
        with caplog.at_level(logging.DEBUG):
            error = await failure_of(tools, {"how": how}, sync=sync)
        told = "".join(traceback.format_exception(error))
        for text in (str(error), error.code, error.hint or "", told, everything(tools), caplog.text):
            assert "sk-0" not in text
            assert "89ab" not in text


def test_the_cause_is_a_text_with_class_message_and_traceback() -> None:
    with pytest.raises(ToolError) as caught:
        registry(fail, secrets=keys).invoke("fail", {"how": "text"})

    cause = caught.value.__cause__
    assert isinstance(cause, Withheld)
    assert str(cause) == "ValueError: 401 for ***"
    assert "in fail" in cause.__notes__[0]
    assert "ValueError: 401 for ***" in cause.__notes__[0]
    assert caught.value.__context__ is None


def test_no_frame_of_the_tool_is_left_in_what_is_raised() -> None:
    with pytest.raises(ToolError) as caught:
        registry(fail, secrets=keys).invoke("fail", {"how": "text"})

    names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert "fail" not in names
    assert caught.value.__cause__.__traceback__ is None  # type: ignore[union-attr]


def test_a_result_that_is_refused_is_left_in_no_frame_of_what_is_raised() -> None:
    @tool
    def leak(token: Token) -> int:
        return [token]  # type: ignore[return-value]

    with pytest.raises(ToolError) as caught:
        registry(leak, secrets=always("plain-token-0123")).invoke("leak")

    assert caught.value.code == "result.invalid"
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    held = [repr(frame.f_locals) for frame in frames if "callboard" in frame.f_code.co_filename]
    assert held
    assert not [each for each in held if "plain-token-0123" in each]


def test_a_tool_without_secrets_keeps_its_cause() -> None:
    @tool
    def plain() -> None:
        raise ValueError("no")

    with pytest.raises(ToolError) as caught:
        registry(plain, secrets=keys).invoke("plain")

    assert isinstance(caught.value.__cause__, ValueError)


def test_a_failing_call_with_a_secret_leaves_no_reference_cycle() -> None:
    tools = registry(fail, secrets=keys)
    with pytest.raises(ToolError):
        tools.invoke("fail", {"how": "text"})
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(ToolError):
            tools.invoke("fail", {"how": "text"})
        assert not [each for each in gc.get_objects() if isinstance(each, Withheld)]
    finally:
        gc.enable()


async def test_a_batch_redacts_each_call_for_itself() -> None:
    tools = registry(show, fail, secrets=keys)

    outcomes = await tools.invoke_batch(
        [("show", {}), ("fail", {"how": "text"}), ("show", {"how": "number"})]
    )

    assert [outcome.ok for outcome in outcomes] == [True, False, True]
    assert "***" in outcomes[0].text
    assert "***" in outcomes[1].text
    assert "sk-" not in repr(outcomes[1]) + outcomes[0].text + everything(tools)


async def test_progress_of_generators_shows_stars() -> None:
    @tool
    def steps(token: Token) -> Iterator[dict[str, Any]]:
        yield {"at": 1, "token": token}
        yield {"at": 2, "token": token}

    @tool
    async def stream(token: Token) -> AsyncIterator[str]:
        yield f"using {token}"
        yield token

    tools = registry(steps, stream, secrets=keys)
    tools.invoke("steps")
    await tools.invoke_async("steps")
    await tools.invoke_async("stream")

    told = [event.value for event in tools.events if isinstance(event, CallProgress)]
    assert [json.loads(value) for value in told] == [
        *([{"at": 1, "token": "***"}, {"at": 2, "token": "***"}] * 2),
        "using ***",
        "***",
    ]


def test_what_a_tool_logs_through_its_context_shows_stars(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    def log(token: Token, ctx: ToolContext) -> None:
        ctx.logger.info(
            "using %s and %r", token, {"token": token}, extra={"headers": {"auth": token}, "n": 3}
        )
        ctx.logger.getChild("inner").warning("again %s", token, stack_info=True)
        ctx.logger.debug("never %s", token)
        try:
            raise ValueError(token)
        except ValueError:
            ctx.logger.exception("it failed with %s", token)
        ctx.logger.error("wrong %d", token)

    logger = logging.getLogger("tests.secrets")
    with caplog.at_level(logging.INFO, "tests.secrets"):
        registry(log, secrets=keys).invoke("log", logger=logger)

    messages = [record.getMessage() for record in caplog.records]
    assert "using *** and {'token': '***'}" in messages
    assert "again ***" in messages
    assert "it failed with ***" in messages
    assert not [message for message in messages if message.startswith("never")]
    formatted = "\n".join(
        logging.Formatter().format(record) + repr(vars(record)) for record in caplog.records
    )
    assert "sk-" not in formatted
    assert "ValueError: ***" in formatted
    first = next(record for record in caplog.records if record.getMessage().startswith("using"))
    assert (first.headers, first.n, first.funcName) == ({"auth": "***"}, 3, "log")  # type: ignore[attr-defined]


async def test_a_call_inside_a_call_gets_no_secret_of_the_outer_and_shows_none() -> None:
    asked: list[ApprovalRequest] = []

    class Yes:
        async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
            asked.append(request)
            return ApprovalAnswer(True, request.digest)

    got: list[Any] = []

    @tool
    async def inner(text: str, ctx: ToolContext) -> str:
        got.append((text, dict(ctx.delivered)))
        ctx.report(text)
        ctx.logger.warning("inner got %s", text)
        return f"inner {text}"

    @tool
    async def outer(token: Token) -> str:
        return (await tools.invoke_async("inner", {"text": token})).value

    def ask(view: CallView) -> Decision:
        return Decision("ask" if view.tool_id == "inner" else "allow", (f"because {view.arguments}",))

    tools = registry(inner, outer, secrets=always("sk-0123456789"), approver=Yes(), authorize=ask)

    result = await tools.invoke_async("outer")

    assert result.value == "inner sk-0123456789"
    assert got == [("sk-0123456789", {})]
    assert json.loads(asked[0].arguments) == {"text": "***"}
    assert "sk-0" not in repr(asked) + everything(tools)
    assert [record.tool_id for record in records(tools)] == ["inner", "outer"]


async def test_arguments_that_were_shown_with_stars_can_not_be_edited() -> None:
    class Editor:
        async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
            return ApprovalAnswer(True, request.digest, arguments=request.arguments)

    ran: list[str] = []

    @tool
    async def inner(text: str) -> None:
        ran.append(text)

    @tool
    async def outer(token: Token) -> str:
        try:
            await tools.invoke_async("inner", {"text": token})
        except ToolError as error:
            return error.code
        return "ran"

    def ask(view: CallView) -> Decision:
        return Decision("ask" if view.tool_id == "inner" else "allow")

    tools = registry(inner, outer, secrets=keys, approver=Editor(), authorize=ask)

    assert (await tools.invoke_async("outer")).value == "approval.redacted"
    assert ran == []


async def test_calls_that_share_a_redaction_keep_each_others_secrets_out() -> None:
    left: list[str] = []

    @tool
    def leave(token: Token) -> None:
        left.append(token)

    @tool(mode="read")
    def find() -> str:
        return f"there was {left[-1]}"

    @tool
    def lose() -> None:
        raise ValueError(f"lost {left[-1]}")

    tools = registry(leave, find, lose, secrets=keys)
    shared = ExecutionOptions(redaction=Redaction())

    await tools.invoke_async("leave", execution=shared)
    assert (await tools.invoke_async("find", execution=shared)).text == "there was ***"
    with pytest.raises(ToolError, match=r"lost \*\*\*"):
        await tools.invoke_async("lose", execution=shared)
    assert (await tools.invoke_async("find")).text == f"there was {KEY}"


def test_secrets_that_overlap_leave_nothing_of_each_other() -> None:
    redaction = knowing("abcdef", "defghi", "abcdefghij")

    assert redaction.text("x abcdefghi y abcdefghij z abcdef") == "x *** y *** z ***"
    assert knowing("aXaXaX").text("aXaXaXaX") == "***"


def test_a_long_line_of_a_secret_is_taken_out_on_its_own() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nshort\n-----END KEY-----\n"

    shown = knowing(key).text("the second line is MIIEvQIBADANBgkqhkiG9w0BAQEF, then short")

    assert shown == "the second line is ***, then short"


@pytest.mark.parametrize("length", [32, 40, 900])
def test_a_long_secret_is_found_where_it_was_cut(length: int) -> None:
    key = "".join(chr(ord("a") + number % 26) + str(number) for number in range(length))[:length]
    redaction = knowing(key)

    assert redaction.text(f"<{key[:20]}… and {key[-18:]}>") == "<***… and ***>"
    assert redaction.text(f"{key[:16]}{key[-16:]}") == "***"
    assert redaction.json(json.dumps({key[:20]: key[3:-1]})) == json.dumps({"***": key[3:-1]})


CREDENTIALS = '{"user":"ada","pass":"hunter22","key":"MIIEvQIBADANBgkqhkiG9w0BAQEF"}'


@pytest.mark.parametrize(
    ("hidden", "result", "kept"),
    [
        (CREDENTIALS, {"a": json.loads(CREDENTIALS), "b": 1}, {"a": "***", "b": 1}),
        ('["abc","def"]', [["abc", "def"], "abc"], ["***", "abc"]),
        ('"pass":"hunter22"', {"a": {"pass": "hunter22"}}, {"a": "***"}),
        ("[1234,5678]", [1234, 5678], "***"),
    ],
)
def test_a_secret_that_is_json_is_taken_out_where_it_is_a_value(hidden: str, result: Any, kept: Any) -> None:
    @tool(mode="read")
    def use(token: Token) -> Any:
        return result

    tools = registry(use, secrets=always(hidden))
    told = tools.invoke("use")

    assert json.loads(told.text) == json.loads(told.invocation.result or "") == kept
    assert "hunter22" not in everything(tools)


def test_a_long_text_inside_a_secret_that_is_json_is_taken_out_on_its_own() -> None:
    redaction = knowing(json.dumps({"type": "key", "inner": [{"key": "MIIEvQIBAD/\nANBgkqhkiG9"}]}, indent=2))

    assert redaction.text("refused: MIIEvQIBAD/\nANBgkqhkiG9, of type key") == "refused: ***, of type key"
    assert redaction.json(json.dumps(["MIIEvQIBAD/\nANBgkqhkiG9"])) == '["***"]'
    assert knowing("[" * 3_000).text("[[") == "[["


def test_what_interrupts_a_call_tells_no_secret() -> None:
    @tool(mode="read")
    def use(token: Token) -> None:
        raise KeyboardInterrupt(token)

    tools = registry(use, secrets=keys)

    with pytest.raises(KeyboardInterrupt, match=r"^\*\*\*$"):
        tools.invoke("use")
    assert records(tools)[-1].failure is not None
    assert "0123" not in everything(tools)


@pytest.mark.parametrize("error", [ValueError, ToolError])
@pytest.mark.parametrize("by", ["source", "maker"])
async def test_what_fetches_one_value_and_fails_tells_no_secret_that_was_fetched_before(
    error: type[Exception], by: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: Any) -> str:
        raise error("no exchange for sk-0123456789")

    def one(name: str, _: Any) -> str:
        return "sk-0123456789" if name == "TOKEN" else fails()

    @tool(mode="read")
    def by_source(first: Token, second: str = secret("SECOND")) -> None: ...

    @tool(mode="read")
    def by_maker(first: Token, second: Injected[str]) -> None: ...

    tools = registry(
        by_source,
        by_maker,
        secrets=one,
        injected={"second": fails},
    )
    with pytest.raises(ToolError) as raised:
        await tools.invoke_async(f"by_{by}")

    assert raised.value.code in {"tool.failed", "secret.failed", "injected.failed"}
    told = "".join(traceback.format_exception(raised.value))
    assert "sk-0" not in told + everything(tools) + caplog.text
    assert "***" in told
    assert "sk-0" not in repr(raised.value.__context__) + repr(raised.value.__cause__)


def test_whatever_a_tool_logs_its_call_goes_on_and_tells_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    endless: list[Any] = []
    endless.append(endless)

    @tool(mode="read")
    def use(token: Token, ctx: ToolContext) -> str:
        pairs: dict[Any, Any] = {(1, 2): token, (token, 3): 4, frozenset([5]): 6}
        ctx.logger.warning("said", extra={"endless": endless, "pairs": pairs})
        return "done"

    assert registry(use, secrets=always("sk-0123456789")).invoke("use").value == "done"

    told = vars(caplog.records[-1])
    assert told["endless"] == "a list that can't be shown"
    assert told["pairs"] == {(1, 2): "***", "('***', 3)": 4, frozenset([5]): 6}


async def test_a_refusal_in_the_words_of_a_secret_is_told_without_it() -> None:
    class No:
        async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
            return ApprovalAnswer(False, request.digest, reason="not sk-0123456789", by="sk-0123456789")

    @tool
    def send(text: str) -> None: ...

    tools = registry(send, approver=No(), authorize=asking)

    with pytest.raises(ToolError, match=r"not \*\*\*"):
        await tools.invoke_async(
            "send", {"text": "x"}, execution=ExecutionOptions(redaction=knowing("sk-0123456789"))
        )
    assert "sk-0" not in everything(tools)


def test_a_path_in_an_error_is_cut_without_leaving_a_piece_of_a_secret() -> None:
    key = "".join(chr(ord("a") + number % 26) + str(number) for number in range(400))

    @tool(mode="read")
    def odd(token: Token) -> Any:
        return {token: {1, 2}}

    with pytest.raises(ToolError) as caught:
        registry(odd, secrets=always(key)).invoke("odd")

    assert caught.value.code == "result.unserialisable"
    assert "***" in str(caught.value)
    assert not [n for n in range(0, len(key) - 16, 4) if key[n : n + 16] in str(caught.value)]


async def test_what_fails_around_a_call_inside_is_logged_with_stars(caplog: pytest.LogCaptureFixture) -> None:
    failing = ["policy"]

    def authorize(view: CallView) -> Decision:
        if view.tool_id == "inner" and failing[0] == "policy":
            raise ValueError(view.arguments)
        return Decision("ask" if view.tool_id == "inner" else "allow")

    def before(view: CallView) -> None:
        if view.tool_id == "inner" and failing[0] == "hook":
            raise ValueError(view.arguments)

    class Broken:
        async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
            raise ValueError(seen[-1])

    seen: list[str] = []

    @tool
    async def inner(text: str) -> None: ...

    @tool
    async def outer(token: Token) -> str:
        seen.append(token)
        try:
            await tools.invoke_async("inner", {"text": token})
        except ToolError as error:
            return f"{error.code} {token in ''.join(traceback.format_exception(error))}"
        return "ran"

    tools = registry(
        inner,
        outer,
        secrets=always("sk-0123456789ab"),
        authorize=authorize,
        before=[before],
        approver=Broken(),
    )
    codes = ("permission.policy_failed", "permission.hook_failed", "approval.failed")
    for part, code in zip(("policy", "hook", "approver"), codes, strict=True):
        failing[0] = part
        assert (await tools.invoke_async("outer")).value == f"{code} False"

    assert caplog.text.count("ValueError") >= 3
    assert "sk-" not in caplog.text


def test_a_secret_that_is_delivered_with_blanks_around_it_is_found_without_them() -> None:
    @tool(mode="read")
    def use(token: Token) -> list[Any]:
        return [token == " sk-0123456789\n", f"<{token.strip()}>"]

    assert registry(use, secrets=always(" sk-0123456789\n")).invoke("use").text == '[true,"<***>"]'


def test_a_short_secret_is_refused_by_the_redaction_itself() -> None:
    with pytest.raises(ValueError, match="6 characters"):
        Redaction().add("12345")
    assert not Redaction()
    assert "sk-" not in repr(knowing("sk-0123456789"))


async def test_a_thread_that_was_left_running_still_logs_stars(caplog: pytest.LogCaptureFixture) -> None:
    go_on, over = threading.Event(), threading.Event()

    @tool
    def late(token: Token, ctx: ToolContext) -> None:
        go_on.wait(BOUND)
        ctx.logger.warning("late %s", token)
        ctx.report(token)
        over.set()

    tools = registry(late, secrets=keys)
    assert (
        await code_of(tools.invoke_async("late", execution=ExecutionOptions(deadline=0.05))) == "call.unknown"
    )
    go_on.set()
    while not over.is_set():
        await asyncio.sleep(0)

    assert [record.getMessage() for record in caplog.records if "late" in record.getMessage()] == ["late ***"]
    assert "sk-" not in everything(tools)


@pytest.mark.parametrize("before", [1_980, 1_990, 1_999])
async def test_a_try_that_failed_is_told_without_the_secret_even_where_its_text_is_cut(before: int) -> None:
    @tool(mode="read", retries=Retries(1, wait=0.0))
    async def flaky(token: Token) -> str:
        raise OSError(" " * before + token)

    tools = registry(flaky, secrets=always("sk-0123456789abcdef"))

    assert await code_of(tools.invoke_async("flaky")) == "tool.failed"
    assert [event for event in tools.events if isinstance(event, CallProgress)]
    assert "sk-" not in everything(tools)
