"""A server of their own for tests that look through all its keys time and again; for a conftest.py to take over."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyadeq.embedded import EmbeddedServer
from tests.conftest import audited

__all__ = ["server", "url"]


@pytest.fixture(scope="session")
def server(binary: Path) -> Iterator[EmbeddedServer]:
    """A server that holds little."""
    with audited(binary) as server:
        yield server


@pytest.fixture(scope="session")
def url(server: EmbeddedServer) -> str:
    return server.url
