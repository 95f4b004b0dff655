"""A server with a TCP port, and a network before it that does as it is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer
from tests.integration import servers
from tests.integration.faults.network import Network


@pytest.fixture(scope="module")
def tcp(binary: Path) -> Iterator[EmbeddedServer]:
    with servers.start(binary, {}) as server, Adeq.from_url(server.url) as adeq:
        adeq.load_scripts()
        yield server


@pytest.fixture
def network(tcp: EmbeddedServer) -> Iterator[Network]:
    with Network(tcp.port or 0) as network:
        yield network


@pytest.fixture
def near(tcp: EmbeddedServer) -> Iterator[Adeq]:
    """A client that nothing stands before."""
    with Adeq.from_url(tcp.url) as adeq:
        yield adeq
