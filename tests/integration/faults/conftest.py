"""A server with a TCP port, and a network before it that does as it is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyadeq import Adeq
from pyadeq._async.kernel import scripts as async_scripts
from pyadeq._sync.kernel import scripts as sync_scripts
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


class _Everything(set[str]):
    def __contains__(self, address: object) -> bool:
        return True


@pytest.fixture(autouse=True)
def nothing_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients ask no server for its settings: each request is one call, and each call that is counted a script's."""
    for module in (async_scripts, sync_scripts):
        monkeypatch.setattr(module, "_looked_at", _Everything())
