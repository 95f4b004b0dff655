"""The queues that a test of scripts works on."""

from collections.abc import Iterator
from itertools import count

import pytest
import redis

from tests.lua.watched import WatchedClient
from tests.lua.workbench import MakeBench, Workbench


@pytest.fixture(scope="session")
def watched(url: str) -> Iterator[WatchedClient]:
    with redis.Redis.from_url(url) as client:
        yield WatchedClient(client)


@pytest.fixture
def make_bench(client: redis.Redis, watched: WatchedClient, base_name: str) -> Iterator[MakeBench]:
    """Makes queues of one's own, with a test clock unless told otherwise."""
    made: list[Workbench] = []
    numbers = count(1)

    def make(clock: str = "test") -> Workbench:
        made.append(Workbench(client, watched, f"ade:{{queue:{base_name}/{next(numbers)}}}", clock))
        return made[-1]

    yield make
    for bench in made:
        bench.remove()


@pytest.fixture
def bench(make_bench: MakeBench) -> Workbench:
    """A queue with a test clock."""
    return make_bench()
