"""The ends of what is allowed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.property.driver import Driver
from tests.property.records import Backoff, Spec


@pytest.fixture
def queue(queue: Driver) -> Iterator[Driver]:
    yield queue
    queue.check()


def test_a_lane_named_twice_is_one_lane(queue: Driver) -> None:
    queue.do("enqueue", "rid", [Spec("t1", priority=0), Spec("t2"), Spec("t3")])
    queue.do("claim", "w", "i1", 0, 1, limit=3, lanes=["any", "group/g", "any"])


def test_a_lane_that_a_claim_passed_over_keeps_a_token(queue: Driver) -> None:
    queue.do("enqueue", "rid", [Spec("t1", priority=0), Spec("t2", lane="group/g")])
    assert queue.client.lpop(f"{queue.base}:wake:group/g") == b"1"
    queue.do("claim", "w", "i1", 0, 1, limit=1, lanes=["any", "group/g"])
    assert queue.model.wake == {"group/g"}


def test_a_late_registration_does_not_displace_a_worker(queue: Driver) -> None:
    queue.do("deregister", "w", "i1")
    queue.do("register", "w", "i2")
    assert queue.do("register", "w", "i1") == "stale"
    assert queue.do("claim", "w", "i2", 0, 1, limit=1, lanes=["any"])[0] == "ok"


def test_calls_without_leases_say_the_lease_time_again(queue: Driver) -> None:
    for _ in range(2):
        queue.do("claim", "w", "i1", 0, 1, limit=1, lanes=["any"])


@pytest.mark.parametrize("base", [0, 1000])
def test_many_retries_of_a_steep_backoff(queue: Driver, base: int) -> None:
    queue.do("enqueue", "rid", [Spec("t", max_attempts=1000, backoff=Backoff(base, 100.0, 2000, 0.0))])
    for n in range(1, 161):
        [(id, token, *_)] = queue.do("claim", "w", "i1", 0, n, limit=1, lanes=["any"])[4]
        assert queue.do("fail", [(id, token, True, "error", "", 500_000, {})])[0][0] == "retried"
        queue.model.now += 2000
        queue.do("promote", 1)


def test_a_claim_sent_again_does_not_answer_with_a_later_lease(queue: Driver) -> None:
    queue.do("enqueue", "rid", [Spec("t")])
    [(id, token, *_)] = queue.do("claim", "w", "i1", 0, 1, limit=1, lanes=["any"])[4]
    queue.do("release", [(id, token)])
    assert queue.do("claim", "w", "i1", 1, 1, limit=1, lanes=["any"])[4]
    assert queue.do("claim", "w", "i1", 0, 1, limit=1, lanes=["any"])[4] == []


@pytest.mark.parametrize("late", [-1, 0, 1])
@pytest.mark.parametrize("verb", ["heartbeat", "release", "reap", "claim", "ack"])
def test_a_deadline_is_the_first_moment_without_the_lease(queue: Driver, verb: str, late: int) -> None:
    queue.do("enqueue", "rid", [Spec("t")])
    [(id, token, *_)] = queue.do("claim", "w", "i1", 0, 1, limit=1, lanes=["any"])[4]
    queue.model.now += 15_000 + late
    match verb:
        case "heartbeat":
            queue.do("heartbeat", [(id, token)], "w", 0)
        case "release":
            queue.do("release", [(id, token)])
        case "reap":
            assert queue.do("reap", 10) == (late >= 0)
        case "claim":
            assert len(queue.do("claim", "w", "i1", 1, 1, limit=1, lanes=["any"])[4]) == (late >= 0)
        case "ack":
            assert queue.do("ack", [(id, token, b"")]) == [("completed",)]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_crash_loop_ends(queue: Driver, most: int) -> None:
    queue.do("configure", max_crashes=most, backoff=Backoff(base=1000, jitter=0.0))
    queue.do("enqueue", "rid", [Spec("t")])
    for n in range(1, most + 1):
        assert queue.do("claim", "w", "i1", 0, n, limit=1, lanes=["any"])[4]
        queue.model.now += 15_000
        queue.do("reap", 1)
        queue.check()
        queue.model.now += 1000
        queue.do("promote", 1)
    assert queue.model.tasks["t"].reason == "crash_loop"
    queue.compare_views(["t"])
