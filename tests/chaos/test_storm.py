"""A short storm: nothing is lost. One in which somebody steals: that is told. And the proxy does what it says."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from rich.console import Console

from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.prove.chaos.history import Entry, History
from pyadeq.ext.prove.chaos.report import Report
from pyadeq.ext.prove.chaos.run import Run
from tests.chaos.arena import Arena
from tests.chaos.conftest import SCALE
from tests.chaos.faults import FAULTS, Fault
from tests.chaos.proxy import KINDS, Proxy
from tests.chaos.scraped import Counted, count, falls, problems
from tests.chaos.storm import MIXED, MUST_CHECK, MUST_COUNT, is_mix_without_loss, plan, storm, unchecked
from tests.integration.servers import start
from tests.prometheus import MISSING
from tests.waiting import wait_until

pytestmark = pytest.mark.any_engine
SECONDS = 12.0


def blow(binary: Path, faults: list[Fault], seconds: float, seed: int, told: io.StringIO | None = None) -> Report:
    return storm(faults, seconds, seed, binary, Console(file=told or io.StringIO(), width=100))


@pytest.mark.slow
def test_nothing_is_lost_in_a_storm(binary: Path) -> None:
    told = io.StringIO()
    report = blow(binary, list(FAULTS.values()), SECONDS * SCALE, 7, told)
    assert (report.violations, report.problems) == ([], [])
    assert report.ok
    assert len(report.faults) >= 2
    assert report.granted > 0
    assert report.tasks["completed"] > 0
    if not MISSING:
        claimed = re.search(r"adeq_tasks_claimed_total +([\d,]+) +\1 +\d+ +0\b", told.getvalue())
        assert claimed, told.getvalue()
        assert claimed[1] != "0"
    assert all(report.checks[rule] > 0 for rule in ("acknowledged_kept", "settles_once", "leases_apart", "in_order"))


@contextmanager
def steal(arena: Arena, run: Run, random: Random) -> Iterator[None]:
    """Somebody deletes a task that waits."""
    with redis.Redis.from_url(arena.primary.url) as client:
        wait_until(lambda: client.zpopmin(f"{run.queue.base}:ready:any"))
    yield


@pytest.mark.slow
def test_what_is_lost_is_told(binary: Path) -> None:
    report = blow(binary, [Fault("steal", steal)], 2.0, 8)
    assert not report.ok
    assert "acknowledged_kept" in {found.rule for found in report.violations}
    assert report.history
    Path(report.history).unlink()


def test_each_fault_has_its_turn_in_a_long_storm() -> None:
    faults = list(FAULTS.values())
    turns = list(plan(faults, 600))
    alone, mixed = turns[: len(faults)], turns[len(faults) :]
    assert [some for some, _ in alone] == [[fault] for fault in faults]
    assert sum(seconds for _, seconds in turns) == pytest.approx(600)
    assert all(seconds < 1.5 * MIXED for _, seconds in mixed)
    assert all(not fault.alone for some, _ in mixed for fault in some)
    assert [is_mix_without_loss(some) for some, _ in turns] == [False] * len(alone) + [True] + [False] * (
        len(mixed) - 1
    )
    assert [is_mix_without_loss(some) for some, _ in plan(faults, 120)] == [True, False, False]
    assert sum(seconds for _, seconds in plan(faults, 120)) == 120
    assert [(set(some), seconds) for some, seconds in plan(faults, 20)] == [({*turns[-1][0]}, 20)]
    assert list(plan(faults[:1], 20)) == [(faults[:1], 20)]


def test_a_mix_without_loss_that_shows_nothing_is_a_problem() -> None:
    counted = [Counted(name, 1, 1.0, 30, 0) for name in MUST_COUNT]
    assert unchecked({MUST_CHECK: 1}, counted) == []
    assert len(unchecked({MUST_CHECK: 0}, [one._replace(judge=0) for one in counted])) == 3


def test_a_counter_that_falls_or_is_wrong_is_a_problem() -> None:
    assert [falls(values) for values in ([], [1.0], [1.0, 1.0, 2.0], [3.0, 2.0, 2.0, 1.0])] == [0, 0, 0, 2]
    good = Counted("a_total", 5, 5.0, 30, 0)
    assert problems([good]) == []
    bad = [good._replace(last=4.0), good._replace(last=None), good._replace(falls=1)]
    assert [len(problems([one])) for one in bad] == [1, 1, 1]


def test_counters_are_counted_by_events() -> None:
    events: tuple[tuple[str, tuple[str, ...], dict[str, str]], ...] = (
        ("task.enqueued", ("a", "b"), {}),
        ("task.retried", ("a",), {"due_ms": "1"}),
        ("task.retried", ("a",), {"reason": "by_hand"}),
        ("task.expired", ("b",), {"reason": "expired"}),
        ("task.removed", ("b",), {"reason": "retention"}),
        ("task.removed", ("b",), {"reason": "purged"}),
    )
    history = History(
        entries=[Entry(f"{at}-0", event, at, ids, words) for at, (event, ids, words) in enumerate(events)]
    )
    assert {name: number for name, number in count(history).items() if number} == {
        "adeq_tasks_enqueued_total": 2,
        "adeq_tasks_retried_total": 1,
        "adeq_tasks_revived_total": 1,
        "adeq_tasks_dead_total": 1,
        "adeq_tasks_dropped_total": 1,
    }


# The proxy


@pytest.fixture
def behind(binary: Path) -> Iterator[tuple[EmbeddedServer, Proxy]]:
    with start(binary, {}) as server, Proxy(server.port or 0, 1) as proxy:
        yield server, proxy


SCRIPT = "return redis.call('INCR', KEYS[1])"


@pytest.mark.parametrize("kind", KINDS)
def test_the_proxy_does_what_it_says(kind: str, behind: tuple[EmbeddedServer, Proxy]) -> None:
    server, proxy = behind
    with (
        redis.Redis.from_url(server.url) as direct,
        redis.Redis.from_url(proxy.url, retry=Retry(NoBackoff(), 0), socket_timeout=30) as client,
    ):
        sha, answered = client.script_load(SCRIPT), True
        proxy.odds[kind] = 1.0
        try:
            assert client.evalsha(sha, 1, "n") == 1
        except redis.ConnectionError:
            answered = False
        runs = {"cut_before": 0, "duplicate": 2}.get(kind, 1)
        wait_until(lambda: int(direct.get("n") or 0) == runs)
        assert answered is (kind in ("delay", "duplicate"))
        assert proxy.counts == {kind: 1}


def test_the_proxy_refuses_until_it_is_told_where_to_go(behind: tuple[EmbeddedServer, Proxy]) -> None:
    server, proxy = behind
    with redis.Redis.from_url(proxy.url, retry=Retry(NoBackoff(), 0)) as client:
        assert client.ping()
        proxy.cut()
        for _ in range(2):
            with pytest.raises(redis.ConnectionError):
                client.ping()
        proxy.restore(server.port or 0)
        assert client.ping()
