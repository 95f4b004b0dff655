"""Tasks that are to start later, not after a time, or elsewhere if they wait too long."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Task
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.watched import Refused

NOW = START / 1000


def expire(bench: Workbench, limit: int = 100) -> int:
    return bench.run(bench.calls.expire(limit))


# expires_at


@pytest.mark.parametrize("how", ["running", "retried", "released", "snoozed", "crashed"])
def test_one_that_started_in_time_no_longer_expires(bench: Workbench, how: str) -> None:
    (lease,) = bench.lease(1, expires_at=NOW + 10)
    bench.pass_time(9_000)
    match how:
        case "retried":
            bench.run(bench.calls.fail([Failure(lease)], [0]))
        case "released":
            bench.run(bench.calls.release([lease]))
        case "snoozed":
            bench.run(bench.calls.snooze([(lease, 5)]))
        case "crashed":
            bench.pass_time(6_000)
            bench.run(bench.calls.reap())
    check_queue(bench)
    bench.pass_time(3_000)
    assert expire(bench) == 0
    if how != "running":
        bench.pass_time(5_000)
        assert [lease.id for lease in bench.claim(1)] == [lease.id]


# fallback lanes


@pytest.mark.parametrize("half", [{"fallback": "any"}, {"fallback": "fail"}, {"fallback_after": 5}])
def test_half_a_fallback_is_refused_by_name(bench: Workbench, half: dict[str, Any]) -> None:
    before = bench.dump()
    items = [("a", Task(payload=b"")), ("b", Task(payload=b"", **half)), ("c", Task(payload=b""))]
    with pytest.raises(Refused, match=r"^ADEQ_ARG item\[2\]\.fallback_after_ms must be given with fallback"):
        bench.run(bench.calls.enqueue(items, "r"))
    assert bench.dump() == before
