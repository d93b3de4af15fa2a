"""User code as a type checker sees it; `make types` checks what stands in `assert_type`."""

from dataclasses import dataclass
from typing import Any, assert_type

import pytest

from callboard import ToolRegistry, ToolResult
from callboard.tools import ErasedTool, RegisteredTool


@dataclass
class Mine:
    id: str = "mine"
    kind: str = "read"
    risk: str = "low"

    def parse_input(self, raw: object) -> object:
        return raw

    def parse_output(self, value: object) -> object:
        return value

    def execute(self, value: object) -> object:
        return value


@pytest.mark.covers("S3-005", "S3-066")
def test_a_registry_of_my_tools_gives_entries_of_my_tools() -> None:
    registry = ToolRegistry[Mine]()
    registry.register(Mine())

    assert_type(registry.get("mine"), RegisteredTool[Mine] | None)
    assert_type(registry.require("mine"), RegisteredTool[Mine])
    assert_type(registry.definitions, tuple[RegisteredTool[Mine], ...])
    assert_type(registry.require("mine").source.risk, str)

    assert registry.require("mine").source.risk == "low"


@pytest.mark.covers("S3-006")
def test_without_a_type_it_is_a_registry_of_erased_tools() -> None:
    registry = ToolRegistry()

    assert_type(registry, ToolRegistry[ErasedTool])

    assert registry.get("nothing") is None


@pytest.mark.covers("S3-051")
def test_a_result_is_typed_as_a_result() -> None:
    registry = ToolRegistry[Mine]()
    registry.register(Mine())
    result = registry.invoke("mine", {})

    assert_type(result, ToolResult[Any])

    assert result.value == {}
