"""The fixtures of pyadeq use the server of this process."""

import pytest

from pyadeq.embedded import EmbeddedServer


@pytest.fixture(scope="session")
def adeq_server(server: EmbeddedServer) -> EmbeddedServer:
    return server
