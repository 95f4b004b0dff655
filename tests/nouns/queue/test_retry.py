from __future__ import annotations

import pytest

from pyadeq._core.queue.items import Failure
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.test_cancel import put
from tests.nouns.queue.workbench import BAND, START, Workbench
from tests.nouns.scenario import TIES


def retry(bench: Workbench, *ids: str, rid: str | None = None) -> list[tuple[str, str | None]]:
    return [(one.status, one.holder) for one in bench.run(bench.calls.retry(list(ids), rid))]


def test_a_dead_task_stands_at_the_end_of_the_line_of_its_priority_and_lane(bench: Workbench) -> None:
    (dead,) = bench.die(1, lane="group/g", priority=3)
    line = bench.fill(2, lane="group/g", priority=3)
    bench.fill(1, lane="group/g")
    bench.ask("DEL", ":wake:group/g")
    assert retry(bench, dead) == [("retried", None)]
    assert bench.ready("group/g")[:3] == [*line, dead]
    assert int(bench.ask("ZSCORE", ":ready:group/g", dead)) == 3 * BAND + 5
    assert (bench.tokens("group/g"), bench.ask("ZCARD", ":dead")) == (1, 0)
    check_queue(bench)


def test_attempts_and_crashes_are_counted_anew(bench: Workbench) -> None:
    bench.real(bench.calls.configure(max_crashes=2))
    (lease,) = bench.crash(1, max_attempts=2)
    bench.real(bench.calls.fail([Failure(lease, "e")], [0]))
    bench.pass_time(60_000)
    (lease,) = bench.claim(1)
    bench.real(bench.calls.fail([Failure(lease, "e")], [0]))
    assert bench.state(lease.id) == "dead"
    retry(bench, lease.id)
    view = bench.view(lease.id)
    assert view
    assert (view.state, view.reason, view.error, view.attempts, view.crashes) == ("ready", None, None, 0, 0)
    (lease,) = bench.claim(1)
    assert (lease.attempt, lease.delivery) == (1, 4)
    bench.pass_time(15_000)
    bench.real(bench.calls.reap())
    assert bench.state(lease.id) == "ready"


def test_a_task_that_expired_no_longer_does(bench: Workbench) -> None:
    (id,) = bench.fill(1, expires_at=START / 1000 + 1)
    bench.pass_time(1_000)
    bench.real(bench.calls.expire())
    assert bench.state(id) == "dead"
    assert retry(bench, id) == [("retried", None)]
    bench.pass_time(86_400_000)
    assert [lease.id for lease in bench.claim(1)] == [id]
    check_queue(bench)


def test_waiting_is_counted_from_the_retry(bench: Workbench) -> None:
    (id,) = bench.die(1)
    bench.pass_time(3_600_000)
    retry(bench, id)
    bench.pass_time(7)
    bench.claim(1)
    assert bench.counters()["wait_ms:8"] == 1


@pytest.mark.parametrize("state", ["ready", "delayed", "blocked", "running", "stalled", "completed", "cancelled"])
def test_only_the_dead_are_retried(bench: Workbench, state: str) -> None:
    id = put(bench, state)
    before = bench.dump()
    before[":config"][1].pop("place")
    assert retry(bench, id) == [("not_dead", None)]
    after = bench.dump()
    after[":config"][1].pop("place")
    assert after == before


def test_an_unknown_task_is_not_found(bench: Workbench) -> None:
    assert retry(bench, "unknown") == [("not_found", None)]
    assert bench.ask("EXISTS", ":task:unknown") == 0


def test_it_is_told_once_a_task_and_counted(bench: Workbench) -> None:
    ids = bench.die(2)
    assert retry(bench, ids[0], "unknown", ids[0], ids[1]) == [
        ("retried", None), ("not_found", None), ("not_dead", None), ("retried", None),
    ]  # fmt: skip
    events = bench.events("task.retried")
    assert [(event["id"].decode(), event["payload"]) for event in events] == [(id, b"reason=by_hand") for id in ids]
    assert bench.counters()["revived"] == 2


# unique keys and scopes


@pytest.mark.parametrize("key", ["unique", "scope"])
def test_a_key_that_another_task_has_now_is_in_conflict(bench: Workbench, key: str) -> None:
    (dead,) = bench.die(1, **{key: "k"})
    (holder,) = bench.fill(1, **{key: "k"})
    assert retry(bench, dead) == [("conflict", holder)]
    assert bench.state(dead) == "dead"
    bench.real(bench.calls.cancel([holder]))
    assert retry(bench, dead) == [("retried", None)]
    check_queue(bench)


@pytest.mark.parametrize("key", ["unique", "scope"])
def test_a_retried_task_has_its_key_again(bench: Workbench, key: str) -> None:
    (dead,) = bench.die(1, **{key: "k"})
    retry(bench, dead)
    assert bench.fill(1, **{key: "k"})
    assert bench.ready() == [dead]
    bench.claim(1)
    (other,) = bench.fill(1, **{key: "k"})
    assert (bench.state(other) == "ready") is (key == "scope")
    check_queue(bench)


@pytest.mark.parametrize("key", ["unique", "scope"])
def test_of_two_dead_tasks_with_one_key_the_first_is_retried(bench: Workbench, key: str) -> None:
    (one,) = bench.die(1, **{key: "k"})
    (two,) = bench.die(1, **{key: "k"})
    assert retry(bench, one, two) == [("retried", None), ("conflict", one)]
    check_queue(bench)


def test_a_conflict_does_not_keep_a_key_that_the_task_has_alone(bench: Workbench) -> None:
    (dead,) = bench.die(1, unique="a", scope="b")
    (holder,) = bench.fill(1, scope="b")
    assert retry(bench, dead) == [("conflict", holder)]
    assert bench.ask("HEXISTS", ":once", "unique:a") == 0


def test_a_key_of_an_evicted_task_is_no_conflict(bench: Workbench) -> None:
    (dead,) = bench.die(1, unique="k")
    (holder,) = bench.fill(1, unique="k")
    bench.ask("DEL", f":task:{holder}", f":payload:{holder}")
    assert retry(bench, dead) == [("retried", None)]
    assert bench.ask("HGET", ":once", "unique:k") == dead.encode()


def test_a_retried_task_falls_back_again(bench: Workbench) -> None:
    (dead,) = bench.die(1, lane="group/g", fallback="any", fallback_after=60)
    bench.pass_time(100)
    retry(bench, dead)
    assert bench.ask("ZSCORE", ":deadlines", dead) == b"%d" % (START + 60_100)
    bench.pass_time(60_000)
    bench.real(bench.calls.expire())
    assert (bench.ready("group/g"), bench.ready()) == ([], [dead])


def test_results_and_deadlines_of_a_retried_task_are_in_order(bench: Workbench) -> None:
    (dead,) = bench.die(1, **TIES)
    retry(bench, dead)
    check_queue(bench)
    (lease,) = bench.claim(1)
    bench.real(bench.calls.ack([(lease, b"result")]))
    assert bench.ask("GET", f":result:{dead}") == b"result"
    check_queue(bench)


# sent again


def test_a_replay_answers_the_same_and_does_nothing(bench: Workbench) -> None:
    (conflict,) = bench.die(1, unique="k")
    bench.fill(1, unique="k")
    ids = [*bench.die(1), conflict, *bench.die(1), "unknown"]
    first = retry(bench, *ids, *ids, rid="r")
    assert [status for status, _ in first[:5]] == ["retried", "conflict", "retried", "not_found", "not_dead"]
    (lease,) = bench.claim(1)
    bench.real(bench.calls.fail([Failure(lease, retryable=False)], [0]))
    before = bench.dump()
    assert retry(bench, *ids, *ids, rid="r") == first
    assert bench.dump() == before


def test_a_late_one_does_not_retry_what_was_not_dead_then(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    assert retry(bench, lease.id, rid="r") == [("not_dead", None)]
    bench.real(bench.calls.fail([Failure(lease, retryable=False)], [0]))
    assert retry(bench, lease.id, rid="r") == [("not_dead", None)]
    assert retry(bench, lease.id, rid="other") == [("retried", None)]


def test_after_the_window_and_without_a_rid_it_is_another_retry(bench: Workbench) -> None:
    (dead,) = bench.die(1)
    for rid in ("r", "r", None, None):
        assert retry(bench, dead, rid=rid) == [("retried", None)]
        (lease,) = bench.claim(1)
        bench.real(bench.calls.fail([Failure(lease, retryable=False)], [0]))
        bench.pass_time(60_000)
    bench.real(bench.calls.trim())
    assert bench.ask("EXISTS", ":once") == 0


@pytest.mark.parametrize("how", ["count", "purge"])
def test_a_replay_answers_the_same_after_the_task_was_deleted(bench: Workbench, how: str) -> None:
    (dead,) = bench.die(1)
    retry(bench, dead, rid="r")
    if how == "count":
        bench.real(bench.calls.configure(finished_max=0))
        bench.real(bench.calls.ack([(lease, None) for lease in bench.claim(1)]))
    else:
        bench.real(bench.calls.purge())
    assert bench.state(dead) is None
    before = bench.dump()
    assert retry(bench, dead, rid="r") == [("retried", None)]
    assert bench.dump() == before


def test_a_late_fail_of_the_life_before_is_answered_as_it_was(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    fail = bench.calls.fail([Failure(lease, retryable=False)], [0])
    bench.real(fail)
    retry(bench, lease.id)
    before = bench.dump()
    assert [one.status for one in bench.run(fail)] == ["dead"]
    assert bench.dump() == before


def test_a_paused_queue_takes_tasks_back_and_wakes_nobody(bench: Workbench) -> None:
    (dead,) = bench.die(1)
    bench.real(bench.calls.pause())
    assert retry(bench, dead) == [("retried", None)]
    assert bench.tokens() == 0


def test_a_draining_queue_takes_tasks_back(bench: Workbench) -> None:
    (dead,) = bench.die(1)
    bench.real(bench.calls.drain())
    assert retry(bench, dead) == [("retried", None)]
