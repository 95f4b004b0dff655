"""The two servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer
from tests.migrate.moving import New


@pytest.fixture
def old(binary: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(binary=binary) as server:
        yield server


@pytest.fixture
def new(binary: Path) -> Iterator[New]:
    with EmbeddedServer(binary=binary) as server, Adeq.from_url(server.url) as adeq:
        yield New(server.url, adeq.queue("work"))
