"""Corners of the newer verbs that random histories seldom come to."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from tests.property.driver import Driver
from tests.property.records import Answer, Backoff, Spec

LANES = ["any", "group/g"]
numbers = count(1)


def enqueue(queue: Driver, *specs: Spec) -> Any:
    answers = queue.do("enqueue", f"rid-{next(numbers)}", specs)
    queue.check()
    return answers if answers == "ADEQ_DRAINING" else [status for status, _ in answers]


def claim(queue: Driver, limit: int = 10) -> list[Answer]:
    leases: list[Answer] = queue.do("claim", "w", "i1", 0, next(numbers), limit=limit, lanes=LANES)[4]
    queue.check()
    return [(id, token) for id, token, *_ in leases]


def end(queue: Driver, way: str, *leases: Answer) -> None:
    match way:
        case "ack":
            queue.do("ack", [(id, token, b"done") for id, token in leases])
        case "dead" | "fail":
            queue.do("fail", [(id, token, way == "fail", "error", "", 500_000, {}) for id, token in leases])
        case "release":
            queue.do("release", leases)
        case "snooze":
            queue.do("snooze", [(id, token, 1000) for id, token in leases])
        case "reap":
            queue.model.now += 15_000
            queue.do("reap", 100)
    queue.check()


def wait(queue: Driver, ms: int) -> None:
    queue.model.now += ms
    queue.check()


def test_another_token_settles_nothing(queue: Driver) -> None:
    enqueue(queue, Spec("a"))
    [(id, token)] = claim(queue)
    for bogus in ("bogus", token[:-1], f"{token}0"):
        for way in ("ack", "fail", "release", "snooze"):
            end(queue, way, (id, bogus))
        assert queue.do("heartbeat", [(id, bogus)], "w", 0)[2] == [("lease_lost",)]
    end(queue, "ack", (id, token))


def test_only_one_has_a_unique_key(queue: Driver) -> None:
    specs = Spec("a", unique="u"), Spec("b", unique="u"), Spec("c")
    assert enqueue(queue, *specs) == ["created", "deduplicated", "created"]
    for way in ("release", "dead"):
        end(queue, way, *claim(queue, 1))
    assert enqueue(queue, Spec("d", unique="u")) == ["created"]
    assert queue.do("retry", ["a", "b", "c"], "r1") == [("conflict", "d"), ("not_found",), ("not_dead",)]
    end(queue, "ack", *claim(queue))
    for _ in range(2):
        assert queue.do("retry", ["a"], "r2") == [("retried",)]
    assert enqueue(queue, Spec("e", unique="u")) == ["deduplicated"]
    queue.compare_views(list("abcde"))


def test_a_merged_call_leaves_its_key(queue: Driver) -> None:
    call = "rid", [Spec("a", unique="u"), Spec("b", unique="u", key="k")]
    for _ in range(2):
        assert queue.do("enqueue", *call) == [("created", "a"), ("deduplicated", "a")]
        wait(queue, 1000)
    end(queue, "ack", *claim(queue))
    assert enqueue(queue, Spec("c", unique="u", key="k"), Spec("d", unique="u")) == ["deduplicated", "created"]


def test_a_scope_ends_with_the_first_lease(queue: Driver) -> None:
    specs = Spec("a", b"1", scope="s"), Spec("b", b"2", scope="s", coalesce="last")
    assert enqueue(queue, *specs) == ["created", "deduplicated"]
    queue.compare_views(["a"])
    [a] = claim(queue)
    assert enqueue(queue, Spec("c", b"3", scope="s"), Spec("d", b"4", scope="s")) == ["created", "deduplicated"]
    end(queue, "release", a)
    [a] = claim(queue, 1)  # the scope is c's by now
    end(queue, "dead", a)
    assert queue.do("retry", ["a"], "r1") == [("conflict", "c")]
    end(queue, "ack", *claim(queue))
    assert queue.do("retry", ["a"], "r2") == [("retried",)]
    assert enqueue(queue, Spec("e", b"5", scope="s", coalesce="last")) == ["deduplicated"]
    queue.compare_views(["a"])


def test_an_idempotency_key_outlives_its_task(queue: Driver) -> None:
    queue.do("configure", idempotency=5000, finished_max=0)
    enqueue(queue, Spec("a", key="k"))
    end(queue, "ack", *claim(queue))
    wait(queue, 4999)
    assert enqueue(queue, Spec("b", key="k")) == ["deduplicated"]
    wait(queue, 1)
    assert enqueue(queue, Spec("c", key="k")) == ["created"]


def test_a_purge_forgets_every_key_of_a_task(queue: Driver) -> None:
    enqueue(queue, Spec("a", unique="u", key="k"))
    assert enqueue(queue, Spec("b", unique="u", key="l"), Spec("c", unique="u", key="m")) == ["deduplicated"] * 2
    assert enqueue(queue, Spec("d", key="m")) == ["deduplicated"]
    queue.do("purge", "p", all=False)
    assert enqueue(queue, *[Spec(f"new-{key}", key=key) for key in "klm"]) == ["created"] * 3
    assert enqueue(queue, Spec("e", key="m")) == ["deduplicated"]


def test_a_purge_forgets_keys_that_count_longer_than_new_ones(queue: Driver) -> None:
    enqueue(queue, Spec("a", unique="u", key="k"))
    assert enqueue(queue, Spec("b", unique="u", key="l")) == ["deduplicated"]
    queue.do("configure", idempotency=1000)
    assert enqueue(queue, Spec("b", unique="u", key="m")) == ["deduplicated"]
    queue.do("purge", "p", all=False)
    queue.check()
    wait(queue, 2000)
    assert enqueue(queue, *[Spec(f"z{at}", key=f"z{at}") for at in range(3)]) == ["created"] * 3
    assert enqueue(queue, *[Spec(f"new-{key}", key=key) for key in "klm"]) == ["created"] * 3


def test_an_id_that_is_used_again_does_not_hide_the_call_before(queue: Driver) -> None:
    queue.do("configure", finished_max=0)
    calls = [(f"again-{n}", [Spec("a")]) for n in range(3)]
    for call in calls:
        assert queue.do("enqueue", *call) == [("created", "a")]
        end(queue, "ack", *claim(queue))
    assert [queue.do("enqueue", *call)[0][0] for call in calls] == ["created"] * 3
    assert enqueue(queue, Spec("a")) == ["created"]
    assert [queue.do("enqueue", *call)[0][0] for call in calls] == ["created"] * 3
    assert enqueue(queue, Spec("a")) == ["exists"]


def test_of_leases_that_expire_at_once_the_first_in_line_go_first(queue: Driver) -> None:
    enqueue(queue, *[Spec(f"{9 - n}") for n in range(6)])
    claim(queue)
    wait(queue, 15_000)
    for _ in range(3):
        assert queue.do("reap", 2) == 2
        queue.check()


def test_of_tasks_that_crash_again_at_once_the_first_in_line_go_first(queue: Driver) -> None:
    queue.do("configure", backoff=Backoff(1000, 1.0, 1000, 0.0), max_crashes=9)
    due = queue.model.now + 31_000
    enqueue(queue, *[Spec(f"{9 - n}") for n in range(6)], *[Spec(id, run_after=due) for id in ("3", "95")])
    for _ in range(2):
        assert len(claim(queue)) == 6
        wait(queue, 15_000)
        queue.do("reap", 6)
        queue.check()
    wait(queue, 1000)
    for limit in (2, 1, 2, 9):
        queue.do("promote", limit)
        queue.check()
    assert [id for id, _ in claim(queue)] == ["3", "95", *"987654"]


def test_a_sweep_of_all_that_crashed_again_has_their_order(queue: Driver) -> None:
    queue.do("configure", backoff=Backoff(1000, 1.0, 1000, 0.0), max_crashes=9)
    enqueue(queue, *[Spec(f"{9 - n}") for n in range(6)])
    for _ in range(2):
        assert len(claim(queue)) == 6
        wait(queue, 15_000)
        queue.do("reap", 6)
        queue.check()
    wait(queue, 1000)
    assert [id for id, _ in claim(queue)] == [*"987654"]


def test_a_drained_queue_knows_what_it_took(queue: Driver) -> None:
    queue.do("configure", finished_max=0)
    call = "rid", [Spec("a", unique="u"), Spec("b", unique="u"), Spec("a"), Spec("c")]
    queue.do("enqueue", *call)
    end(queue, "ack", *claim(queue))
    queue.do("drain", "d1")
    assert enqueue(queue, Spec("z")) == "ADEQ_DRAINING"
    assert [status for status, _ in queue.do("enqueue", *call)] == ["created", "deduplicated", "exists", "created"]
    queue.do("resume", "d2")
    assert enqueue(queue, Spec("z")) == ["created"]
    queue.do("drain", "d1")  # late
    assert enqueue(queue, Spec("y")) == ["created"]


def test_a_paused_queue_leases_nothing(queue: Driver) -> None:
    queue.do("pause", "p0")
    queue.do("pause", "p1")
    enqueue(queue, Spec("a"), Spec("b", lane="group/g", delay=1000))
    wait(queue, 1000)
    assert claim(queue) == []
    assert queue.client.lpop(f"{queue.base}:wake:group/g") == b"1"
    queue.model.wake.discard("group/g")
    queue.do("resume", "p2")
    queue.check()
    queue.do("pause", "p1")  # late
    assert len(claim(queue)) == 2


def test_a_token_stays_for_a_fallback(queue: Driver) -> None:
    enqueue(queue, Spec("a", lane="group/x", fallback=("any",), fallback_after=1000), Spec("b"))
    claim(queue)
    assert "any" in queue.model.wake
    wait(queue, 1000)
    assert [id for id, _ in claim(queue)] == ["a"]
    assert "any" not in queue.model.wake


def test_late_claims_write_nothing(queue: Driver) -> None:
    enqueue(queue, Spec("a"), Spec("b"))
    queue.do("register", "v", "i1")
    for incarnation, n, status in (("i1", 2, "ok"), ("i1", 1, "stale"), ("i0", 3, "stale"), ("i1", 3, "ok")):
        answer = queue.do("claim", "v", incarnation, 0, n, limit=1, lanes=LANES)
        queue.check()
        assert answer[0] == status


@pytest.mark.parametrize("way", ["release", "snooze", "fail", "reap", "dead"])
def test_a_fallback_counts_from_each_return(queue: Driver, way: str) -> None:
    queue.do("configure", backoff=Backoff(1000, 1.0, 1000, 0.0), max_crashes=9)
    enqueue(queue, Spec("a", lane="group/g", fallback=("any",), fallback_after=5000, expires=queue.model.now + 9000))
    for again in ("release", way):
        wait(queue, 4000)
        end(queue, again, *claim(queue))
    if way == "dead":
        queue.do("retry", ["a"], "r")
    queue.check()
    assert queue.model.deadlines()["a"] == queue.model.now + (6000 if way in ("snooze", "fail") else 5000)
    wait(queue, 4999)
    queue.do("promote", 10)
    queue.do("expire", 10)
    wait(queue, 1001)
    queue.do("expire", 10)
    queue.check()
    assert queue.model.tasks["a"].lane == "any"


def test_attempts_are_counted_anew_after_a_retry(queue: Driver) -> None:
    queue.do("configure", backoff=Backoff(0, 1.0, 0, 0.0))
    enqueue(queue, Spec("a", max_attempts=2))
    for again in range(2):
        end(queue, "fail", *claim(queue))
        [lease] = claim(queue)
        end(queue, "fail", lease)
        assert queue.do("abandon", ["b"]) == [("not_found",)]
        assert queue.do("retry", ["a"], f"r{again}") == [("retried",)]
        end(queue, "fail", lease)  # late


def test_a_crash_too_many_waits_with_a_deadline(queue: Driver) -> None:
    enqueue(queue, Spec("a", fallback=("group/g",), fallback_after=5000))
    for _ in range(2):
        claim(queue)
        end(queue, "reap")
    assert queue.model.tasks["a"].state == "delayed"
    assert queue.model.deadlines()


def test_only_what_was_never_leased_expires(queue: Driver) -> None:
    now = queue.model.now
    enqueue(queue, *(Spec(id, expires=now + 5000) for id in "abc"), Spec("d", expires=now + 5000, delay=9000))
    end(queue, "release", *claim(queue, 1))
    wait(queue, 4999)
    assert queue.do("expire", 10) == 0
    wait(queue, 1)
    assert queue.do("expire", 10) == 3
    assert [id for id, _ in claim(queue)] == ["a"]
    queue.do("retry", ["b", "d"], "r1")
    queue.do("expire", 10)
    assert [id for id, _ in claim(queue)] == ["b", "d"]


def test_a_moved_task_still_expires(queue: Driver) -> None:
    now = queue.model.now
    enqueue(queue, Spec("a", fallback=("group/g",), fallback_after=1000, expires=now + 3000, delay=500), Spec("b"))
    for _ in range(3):
        wait(queue, 1500)
        queue.do("expire", 10)
        queue.check()
    assert queue.model.tasks["a"].reason == "expired"


def test_a_claim_leases_nothing_that_expired(queue: Driver) -> None:
    """Even where a sweep does not come to it."""
    enqueue(queue, *(Spec(f"t{i}", expires=queue.model.now + 1000) for i in range(150)), Spec("u"))
    wait(queue, 1000)
    assert claim(queue, 20) == []
    assert len(queue.model.of("dead")) == 20 + 38  # as much as a sweep may do


@pytest.mark.parametrize("grace", [0, 2000])
def test_a_task_that_timed_out_is_renewed_for_its_grace(queue: Driver, grace: int) -> None:
    queue.do("configure", timeout_grace=grace)
    enqueue(queue, Spec("a", timeout=4000), Spec("b"), Spec("c", timeout=4000))
    leases = claim(queue)
    queue.do("cancel", ["c"])
    for ms in (3999, 1, grace - 1, 1) if grace else (3999, 1):
        wait(queue, ms)
        queue.do("heartbeat", leases, "w", 0)
        queue.check()


def test_a_timeout_that_is_over_when_it_is_set_is_told_before_the_lease_is_lost(queue: Driver) -> None:
    queue.do("configure", timeout=600_000)
    enqueue(queue, Spec("a"), Spec("b", timeout=580_000))
    leases = claim(queue)
    for _ in range(60):
        wait(queue, 10_000 - 1)
        queue.do("heartbeat", leases, "w", 0)
    queue.do("configure", timeout=30_000)
    for at, ms in enumerate((0, 9_999, 1)):
        wait(queue, ms)
        answers = queue.do("heartbeat", leases, "w", 0)[-1]
        assert [answer[0] for answer in answers] == ["timed_out" if at < 2 else "lease_lost", "lease_lost"]


@pytest.mark.parametrize("way", ["ack", "dead", "cancel", "abandon", "purge"])
def test_what_was_done_to_a_removed_task_is_known_for_a_minute(queue: Driver, way: str) -> None:
    queue.do("configure", finished_max=0, dead_max=0 if way == "dead" else 9, max_attempts=1)
    spec = Spec("a", user="u", tags=("x", "y"), parent="p")
    assert queue.do("enqueue", "rid", [spec, spec]) == [("created", "a"), ("exists", "a")]
    leases = claim(queue)
    end(queue, "dead" if way == "dead" else "release" if way in ("cancel", "purge") else "dead", *leases)
    if way == "ack":
        queue.do("retry", ["a"], "r1")
        leases = claim(queue)
        end(queue, "ack", *leases)
    again: dict[str, list[tuple[Any, ...]]] = {
        "cancel": [("cancel", ["a", "a"], "c1")], "abandon": [("abandon", ["a", "b"], "a1")],
        "ack": [("retry", ["a"], "r1")], "purge": [("purge", "p1", False)],
    }  # fmt: skip
    for _ in range(2):
        for call in again.get(way, []):
            queue.do(*call)
        for verb in ("ack", "dead", "release"):
            end(queue, verb, *leases)
        queue.do("cancel", ["a"])
        queue.do("enqueue", "rid", [spec, spec])
        queue.check()
        queue.compare_views(["a"])
        wait(queue, 30_000)
    wait(queue, 30_000)
    assert not queue.model.stubs


def test_an_id_may_be_taken_again(queue: Driver) -> None:
    """Of the former life its settlement is known, and nothing is told of the new one."""
    queue.do("configure", finished_max=0)
    enqueue(queue, Spec("a"))
    [first] = claim(queue)
    end(queue, "ack", first)
    assert enqueue(queue, Spec("a")) == ["created"]
    end(queue, "ack", first)
    queue.do("cancel", ["a"], "c1")
    queue.do("configure", finished_max=9)
    assert enqueue(queue, Spec("a")) == ["created"]
    end(queue, "ack", *claim(queue))
    assert queue.do("cancel", ["a"], "c1") == [("cancelled",)]  # late
    queue.compare_views(["a"])


def test_a_stub_goes_a_minute_after_the_end(queue: Driver) -> None:
    enqueue(queue, Spec("a"))
    end(queue, "ack", *claim(queue))
    wait(queue, 30_000)
    queue.do("configure", finished_max=0)
    queue.do("trim", 1000)
    queue.check()


@pytest.mark.parametrize("keep", [0, 5000, 30_000])
def test_results_are_kept_for_their_time(queue: Driver, keep: int) -> None:
    queue.do("configure", result_ttl=10_000)
    enqueue(queue, Spec("a", result_ttl=keep), Spec("b"))
    end(queue, "ack", *claim(queue))
    for ms in (4999, 1, 4999, 1, 20_000):
        wait(queue, ms)
        queue.compare_views(["a", "b"])


def test_ended_tasks_are_bounded_by_age_and_number(queue: Driver) -> None:
    queue.do("configure", finished_keep=5000, dead_keep=3000)
    enqueue(queue, *(Spec(f"t{i:03}") for i in range(300)))
    for way in ("ack", "dead") * 2:
        end(queue, way, *claim(queue, 50))
        wait(queue, 1000)
    queue.do("configure", finished_max=60, dead_max=60)
    for ms in (0, 0, 999, 1, 1000, 1000):
        wait(queue, ms)
        queue.do("trim", 25)
        queue.check()
    queue.do("configure", finished_max=500, dead_max=500)
    end(queue, "ack", *claim(queue, 50))
    queue.do("configure", finished_max=0)
    end(queue, "ack", *claim(queue, 1))
    assert not queue.model.of("completed")


def test_a_purge_leaves_what_runs(queue: Driver) -> None:
    queue.do("configure", max_attempts=1)
    now = queue.model.now
    enqueue(queue, Spec("a", unique="u", key="k"), Spec("b", scope="s"), Spec("c"))
    end(queue, "dead", *claim(queue, 1))
    end(queue, "ack", *claim(queue, 1))
    claim(queue, 1)
    waiting = Spec("d", unique="u", scope="s", key="k2", expires=now + 9000), Spec("e", delay=9000), Spec("f", key="k")
    enqueue(queue, *waiting)
    assert queue.do("purge", "p1", False, 1) == 2
    queue.check()
    assert enqueue(queue, Spec("g", unique="u", scope="s", key="k2")) == ["created"]
    assert queue.do("purge", "p2", True, 2) == 3
    assert queue.do("purge", "p1", False, 1) == 2  # late
    queue.check()
    assert list(queue.model.tasks) == ["c"]
    assert enqueue(queue, Spec("h", key="k")) == ["created"]


def test_a_purge_leaves_a_key_that_has_gone_over(queue: Driver) -> None:
    queue.do("configure", idempotency=1000)
    enqueue(queue, Spec("a", key="k", delay=9000))
    wait(queue, 1000)
    assert enqueue(queue, Spec("b", key="k")) == ["created"]
    claim(queue)
    assert queue.do("purge", "p1", False) == 1
    assert enqueue(queue, Spec("c", key="k")) == ["deduplicated"]
