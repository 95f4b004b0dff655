# Generated from tests/integration/aio/test_updates.py by pyadeq/_unasync.py; do not edit.
"""Following a task: its states, runs, progress and log lines, until it has ended."""

from collections.abc import Iterator
from time import monotonic
from typing import Any

import pytest

from pyadeq._core.queue.updates import LOG_KEEPS
from pyadeq._twins import join, sleep, spawn
from pyadeq import Adeq, Queue, TaskUpdate
from pyadeq.errors import ClientClosed, WaitTimeout
from tests.waiting import DEADLINE


def following(updates: Iterator[TaskUpdate]) -> TaskUpdate:
    for update in updates:
        return update
    raise AssertionError("there are no more updates")


def rest(updates: Iterator[TaskUpdate]) -> list[TaskUpdate]:
    return [update for update in updates]


def facts(update: TaskUpdate) -> tuple[Any, ...]:
    return update.state, update.attempt, update.progress, update.text, [line.text for line in update.log]


@pytest.mark.parametrize("reply", [True, False])
def test_a_retried_task_is_followed_through_its_runs(queue: Queue, reply: bool) -> None:
    receipt = queue.enqueue("work", reply=reply)
    updates = receipt.updates(timeout=DEADLINE)
    assert facts(following(updates)) == ("ready", 0, None, None, [])
    (lease,) = queue.claim("w1", 1)
    assert facts(following(updates)) == ("running", 1, None, None, [])
    queue.progress(lease, 0.5, "half of it", log="opened")
    assert facts(following(updates)) == ("running", 1, 0.5, "half of it", ["opened"])
    queue.progress(lease, log="read")
    assert facts(following(updates)) == ("running", 1, 0.5, "half of it", ["read"])
    queue.fail(lease, "no such file", delay=0)
    assert (following(updates)).state in ("delayed", "ready")
    (lease,) = queue.claim("w2", 1, wait=DEADLINE)
    second = following(updates)
    assert facts(second) == ("running", 2, None, None, []), "the progress of the first run is over"
    assert second.task
    assert (second.task.worker, second.task.progress, second.outcome) == ("w2", 0.5, None)
    queue.progress(lease, 1.0, log="closed")
    queue.ack(lease, {"length": 4})
    (*_, last) = rest(updates)
    assert facts(last)[:3] == ("completed", 2, 1.0)
    assert last.outcome
    assert (last.outcome.status, last.result) == ("completed", {"length": 4})


def test_a_slow_reader_misses_what_is_between_but_not_the_end(queue: Queue) -> None:
    receipt = queue.enqueue("work")
    updates = receipt.updates(timeout=DEADLINE)
    following(updates)
    (lease,) = queue.claim("w1", 1)
    for n in range(LOG_KEEPS + 20):
        queue.progress(lease, n / 1000, log=f"line {n}")
    queue.ack(lease, "done")
    (last,) = rest(updates)
    assert facts(last)[:3] == ("completed", 1, 0.119)
    assert [line.text for line in last.log] == [f"line {n}" for n in range(20, 120)]
    assert last.result == "done"


def test_lines_that_the_log_has_dropped_are_not_told_again(queue: Queue) -> None:
    queue.enqueue("work", id="t")
    (lease,) = queue.claim("w1", 1)
    updates = queue.updates("t", timeout=DEADLINE)
    queue.leases.progress_many([(lease, {"line": f"line {n}"}) for n in range(LOG_KEEPS)])
    assert len((following(updates)).log) == LOG_KEEPS
    queue.leases.progress_many([(lease, {"line": "again"}) for n in range(3)])
    assert [line.text for line in (following(updates)).log] == ["again"] * 3


def test_how_tasks_end(queue: Queue) -> None:
    dead, _, purged = [queue.enqueue(word, id=word, reply=True) for word in ("dead", "out", "gone")]
    queue.cancel("out")
    (lease,) = queue.claim("w1", 1)
    queue.fail(lease, "no such file", reason="bad", retryable=False)
    queue.admin.purge()
    (last,) = rest(dead.updates())
    assert last.outcome
    assert (last.state, last.outcome.reason, last.outcome.error, last.result) == ("dead", "bad", "no such file", None)
    assert [update.state for update in rest(queue.updates("out"))] == ["cancelled"]
    (last,) = rest(purged.updates())
    assert last.outcome
    assert (last.task, last.state, last.outcome.status) == (None, None, "removed")
    (last,) = rest(queue.updates("never"))
    assert last.outcome
    assert (last.task, last.state, last.attempt, last.progress, last.outcome.status) == (
        *(None, None, 0, None),
        "not_found",
    )


def test_a_result_that_is_not_kept_is_told(queue: Queue) -> None:
    queue.configure(finished_max=0)
    receipt = queue.enqueue("work", reply=True, result_ttl=0)
    updates = receipt.updates(timeout=DEADLINE)
    following(updates)
    (lease,) = queue.claim("w1", 1)
    queue.ack(lease, "only for those who wait")
    last = (rest(updates))[-1]
    assert (last.task, last.state, last.result) == (None, "completed", "only for those who wait")


def test_a_time_limit(queue: Queue) -> None:
    receipt = queue.enqueue("work", delay=3600)
    for seconds in (0.05, 0):
        updates = receipt.updates(timeout=seconds)
        assert (following(updates)).state == "delayed"
        with pytest.raises(WaitTimeout, match="has not ended"):
            following(updates)


def test_a_slow_reader_hears_of_the_end_after_its_time(queue: Queue) -> None:
    receipt = queue.enqueue("work")
    updates = receipt.updates(timeout=0.2)
    following(updates)
    (lease,) = queue.claim("w1", 1)
    queue.ack(lease)
    other = queue.enqueue("never run")
    with pytest.raises(WaitTimeout):
        other.result(0.3)  # until the time is over
    assert [update.state for update in rest(updates)] == ["completed"]


def test_one_who_loses_all_connections_goes_on(queue: Queue, client: Any) -> None:
    receipt = queue.enqueue("work", reply=True)
    heard: list[Any] = []

    def follow() -> None:
        for update in receipt.updates(timeout=DEADLINE):
            heard.append((update.state, update.result))

    follower = spawn(follow)
    (lease,) = queue.claim("w1", 1, wait=DEADLINE)
    until = monotonic() + DEADLINE
    while not client.pubsub_shardchannels(f"{queue.base}:channel:*"):
        assert monotonic() < until, "nobody listens"
        sleep(0.01)
    for kind in ("normal", "pubsub"):
        client.client_kill_filter(_type=kind, skipme=True)
    queue.ack(lease, "done")
    join(follower, DEADLINE)
    assert heard[-1] == ("completed", "done")


def test_one_who_ends_early_leaves_nothing_behind(queue: Queue) -> None:
    receipt = queue.enqueue("work", reply=True)
    updates: Any = receipt.updates()
    following(updates)
    channels = queue._runner.hints._exchange._channels
    assert len(channels) == 1
    updates.close()
    assert channels == {}


def test_a_closed_client_follows_nothing(url: str, base_name: str, queue: Queue) -> None:
    queue.enqueue("work", id="t")
    with Adeq.from_url(url) as adeq:
        updates = adeq.queue(base_name).updates("t")
        following(updates)
    with pytest.raises(ClientClosed):
        following(updates)


def test_receipts_of_partitions_follow_and_wait(adeq: Adeq, base_name: str) -> None:
    queue = adeq.partitioned(base_name)
    queue.repartition(3)
    receipts = queue.enqueue_many(range(6))
    updates = {receipt.id: receipt.updates(timeout=DEADLINE) for receipt in receipts}
    assert [(following(one)).state for one in updates.values()] == ["ready"] * 6
    done = 0
    while done < 6:
        for lease in queue.claim("w1", 6):
            queue.progress(lease, 0.5, log="half")
            queue.ack(lease, lease.payload)
            done += 1
    for n, receipt in enumerate(receipts):
        last = (rest(updates[receipt.id]))[-1]
        assert (facts(last)[0], facts(last)[4], last.result) == ("completed", ["half"], n)
        assert receipt.result(DEADLINE) == n
