"""The queues that a test of scripts works on."""

from collections import Counter
from collections.abc import Iterator
from itertools import count

import pytest
import redis

from tests.lua.watched import WatchedClient
from tests.lua.workbench import MakeBench, Workbench

pytest.register_assert_rewrite("tests.lua.checks")


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
