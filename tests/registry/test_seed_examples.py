"""Seed 003's first example in Python form. The second one stands in tests/workflow."""

from typing import Any

import pytest

from callboard import Decision, ToolError, ToolRegistry


def need_object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("需要对象")
    return {}


def need_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("需要文本")
    return value


def status_tool(answer: Any = "服务运行正常") -> dict[str, Any]:
    return {
        "id": "get_status",
        "kind": "read",
        "description": "读取演示服务状态",
        "parse_input": need_object,
        "execute": lambda: answer,
        "parse_output": need_text,
    }


@pytest.mark.covers("S3-074", "S3-075", "S3-077", "S3-079", "S3-053")
def test_the_smallest_read_tool_answers_with_a_receipt() -> None:
    tools = ToolRegistry().register(status_tool()).seal()

    result = tools.invoke("get_status", {})

    assert result.value == "服务运行正常"
    assert result.invocation.invocation_id
    entry = tools.require("get_status")
    assert (entry.id, entry.kind, entry.description) == ("get_status", "read", "读取演示服务状态")


@pytest.mark.covers("S3-076", "S3-054", "S3-045")
@pytest.mark.parametrize("raw", [None, [], "x"])
def test_its_own_parser_refuses_what_is_no_object(raw: object) -> None:
    tools = ToolRegistry().register(status_tool()).seal()

    with pytest.raises(ToolError, match="需要对象") as caught:
        tools.invoke("get_status", raw)

    assert caught.value.invocation.status == "failed"
    assert caught.value.invocation.failure.code == "args.invalid"


@pytest.mark.covers("S3-076")
def test_its_own_parser_may_drop_what_it_does_not_want() -> None:
    assert ToolRegistry().register(status_tool()).invoke("get_status", {"a": 1}).value == "服务运行正常"


@pytest.mark.covers("S3-078", "S3-056", "S3-054")
def test_its_own_check_refuses_a_result_that_is_no_text() -> None:
    tools = ToolRegistry().register(status_tool(answer=1))

    with pytest.raises(ToolError, match="需要文本") as caught:
        tools.invoke("get_status", {})

    assert caught.value.code == "result.invalid"
    assert caught.value.invocation.result is None


@pytest.mark.covers("S3-080", "S3-001")
def test_authorisation_belongs_to_whoever_registers_it() -> None:
    ran: list[str] = []
    tool = status_tool() | {"execute": lambda: ran.append("x") or "done"}
    refusing = ToolRegistry(authorize=lambda _view: Decision("deny", ("closed today",))).register(tool)

    with pytest.raises(ToolError, match="closed today") as caught:
        refusing.invoke("get_status", {})

    assert ran == []
    assert caught.value.invocation.status == "denied"
    bare = ToolRegistry().register(tool | {"kind": "anything"}).invoke("get_status", {})
    assert bare.invocation.verdict == "allow"
    assert bare.invocation.reasons == ("no authoriser registered",)
