import os
from dataclasses import dataclass
from typing import Annotated

from callboard import Injected, Principal, ToolContext, ToolError, ToolRegistry, secret, tool
from callboard.types import ExecutionOptions


@dataclass
class User:
    name: str
    repositories: list[str]


USERS = {"ada": User("Ada", ["engine"])}


@tool
def open_issue(
    title: str,
    user: Injected[User],
    token: Annotated[str, secret("TRACKER_TOKEN")],
) -> dict[str, str]:
    """Open an issue in the user's repository.

    Args:
        title: what is wrong
    """
    if title == "forbidden":
        raise PermissionError(f"the tracker refused {token}")
    return {"title": title, "repository": user.repositories[0], "sent": f"Bearer {token}"}


def user_of_call(ctx: ToolContext) -> User | None:
    return None if ctx.principal is None else USERS[ctx.principal.user]


PRETENDED = "tk-7f3a9c1e"  # in real life, somebody else sets it
os.environ["TRACKER_TOKEN"] = PRETENDED

tools = ToolRegistry(injected={"user": user_of_call}).register(open_issue)
print(sorted(tools.require("open_issue").input_schema["properties"]))

as_ada = ExecutionOptions(principal=Principal("ada"))
result = tools.invoke("open_issue", {"title": "it squeaks"}, execution=as_ada)
print(result.value["sent"])
print(result.content)

try:
    tools.invoke("open_issue", {"title": "forbidden"}, execution=as_ada)
except ToolError as error:
    print(error, "-", repr(error.__cause__))

del os.environ["TRACKER_TOKEN"]
try:
    tools.invoke("open_issue", {"title": "it squeaks"}, execution=as_ada)
except ToolError as error:
    print(error.code, "-", error.hint)
