"""Limits: how many tasks may run at a time, and how many may start in a time; and the lines before them."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq.models import Lease
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import Workbench


def waiting(bench: Workbench, key: str = "user:u") -> list[str]:
    return [id.decode() for id in bench.ask("ZRANGE", f":waiting:{key}", 0, -1)]


def take(bench: Workbench, most: int = 10, *lanes: str) -> list[Lease]:
    return bench.claim(most, lanes=lanes or ("any",))


def started(bench: Workbench, most: int = 10, *lanes: str) -> list[str]:
    return [lease.id for lease in take(bench, most, *lanes)]


# The ways in which a lease ends; what they make of the task is no matter here.


def ack(bench: Workbench, lease: Lease) -> None:
    assert bench.run(bench.calls.ack([(lease, None)])) == ["completed"]


# which limits hold


@pytest.mark.parametrize(
    ("full", "key"),
    [("all", "all"), ("user:u", "user:u"), ("tag:s", "tag:s"), ("tag:t", "tag:t"), ("key:k", "key:k")],
)
def test_a_task_waits_while_one_of_its_limits_is_full(bench: Workbench, full: str, key: str) -> None:
    own: dict[str, Any] = {"user": "u", "tags": ["s", "t"], "limits": ["k"]}
    for each in ("all", "user:*", "tag:*", "key:*"):
        bench.limit(each, concurrency=9)
    bench.limit(full, concurrency=1)
    _, second = bench.fill(2, **own)
    (lease,) = take(bench)
    view = bench.view(second)
    assert view
    assert (view.state, view.limited_by, view.limits) == ("blocked", key, ("k",))
    assert waiting(bench, key) == [second]
    assert [(event["id"], event["payload"]) for event in bench.events("task.limited")] == [
        (second.encode(), b"limit=" + key.encode())
    ]
    check_queue(bench)
    ack(bench, lease)
    view = bench.view(second)
    assert view
    assert (view.state, view.limited_by) == ("ready", None)
    assert [event["id"] for event in bench.events("task.unblocked")] == [second.encode()]
    assert started(bench) == [second]


# set_limits and limits


@pytest.mark.parametrize("number", [1, 130, 700])
def test_pages_hold_every_limit(bench: Workbench, number: int) -> None:
    keys = [f"user:u{at}" for at in range(number)]
    bench.run(bench.calls.set_limits([(key, {"concurrency": 1}) for key in keys], "r"))
    found: set[str] = set()
    cursor, pages = "", 0
    while True:
        page, cursor, _ = bench.run(bench.calls.limits(cursor=cursor))
        found |= {one.key for one in page}
        pages += 1
        assert pages <= number
        if not cursor:
            break
    assert found == set(keys)
