from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import redis

from pyadeq.keys import queue_base
from tests.small_server import server, url

if TYPE_CHECKING:
    from tests.property.driver import Driver

__all__ = ["server", "url"]  # in the place of those of all tests

for module in ("checks", "driver", "views"):
    pytest.register_assert_rewrite(f"tests.property.{module}")


@pytest.fixture
def queue(client: redis.Redis, base_name: str) -> Iterator[Driver]:
    """A queue beside its model, with one worker."""
    from tests.property.driver import Driver
    from tests.property.link import load_scripts

    queue = Driver(client, queue_base(base_name), load_scripts(client))
    queue.do("register", "w", "i1")
    yield queue
    queue.close()
