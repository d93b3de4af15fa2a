import asyncio
from typing import Annotated

from callboard import Principal, ToolRegistry, secret, tool
from callboard.registry import system_secrets
from callboard.types import ExecutionOptions

VAULT = {("acme", "TRACKER_TOKEN"): "tk-of-acme-7f3a"}


async def secrets(name: str, principal: Principal | None) -> str | None:
    """A tenant's secrets are its own; calls for nobody get those of this machine."""
    if principal is None:
        return await system_secrets(name)
    return VAULT.get((principal.tenant or "", name))


@tool(mode="read")
async def whoami(token: Annotated[str, secret("TRACKER_TOKEN")]) -> str:
    """Tell whose token is used."""
    return f"the tracker knows {token}"


async def main() -> None:
    tools = ToolRegistry(secrets=secrets).register(whoami)
    as_ada = ExecutionOptions(principal=Principal("ada", tenant="acme"))
    print((await tools.invoke_async("whoami", execution=as_ada)).content)


asyncio.run(main())
