"""What a call was delivered as a secret is in no span and no word about a further try."""

import json
from typing import Annotated

import pytest

from callboard import ToolError, ToolRegistry, secret, tool
from callboard.tools import Retries
from tests.telemetry.conftest import Traces

TOKEN = "tok-5f2c8f3b0a7d9e11"


async def test_a_secret_is_in_no_span_and_no_progress(traces: Traces) -> None:
    @tool(mode="read", retries=Retries(1, wait=0))
    async def leaks(given: str, token: Annotated[str, secret("SERVICE_TOKEN")]) -> str:
        if given == "fail":
            raise ConnectionError(f"refused with {token}")
        return f"{given} with {token}"

    def source(_name: str, _principal: object) -> str:
        return TOKEN

    tools = ToolRegistry(secrets=source, tracer=traces.tracer, trace_content=True).register(leaks)
    result = await tools.invoke_async("leaks", {"given": "work"})
    with pytest.raises(ToolError):
        await tools.invoke_async("leaks", {"given": "fail"})

    assert TOKEN in result.value
    told = [(span.name, span.status.description, dict(span.attributes or {})) for span in traces.spans]
    assert len(told) == 2
    assert TOKEN not in json.dumps(told)
    assert "refused with" in json.dumps(told)
    assert TOKEN not in repr(tools.events)
