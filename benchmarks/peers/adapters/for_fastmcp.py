# pyright: basic, reportMissingImports=false
"""fastmcp: `FastMCP.call_tool`, what the server does for a client's call, without the wire."""

import json
from collections.abc import Sequence
from typing import Any

from contract import Calls, Function, Peer
from fastmcp import FastMCP
from fastmcp.tools import Tool


def register(functions: Sequence[Function]) -> FastMCP:
    server = FastMCP("peers")
    for function in functions:
        server.add_tool(Tool.from_function(function))
    return server


async def calls(server: FastMCP) -> Calls:
    async def awaited(name: str, text: str) -> Any:
        return await server.call_tool(name, json.loads(text))

    return Calls(awaited=awaited)


async def listed(server: FastMCP) -> Sequence[Any]:
    return await server.list_tools()


PEER = Peer(entry="FastMCP.call_tool", level="loop", register=register, calls=calls, listed=listed)
