"""Spans of calls, as an exporter gets them."""

import asyncio
import subprocess
import sys
import threading
from contextvars import copy_context
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai  # pyright: ignore[reportMissingTypeStubs]
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.trace import SpanKind, StatusCode, get_current_span

from callboard import Abort, Decision, ToolError, ToolRegistry, tool
from callboard.policy import CallView
from callboard.types import ApprovalAnswer, ApprovalRequest, ExecutionOptions
from tests.telemetry.conftest import Traces

BOUND = 10.0


@tool(mode="read")
def add(a: int, b: int) -> int:
    return a + b


@tool(mode="read")
async def waits() -> str:
    await asyncio.Event().wait()
    return "never"


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


class Failing:
    """A tracer of the host's own that fails: at the start of a span, or in one of its methods."""

    def __init__(self, where: str, traces: Traces) -> None:
        self.where = where
        self.traces = traces

    def start_span(self, *given: Any, **options: Any) -> Any:
        if self.where == "start_span":
            raise RuntimeError("the tracer failed")
        span: Any = self.traces.tracer.start_span(*given, **options)

        def fails(*_: Any, **__: Any) -> None:
            raise RuntimeError("the span failed")

        setattr(span, self.where, fails)
        return span


@pytest.mark.parametrize("where", ["start_span", "set_attributes", "set_status", "add_event", "end"])
async def test_a_tracer_that_fails_is_logged_and_costs_no_call(
    where: str, traces: Traces, caplog: pytest.LogCaptureFixture
) -> None:
    tracer: Any = Failing(where, traces)
    tools = ToolRegistry(tracer=tracer).register(add)

    assert (await tools.invoke_async("add", {"a": 1, "b": 2})).value == 3
    with pytest.raises(ToolError, match="a: is missing"):
        tools.invoke("add", {"b": 2})
    assert len(tools.events) == 3
    assert ("callboard.telemetry" in {record.name for record in caplog.records}) is (where != "add_event")
    assert not get_current_span().get_span_context().is_valid


async def test_a_name_that_a_model_made_up_is_bounded_and_can_be_sent(traces: Traces) -> None:
    tools = ToolRegistry(tracer=traces.tracer).register(add)

    await tools.invoke_batch([("\ud800" + "x" * 100_000, {})])

    (span,) = traces.spans
    assert span.name == "execute_tool \\ud800" + "x" * 199 + "…"
    assert attributes(span)["gen_ai.tool.name"] == span.name.removeprefix("execute_tool ")


async def test_a_call_that_is_closed_from_a_copy_of_its_context_ends_its_span(traces: Traces) -> None:
    passage = ToolRegistry(tracer=traces.tracer).register(waits).invoke_async("waits")
    inside = copy_context()
    inside.run(passage.send, None)

    inside.copy().run(passage.close)

    assert attributes(traces.one("execute_tool waits"))["callboard.status"] == "interrupted"


@pytest.mark.covers("B96")
async def test_an_ok_a_failed_and_a_denied_call_have_their_attributes_and_status(traces: Traces) -> None:
    def policy(view: CallView) -> Decision:
        return Decision("deny" if view.kind == "write" and view.arguments else "allow", ("no writes here",))

    @tool(mode="read")
    def fails() -> None:
        raise ToolError("the disk is full", code="disk.full")

    @tool
    def removes(path: str) -> None: ...

    tools = ToolRegistry(tracer=traces.tracer, authorize=policy).register_all([add, fails, removes])
    outcomes = await tools.invoke_batch(
        [("add", {"a": 1, "b": 2}), ("fails", {}), ("removes", {"path": "x"})],
        execution=ExecutionOptions(agent="main/scout"),
    )

    for outcome in outcomes:
        record = outcome.invocation
        assert record is not None
        span = traces.one(f"execute_tool {record.tool_id}")
        told = attributes(span)
        assert span.kind is SpanKind.INTERNAL
        assert told[gen_ai.GEN_AI_OPERATION_NAME] == "execute_tool"
        assert told[gen_ai.GEN_AI_TOOL_NAME] == record.tool_id
        assert told[gen_ai.GEN_AI_TOOL_TYPE] == "function"
        assert told[gen_ai.GEN_AI_TOOL_CALL_ID] == record.invocation_id
        assert told[gen_ai.GEN_AI_AGENT_NAME] == "main/scout"
        assert told["callboard.status"] == record.status
        assert gen_ai.GEN_AI_TOOL_CALL_ARGUMENTS not in told
        assert gen_ai.GEN_AI_TOOL_CALL_RESULT not in told
        if record.failure is None:
            assert span.status.status_code is StatusCode.UNSET
            assert ERROR_TYPE not in told
        else:
            assert span.status.status_code is StatusCode.ERROR
            assert span.status.description == record.failure.message
            assert told[ERROR_TYPE] == record.failure.code
    ends = [attributes(traces.one(f"execute_tool {name}")).get(ERROR_TYPE) for name in ("fails", "removes")]
    assert ends == ["disk.full", "permission.denied"]


@pytest.mark.covers("B96")
def test_contents_are_there_when_they_were_asked_for_and_bounded(traces: Traces) -> None:
    @tool(mode="read")
    def long(size: int) -> str:
        return "x" * size

    tools = ToolRegistry(tracer=traces.tracer, trace_content=True).register_all([add, long])
    tools.invoke("add", {"a": 1, "b": 2})
    tools.invoke("long", {"size": 50_000})

    told = attributes(traces.one("execute_tool add"))
    assert told[gen_ai.GEN_AI_TOOL_CALL_ARGUMENTS] == '{"a":1,"b":2}'
    assert told[gen_ai.GEN_AI_TOOL_CALL_RESULT] == "3"
    assert len(attributes(traces.one("execute_tool long"))[gen_ai.GEN_AI_TOOL_CALL_RESULT]) < 21_000


def test_a_sync_call_an_unknown_tool_and_bad_arguments_have_spans_too(traces: Traces) -> None:
    tools = ToolRegistry(tracer=traces.tracer).register(add)
    for tool_id, given in (("add", {"a": 1, "b": 2}), ("ad", {}), ("add", {"a": 1})):
        try:
            tools.invoke(tool_id, given)
        except ToolError:
            continue

    codes = [(span.name, attributes(span).get(ERROR_TYPE)) for span in traces.spans]
    assert codes == [
        ("execute_tool add", None),
        ("execute_tool ad", "tool.unavailable"),
        ("execute_tool add", "args.missing"),
    ]


async def test_calls_that_were_stopped_say_by_what(traces: Traces) -> None:
    tools, abort = ToolRegistry(tracer=traces.tracer).register(waits), Abort()
    late = tools.invoke_async("waits", execution=ExecutionOptions(deadline=0.02))
    with pytest.raises(ToolError):
        await asyncio.wait_for(late, BOUND)
    stopped = asyncio.create_task(tools.invoke_async("waits", abort=abort))
    cancelled = asyncio.create_task(tools.invoke_async("waits"))
    await asyncio.sleep(0)
    abort.set()
    cancelled.cancel()
    await asyncio.wait_for(asyncio.gather(stopped, cancelled, return_exceptions=True), BOUND)

    told = [attributes(span) for span in traces.spans]
    assert sorted(each[ERROR_TYPE] for each in told) == ["call.cancelled", "call.cancelled", "call.deadline"]
    assert sorted(each["callboard.status"] for each in told) == ["cancelled", "cancelled", "failed"]
    assert {span.status.status_code for span in traces.spans} == {StatusCode.ERROR}


async def test_a_write_that_was_left_running_is_unknown(traces: Traces) -> None:
    released = threading.Event()

    @tool
    def writes() -> None:
        released.wait(BOUND)

    tools = ToolRegistry(tracer=traces.tracer).register(writes)
    try:
        with pytest.raises(ToolError):
            await tools.invoke_async("writes", execution=ExecutionOptions(deadline=0.05))
    finally:
        released.set()

    told = attributes(traces.one("execute_tool writes"))
    assert (told["callboard.status"], told[ERROR_TYPE]) == ("unknown", "call.unknown")


async def test_what_a_tool_does_stands_inside_its_span_and_calls_at_once_do_not_mix(traces: Traces) -> None:
    tools = ToolRegistry(tracer=traces.tracer)

    @tool(mode="read")
    def in_a_thread(n: int) -> None:
        with traces.tracer.start_as_current_span(f"thread work {n}"):
            tools.invoke("leaf", {"n": n})

    @tool(mode="read")
    async def on_the_loop(n: int) -> None:
        with traces.tracer.start_as_current_span(f"loop work {n}"):
            await asyncio.sleep(0)
            await tools.invoke_async("leaf", {"n": n})

    @tool(mode="read", name="leaf", blocking=False)
    def leaf(n: int) -> None:
        get_current_span().set_attribute("n", n)

    tools.register_all([in_a_thread, on_the_loop, leaf])
    calls = [("in_a_thread", {"n": n}) for n in range(4)] + [("on_the_loop", {"n": n}) for n in range(4)]
    outcomes = await asyncio.wait_for(tools.invoke_batch(calls), BOUND)

    assert all(outcome.ok for outcome in outcomes)
    by_id = {span.context.span_id: span for span in traces.spans if span.context}
    for leaf_span in traces.named("execute_tool leaf"):
        assert leaf_span.parent is not None
        work = by_id[leaf_span.parent.span_id]
        n = attributes(leaf_span)["n"]
        assert work.name in {f"thread work {n}", f"loop work {n}"}
        assert work.parent is not None
        around = by_id[work.parent.span_id]
        assert around.name == (
            "execute_tool in_a_thread" if "thread" in work.name else "execute_tool on_the_loop"
        )
        assert around.parent is None
    assert not get_current_span().is_recording()


async def test_a_question_to_a_person_is_an_event_of_the_span(traces: Traces) -> None:
    class Yes:
        async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
            return ApprovalAnswer(True, request.digest)

    def ask(_: CallView) -> Decision:
        return Decision("ask", ("writes ask",))

    tools = ToolRegistry(tracer=traces.tracer, authorize=ask, approver=Yes()).register(
        tool(name="w")(lambda: 1)
    )
    await tools.invoke_async("w")

    events = [event.name for event in traces.one("execute_tool w").events]
    assert events == ["callboard.approval.asked", "callboard.approval.answered"]


async def test_a_passage_that_is_closed_elsewhere_ends_its_span_and_disturbs_nothing(traces: Traces) -> None:
    tools = ToolRegistry(tracer=traces.tracer).register(waits)
    passage = tools.invoke_async("waits")

    async def begin() -> None:
        passage.send(None)

    await asyncio.create_task(begin())
    passage.close()

    assert attributes(traces.one("execute_tool waits"))[ERROR_TYPE] == "GeneratorExit"
    assert not get_current_span().is_recording()


def test_derived_and_debugged_registries_trace_alike(traces: Traces) -> None:
    tools = ToolRegistry(tracer=traces.tracer, debug=True).register(add)
    tools.pinned().invoke("add", {"a": 1, "b": 2})

    assert len(traces.spans) == 1


def test_without_a_tracer_nothing_of_opentelemetry_is_loaded() -> None:
    program = (
        "import sys\n"
        "from callboard import ToolRegistry, tool\n"
        "ToolRegistry().register(tool(name='one')(lambda: 1)).invoke('one')\n"
        "import callboard.host\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
