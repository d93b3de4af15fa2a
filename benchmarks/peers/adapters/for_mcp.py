# pyright: basic, reportMissingImports=false
"""mcp: `MCPServer.call_tool`, what the server does for a client's call, without the wire."""

import json
from collections.abc import Sequence
from typing import Any

from contract import Calls, Function, Peer
from mcp.server.mcpserver import MCPServer


def register(functions: Sequence[Function]) -> MCPServer:
    server = MCPServer("peers", log_level="CRITICAL")
    for function in functions:
        server.add_tool(function)
    return server


async def calls(server: MCPServer) -> Calls:
    async def awaited(name: str, text: str) -> Any:
        return await server.call_tool(name, json.loads(text))

    return Calls(awaited=awaited)


async def listed(server: MCPServer) -> Sequence[Any]:
    return await server.list_tools()


PEER = Peer(entry="MCPServer.call_tool", level="loop", register=register, calls=calls, listed=listed)
