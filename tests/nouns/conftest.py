"""The queues and lock domains that a test of scripts works on."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import count

import pytest
import redis

from tests.nouns.benches import BENCHES
from tests.nouns.lock.workbench import LockBench
from tests.nouns.queue.workbench import MakeBench, Workbench
from tests.nouns.script_bench import Bench, MakeAny
from tests.nouns.watched import WatchedClient
from tests.small_server import server, url

__all__ = ["server", "url"]  # in the place of those of all tests


@pytest.fixture(scope="session")
def pool(url: str) -> Iterator[redis.ConnectionPool]:
    pool = redis.ConnectionPool.from_url(url)
    yield pool
    pool.disconnect()


@pytest.fixture
def client(pool: redis.ConnectionPool) -> redis.Redis:
    """On connections that other tests use, too: to make one takes as long as a small test."""
    return redis.Redis(connection_pool=pool)


@pytest.fixture(scope="session")
def watched(pool: redis.ConnectionPool) -> Iterator[WatchedClient]:
    watched = WatchedClient(redis.Redis(connection_pool=pool))
    yield watched
    watched.server.close()


@pytest.fixture
def make_any(client: redis.Redis, watched: WatchedClient, base_name: str) -> Iterator[MakeAny]:
    """Makes one of a noun, for the test alone, with a test clock unless told otherwise."""
    made: list[Bench] = []
    numbers = count(1)

    def make(noun: str, clock: str = "test") -> Bench:
        base = f"ade:{{{noun}:{base_name}.{next(numbers)}}}"
        made.append(BENCHES[noun](client, watched, base, clock))
        return made[-1]

    yield make
    for bench in made:
        bench.remove()


@pytest.fixture
def make_bench(make_any: MakeAny) -> MakeBench:
    """Makes queues of one's own."""
    return partial(make_any, "queue")


@pytest.fixture
def bench(make_bench: MakeBench) -> Workbench:
    """A queue with a test clock."""
    return make_bench()


@pytest.fixture
def lock_bench(make_any: MakeAny) -> Iterator[LockBench]:
    """A lock domain with a test clock, which is sound in the end."""
    bench: LockBench = make_any("lock")
    yield bench
    bench.check()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell how many calls test_fuzz.py sent, and how they ended."""
    outcomes: Counter[str] = Counter()
    for report in terminalreporter.stats.get("passed", []):
        for name, calls in report.user_properties:
            if name.startswith("fuzz: "):
                outcomes[name.removeprefix("fuzz: ")] += calls
    if outcomes:
        ends = ", ".join(f"{calls:,} {outcome}" for outcome, calls in outcomes.most_common())
        terminalreporter.write_line(f"fuzz: {outcomes.total():,} calls of scripts: {ends}")
