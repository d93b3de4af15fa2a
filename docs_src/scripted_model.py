import asyncio

from callboard.models import ModelRequest
from callboard.testing import ScriptedModel, call, calls, text


async def main() -> None:
    model = ScriptedModel(main=[calls(call("add", a=1, b=2), call("add", a=3, b=4)), text("3 and 7")])
    request = ModelRequest("main", [{"role": "user", "content": "1 + 2? 3 + 4?"}])
    first = await model.answer(request, on_delta=print)
    assert [one["arguments"] for one in first.calls] == ['{"a": 1, "b": 2}', '{"a": 3, "b": 4}']
    assert (await model.answer(request, on_delta=print)).text == "3 and 7"
    model.assert_complete()


asyncio.run(main())
