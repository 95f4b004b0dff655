"""Ordering keys: tasks of one run one at a time, in their order."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Lease, Task
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import Workbench
from tests.nouns.watched import Refused

KEY: dict[str, Any] = {"ordering_key": "k"}


def enqueue(bench: Workbench, *ids: str, rid: str = "r", **task: Any) -> list[str]:
    items = [(id, Task(payload=b"x", **{**KEY, **task})) for id in ids]
    return [one.status for one in bench.run(bench.calls.enqueue(items, rid))]


def line(bench: Workbench) -> str:
    return "".join(id.decode() for id in bench.ask("ZRANGE", ":order:k", 0, -1))


def ack(bench: Workbench, *leases: Lease) -> None:
    bench.run(bench.calls.ack([(lease, None) for lease in leases]))


def test_each_starts_when_the_one_before_it_has_ended(bench: Workbench) -> None:
    assert enqueue(bench, "a", "b", rid="1") == enqueue(bench, "c", "d", rid="2") == ["created"] * 2
    for id in "abcd":
        assert line(bench) == "abcd"["abcd".index(id) :]
        (lease,) = bench.claim(10)
        assert lease.id == id
        check_queue(bench)
        ack(bench, lease)
    assert line(bench) == ""
    assert bench.claim(10) == []
    check_queue(bench)


def test_others_do_not_wait(bench: Workbench) -> None:
    enqueue(bench, "a", "b", rid="1")
    enqueue(bench, "other", rid="2", ordering_key="another")
    enqueue(bench, "none", rid="3", ordering_key=None)
    assert [lease.id for lease in bench.claim(10)] == ["a", "other", "none"]


@pytest.mark.parametrize("end", ["dead", "cancelled", "purged", "retried"])
def test_however_the_one_before_it_ends(bench: Workbench, end: str) -> None:
    enqueue(bench, "a", "b", "c")
    if end in ("dead", "retried"):
        (lease,) = bench.claim(1)
        bench.run(bench.calls.fail([Failure(lease, retryable=end == "retried")], [0]))
    if end == "cancelled":
        bench.run(bench.calls.cancel(["a"], "cancel"))
    if end == "purged":
        bench.run(bench.calls.purge("purge", lane="any"))
    bench.settle()
    assert bench.ready() == ([] if end == "retried" else ["b"])
    assert line(bench) == ("abc" if end == "retried" else "bc")
    check_queue(bench)


def test_a_retry_keeps_its_place_before_the_others(bench: Workbench) -> None:
    enqueue(bench, "a", "b")
    (lease,) = bench.claim(1)
    bench.run(bench.calls.fail([Failure(lease, delay=5)], [0]))
    assert bench.claim(10) == []
    bench.pass_time(5_000)
    (lease,) = bench.claim(10)
    assert lease.id == "a"
    ack(bench, lease)
    assert [lease.id for lease in bench.claim(10)] == ["b"]


def test_one_in_the_middle_is_cancelled(bench: Workbench) -> None:
    enqueue(bench, "a", "b", "c")
    bench.run(bench.calls.cancel(["b"], "cancel"))
    (lease,) = bench.claim(10)
    assert line(bench) == "ac"
    ack(bench, lease)
    assert [lease.id for lease in bench.claim(10)] == ["c"]
    check_queue(bench)


def test_the_last_one_ends_before_the_others(bench: Workbench) -> None:
    enqueue(bench, "a", "b")
    bench.run(bench.calls.cancel(["b"], "cancel"))
    assert line(bench) == "a"
    check_queue(bench)


def test_a_dead_one_that_is_retried_by_hand_runs_beside_the_others(bench: Workbench) -> None:
    enqueue(bench, "a", rid="1")
    (lease,) = bench.claim(1)
    bench.run(bench.calls.fail([Failure(lease, retryable=False)], [0]))
    enqueue(bench, "b", rid="2")
    bench.run(bench.calls.retry(["a"], "retry"))
    assert [lease.id for lease in bench.claim(10)] == ["b", "a"]
    assert line(bench) == "b"
    check_queue(bench)


def test_a_call_that_comes_again_follows_nobody_anew(bench: Workbench) -> None:
    for _ in range(2):
        assert enqueue(bench, "a", "b") == ["created"] * 2
    assert enqueue(bench, "a", rid="other") == ["exists"]
    for id in "ab":
        (lease,) = bench.claim(10)
        assert lease.id == id
        ack(bench, lease)
    check_queue(bench)


@pytest.mark.parametrize("more", [{"after": ["a"]}, {"gather": 2}])
def test_it_does_not_go_with_what_else_a_task_may_wait_for(bench: Workbench, more: dict[str, Any]) -> None:
    enqueue(bench, "a")
    call = bench.calls.enqueue([("b", Task(payload=b"x")), ("c", Task(payload=b"x", **KEY, **more))], "2")
    with pytest.raises(Refused, match=r"item\[2\]\.ordering_key must be given without after and gather"):
        bench.run(call)
    check_queue(bench)
