"""Servers and folders for clients in other languages, and what decides whether their tests run.

ADEQ_TEST_EMBEDDING   1, as `make test-embedding` has it: they run where their toolchains are, and in CI these must be
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyadeq.embedded import EmbeddedServer
from tests.conftest import free_port, serve_all_slots

WANTED = os.environ.get("ADEQ_TEST_EMBEDDING") == "1"


def toolchain(*programs: str) -> None:
    """Skip the test, with a line that says why, or fail it in CI."""
    if not WANTED:
        pytest.skip("clients in other languages are tested by `make test-embedding`")
    if missing := [program for program in programs if shutil.which(program) is None]:
        if os.environ.get("CI"):
            pytest.fail(f"not on the PATH: {', '.join(missing)}; CI tests all languages")
        pytest.skip(f"not on the PATH: {', '.join(missing)}")


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
