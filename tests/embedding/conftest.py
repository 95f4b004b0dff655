"""Servers and projects for clients in other languages.

ADEQ_TEST_EMBEDDING   1, as `make test-embedding` has it: they run where their toolchains are, and in CI these must be
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyadeq.embedded import EmbeddedServer
from tests.conftest import free_port, serve_all_slots
from tests.embedding import projects


@pytest.fixture(scope="session")
def private_url(binary: Path) -> Iterator[str]:
    """A server that a test may flush, and may fill."""
    with EmbeddedServer(binary=binary, port=free_port()) as server:
        yield f"redis://127.0.0.1:{server.port}"


@pytest.fixture(scope="session")
def cluster_url(binary: Path) -> Iterator[str]:
    """The same as a cluster of one node, which says where it is: ioredis passes over nodes that do not."""
    config = {"cluster-enabled": "yes", "cluster-announce-ip": "127.0.0.1"}
    with EmbeddedServer(binary=binary, port=free_port(), config=config) as server:
        serve_all_slots(server)
        yield f"redis://127.0.0.1:{server.port}"


@pytest.fixture(scope="session")
def typescript_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs that use the client, with recent libraries; likewise those below."""
    return projects.typescript(tmp_path_factory.mktemp("typescript"))


@pytest.fixture(scope="session")
def rust_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return projects.rust(tmp_path_factory.mktemp("rust"))


@pytest.fixture(scope="session")
def go_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return projects.go(tmp_path_factory.mktemp("go"))
