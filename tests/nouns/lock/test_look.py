"""list, show, stats, configure and confirm of lock domains."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.kernel.durability import confirm
from tests.nouns.lock.workbench import LockBench
from tests.nouns.watched import Refused


@pytest.fixture
def lock_bench(lock_bench: LockBench) -> LockBench:
    """Two who hold, and two who wait, of two types of resources and of two agents."""
    lock_bench.hold("file:a", "o", rid="holds", agent="g", purpose="to see")
    lock_bench.hold("task:t", "p", "shared", rid="shares", agent="g", priority=3)
    lock_bench.wait("file:a", "w", rid="waits", agent="h")
    lock_bench.wait("file:a", "v", "shared", rid="last", agent="h")
    return lock_bench


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, {"holds", "shares", "waits", "last"}),
        ({"state": "held"}, {"holds", "shares"}),
        ({"state": "waiting"}, {"waits", "last"}),
        ({"type": "task"}, {"shares"}),
        ({"type": "file", "state": "waiting"}, {"waits", "last"}),
        ({"owner": "w"}, {"waits"}),
        ({"agent": "g"}, {"holds", "shares"}),
        ({"agent": "h", "state": "held"}, set()),
        ({"owner": "nobody"}, set()),
    ],
)
def test_list_finds_what_was_asked_for(lock_bench: LockBench, wanted: dict[str, Any], found: set[str]) -> None:
    page = lock_bench.run(lock_bench.calls.list(**wanted))
    assert {one.rid for one in page.requests} == found
    assert page.cursor == ""


@pytest.mark.parametrize("wanted", [{}, {"agent": "h"}, {"type": "file"}, {"owner": "w"}])
def test_list_goes_on_where_it_stopped(lock_bench: LockBench, wanted: dict[str, Any]) -> None:
    whole = [one.rid for one in lock_bench.run(lock_bench.calls.list(**wanted)).requests]
    found, cursor = [], ""
    for _ in range(10):
        page = lock_bench.run(lock_bench.calls.list(**wanted, limit=1, cursor=cursor))
        found += [one.rid for one in page.requests]
        if not (cursor := page.cursor):
            break
    assert found == whole


def test_show_tells_who_holds_and_who_waits(lock_bench: LockBench) -> None:
    view = lock_bench.run(lock_bench.calls.show("file:a"))
    assert [(one.rid, one.owner, one.purpose) for one in view.holders] == [("holds", "o", "to see")]
    assert [(one.rid, one.place) for one in view.waiters] == [("waits", 1), ("last", 2)]


@pytest.mark.parametrize("silent", [0, 10])
def test_show_tells_what_a_capacity_gives(lock_bench: LockBench, silent: float) -> None:
    assert lock_bench.run(lock_bench.calls.show("p")).capacity is None
    lock_bench.real(lock_bench.calls.set_capacity("p", 3, silent))
    began = lock_bench.now
    lock_bench.hold("p", "a", "permit", ttl=60)
    lock_bench.pass_time(10_001)
    room = lock_bench.run(lock_bench.calls.show("p")).capacity
    assert room is not None
    assert (room.max, room.used, room.silent, room.heartbeat) == (3, 1, silent or None, began / 1000)
    assert room.status == ("offline" if silent else "active")
    lock_bench.real(lock_bench.calls.drain("p"))
    room = lock_bench.run(lock_bench.calls.show("p")).capacity
    assert room is not None
    assert room.status == ("offline" if silent else "draining")


def test_stats_are_there(lock_bench: LockBench) -> None:
    lock_bench.real(lock_bench.calls.cancel(["other"]))
    lock_bench.real(lock_bench.calls.set_capacity("p", 1))
    stats = lock_bench.run(lock_bench.calls.stats())
    assert (stats.now, stats.held, stats.waiting) == (lock_bench.now / 1000, 2, 2)
    assert (stats.ended, stats.unchecked, stats.capacities) == (1, 0, 1)


def test_what_only_looks_changes_nothing(lock_bench: LockBench) -> None:
    before = lock_bench.dump()
    lock_bench.run(lock_bench.calls.list())
    lock_bench.run(lock_bench.calls.show("file:a"))
    lock_bench.run(lock_bench.calls.edges())
    lock_bench.run(lock_bench.calls.stats())
    assert lock_bench.dump() == before


def test_settings_are_told_as_they_are(lock_bench: LockBench) -> None:
    settings = lock_bench.run(lock_bench.calls.configure(lease=60, policy="youngest"))
    assert (settings.lease, settings.policy, settings.poll, settings.claim) == (60, "youngest", 2, 5)
    assert lock_bench.run(lock_bench.calls.configure()) == settings


@pytest.mark.parametrize("wanted", [{"poll": 3}, {"claim": 4.999}, {"poll": 1, "claim": 2.999}])
def test_a_claim_leaves_time_for_two_polls(lock_bench: LockBench, wanted: dict[str, float]) -> None:
    with pytest.raises(Refused, match=r"^ADEQ_ARG .*claim_ms"):
        lock_bench.run(lock_bench.calls.configure(**wanted))  # type: ignore[arg-type]


def test_confirm_writes(lock_bench: LockBench) -> None:
    lock_bench.run(confirm(lock_bench.calls.release(["holds"]), lock_bench.now))
    assert lock_bench.ask("HGET", ":config", "confirmed_ms") == b"%d" % lock_bench.now
