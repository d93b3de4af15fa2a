"""What holds for every test: no network but loopback, and the marker that ties tests to requirements."""

import socket
from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "covers(*ids): requirements (S-numbers) and cases (B-numbers) shown here"
    )


_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


def _refusing(real: Any) -> Any:
    def connect(self: socket.socket, address: Any) -> Any:
        if self.family in {socket.AF_INET, socket.AF_INET6} and address[0] not in _LOOPBACK:
            raise AssertionError(f"a test tried to reach {address[0]}: only loopback is there")
        return real(self, address)

    return connect


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect", _refusing(socket.socket.connect))
    monkeypatch.setattr(socket.socket, "connect_ex", _refusing(socket.socket.connect_ex))
