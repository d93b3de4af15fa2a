"""The host's registry: a call whose record could not be written has not succeeded."""

from collections.abc import Coroutine, Iterable
from dataclasses import replace
from typing import Any

from callboard.errors import StoreError, ToolError
from callboard.events import ToolCallRecord
from callboard.host.recording import Ledger
from callboard.registry import ToolRegistry
from callboard.types import (
    CallOutcome,
    ExecutionOptions,
    PendingCall,
    ToolInvocationRequest,
    ToolResult,
)


class RecordedRegistry(ToolRegistry):
    """A ToolRegistry that tells its callers when a record was lost.

    Args:
        ledger: where its calls are recorded.
        options: those of `ToolRegistry`.
    """

    def __init__(self, ledger: Ledger, **options: Any) -> None:
        super().__init__(**options)
        self._ledger = ledger

    def invoke(
        self,
        tool: str | ToolInvocationRequest,
        input: Any = None,  # noqa: A002 - the seed's word
        *,
        execution: ExecutionOptions | None = None,
        **options: Any,
    ) -> ToolResult[Any]:
        """See `ToolRegistry.invoke`.

        Raises:
            ToolError: also where the call succeeded and its record is lost: `store.unusable`.
        """
        self._ledger.ready()
        try:
            result = super().invoke(tool, input, execution=self._noting(execution), **options)
        except ToolError as error:
            self._note(error)
            raise
        return self._kept(result)

    def invoke_async(
        self,
        tool: str | ToolInvocationRequest,
        input: Any = None,  # noqa: A002 - the seed's word
        *,
        execution: ExecutionOptions | None = None,
        **options: Any,
    ) -> Coroutine[Any, Any, ToolResult[Any]]:
        """See `ToolRegistry.invoke_async`.

        Raises:
            ToolError: when awaited, as `invoke`.
        """
        return self._awaited(super().invoke_async(tool, input, execution=self._noting(execution), **options))

    async def invoke_batch(
        self,
        requests: Iterable[ToolInvocationRequest | tuple[str, Any]],
        *,
        execution: ExecutionOptions | None = None,
    ) -> list[CallOutcome]:
        """See `ToolRegistry.invoke_batch`; a call whose record is lost has failed."""
        self._ledger.ready()
        outcomes = await super().invoke_batch(requests, execution=self._noting(execution))
        return [self._checked(outcome) for outcome in outcomes]

    def _noting(self, execution: ExecutionOptions | None) -> ExecutionOptions | None:
        """A barrier that a call brings comes after the ledger's, not in its place."""
        own = None if execution is None else execution.barrier
        if execution is None or own is None:
            return execution

        async def both(call: PendingCall) -> None:
            await self._ledger.barrier(call)
            await own(call)

        return replace(execution, barrier=both)

    async def _awaited(self, passage: Coroutine[Any, Any, ToolResult[Any]]) -> ToolResult[Any]:
        self._ledger.ready()
        try:
            result = await passage
        except ToolError as error:
            self._note(error)
            raise
        return self._kept(result)

    def _kept(self, result: ToolResult[Any]) -> ToolResult[Any]:
        trouble = self._ledger.lost(result.invocation.invocation_id)
        if trouble is None:
            return result
        raise _unrecorded(result.invocation, trouble) from trouble

    def _checked(self, outcome: CallOutcome) -> CallOutcome:
        record = outcome.invocation
        trouble = None if record is None else self._ledger.lost(record.invocation_id)
        if record is None or trouble is None or outcome.error is not None:
            return outcome
        return CallOutcome(record, None, _unrecorded(record, trouble))

    def _note(self, error: ToolError) -> None:
        """A failure fails its caller anyway; that its record is lost is said beside it."""
        trouble = None if error.invocation is None else self._ledger.lost(error.invocation.invocation_id)
        if trouble is not None:
            error.add_note(f"and its record could not be written: {trouble}")


def _unrecorded(record: ToolCallRecord, trouble: StoreError) -> ToolError:
    error = ToolError(
        f"{record.tool_id} has run, but its record could not be written: {trouble}",
        code=trouble.code,
        hint=trouble.hint,
    )
    return error.recorded(record)
