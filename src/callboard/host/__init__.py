"""The host: configuration, tools, models, store and orchestration, wired into one running thing."""

from callboard.host.handle import RunHandle
from callboard.host.host import Host
from callboard.host.result import RunResult, RunStatus

__all__ = ["Host", "RunHandle", "RunResult", "RunStatus"]
