from collections.abc import Iterator
from pathlib import Path

import pytest

from pyadeq.embedded import EmbeddedServer
from tests.conftest import audited

for module in ("checks", "driver", "views"):
    pytest.register_assert_rewrite(f"tests.property.{module}")


@pytest.fixture(scope="session")
def server(binary: Path) -> Iterator[EmbeddedServer]:
    """A server that holds little, for these tests look through all its keys time and again."""
    with audited(binary) as server:
        yield server


@pytest.fixture(scope="session")
def url(server: EmbeddedServer) -> str:
    return server.url
