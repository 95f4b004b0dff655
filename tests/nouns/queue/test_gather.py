"""Tasks that wait for the ends of their children."""

from __future__ import annotations

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Lease, Task
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.test_after import END, answers, awaits, complete, enqueue, fail, place, unblocked
from tests.nouns.queue.workbench import BAND, START, Workbench

NOW = START / 1000


def parent(bench: Workbench, gather: int, **task: object) -> str:
    (id,) = bench.fill(1, gather=gather, **task)
    return id


def children(bench: Workbench, id: str, number: int) -> list[Lease]:
    return bench.lease(number, parent=id)


def test_it_starts_when_so_many_children_have_ended(bench: Workbench) -> None:
    id = parent(bench, 3, priority=2)
    assert (bench.state(id), awaits(bench, id)) == ("blocked", 3)
    assert bench.record(id)["gather"] == b"3"
    check_queue(bench)
    first, second, third = children(bench, id, 3)
    assert bench.record(first.id)["gathered"] == b"1"  # its parent's place
    assert b" ties|" in bench.ask("HGET", ":running", first.id)
    check_queue(bench)
    complete(bench, second)
    assert (bench.state(id), awaits(bench, id)) == ("blocked", 2)
    assert "gathered" not in bench.record(second.id)
    check_queue(bench)
    complete(bench, first, third)
    assert (bench.ready(), place(bench, id)) == ([id], 2 * BAND + 1)
    assert unblocked(bench) == [id.encode()]
    assert bench.ask("EXISTS", ":blocked", ":ends") == 0
    check_queue(bench)


def test_its_children_are_those_that_came_later(bench: Workbench) -> None:
    (early,) = bench.lease(1, parent="p")
    enqueue(bench, ("e1", {"parent": "p"}), ("p", {"gather": 1}), ("e2", {"parent": "p"}))
    assert ["gathered" in bench.record(id) for id in (early.id, "e1", "e2")] == [False, False, True]
    first, second = bench.claim(2)
    complete(bench, early, first)
    assert bench.state("p") == "blocked"
    check_queue(bench)
    complete(bench, second)
    assert bench.ready() == ["p"]


def test_a_child_does_not_wait_for_the_parent_that_waits_for_it(bench: Workbench) -> None:
    """Neither would ever start. A call that is sent again gets the same answer."""
    later = ("late", {"parent": "p", "after": ["p"]})
    family = ("p", {"gather": 2}), later, ("c1", {"parent": "p"}), ("c2", {"parent": "p"})
    for _ in range(2):
        assert enqueue(bench, *family, rid="a") == ["created", "unknown p", "created", "created"]
    bench.run(bench.calls.drain())
    assert enqueue(bench, later, rid="b") == ["unknown p"], "and it is no new task for a draining queue"
    bench.run(bench.calls.resume())
    check_queue(bench)
    assert enqueue(bench, ("e", {"parent": "p", "after": ["p", "c1"], "after_any": True}), rid="d") == ["created"]
    complete(bench, *bench.claim(2))
    assert bench.ready() == ["p", "e"], "e may start after c1"
    assert enqueue(bench, ("more", {"parent": "p", "after": ["p"]}), rid="e") == ["created"], "p no longer waits"
    check_queue(bench)


def test_a_child_may_need_its_parent_to_be_there(bench: Workbench) -> None:
    """As the server may have lost it: such a child would run for nobody, and not count for a parent made again."""
    needing = [(id, b"x", {"parent": "p", "needs_parent": True}) for id in ("c1", "c2")]
    call = bench.calls.enqueue_items(needing, "c")
    assert answers(bench, call) == ["unknown p", "unknown p"]
    assert bench.ready() == []
    (id,) = bench.run(bench.calls.enqueue([("p", Task(gather=2))], "p"))
    assert id.status == "created"
    assert answers(bench, call) == ["created", "created"]
    check_queue(bench)
    complete(bench, *bench.claim(2))
    assert bench.ready() == ["p"]
    assert answers(bench, bench.calls.enqueue_items([("c3", b"x", {"needs_parent": True})], "o")) == ["created"]


def test_the_children_of_children_are_not_its_own(bench: Workbench) -> None:
    id = parent(bench, 1)
    (child,) = children(bench, id, 1)
    complete(bench, *children(bench, child.id, 1))
    assert bench.state(id) == "blocked"
    complete(bench, child)
    assert bench.state(id) == "ready"


def test_more_children_than_it_waits_for_are_nothing_to_it(bench: Workbench) -> None:
    id = parent(bench, 2)
    leases = children(bench, id, 5)
    complete(bench, *leases[:3])
    assert bench.ready() == [id]
    check_queue(bench)
    fail(bench, leases[3])
    assert bench.ready() == [id]
    (running,) = bench.claim(1)
    late = bench.fill(1, parent=id)
    assert "gathered" not in bench.record(late[0])
    complete(bench, running, leases[4])
    assert bench.state(id) == "completed"
    check_queue(bench)


@pytest.mark.parametrize(
    ("when", "ends", "state"),
    [
        ("completed", ["completed", "dead"], "dead"),
        ("completed", ["cancelled"], "dead"),
        ("ended", ["dead", "cancelled", "completed"], "ready"),
        ("failed", ["dead", "cancelled", "dead"], "ready"),
        ("failed", ["dead", "completed"], "cancelled"),
    ],
)
def test_how_its_children_must_end(bench: Workbench, when: str, ends: list[str], state: str) -> None:
    id = parent(bench, 3, after_when=when)
    leases = children(bench, id, 3)
    for lease, end in zip(leases, ends, strict=False):
        assert bench.state(id) == "blocked"
        END[end](bench, lease)
        check_queue(bench)
    assert bench.state(id) == state
    for lease in leases[len(ends) :]:
        complete(bench, lease)
    assert bench.state(id) == state
    check_queue(bench)


@pytest.mark.parametrize(("ends", "state"), [(["dead", "completed"], "ready"), (["dead", "dead"], "dead")])
def test_one_good_child_may_do(bench: Workbench, ends: list[str], state: str) -> None:
    id = parent(bench, 2, after_any=True)
    for lease, end in zip(children(bench, id, 2), ends, strict=True):
        assert bench.state(id) == "blocked"
        END[end](bench, lease)
    assert bench.state(id) == state
    check_queue(bench)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 0, 1)])
def test_it_may_wait_for_children_and_for_others(bench: Workbench, order: tuple[int, ...]) -> None:
    (other,) = bench.lease(1)
    id = parent(bench, 2, after=[other.id])
    assert awaits(bench, id) == 3
    leases = [other, *children(bench, id, 2)]
    check_queue(bench)
    for left, at in zip((3, 2, 1), order, strict=True):
        assert (bench.state(id), awaits(bench, id)) == ("blocked", left)
        complete(bench, leases[at])
        check_queue(bench)
    assert bench.state(id) == "ready"


def test_a_child_may_be_one_that_it_waits_for_twice(bench: Workbench) -> None:
    """As a child, and by its name: that are two ends."""
    enqueue(bench, ("p", {"gather": 1}), ("c", {"parent": "p"}))
    enqueue(bench, ("q", {"gather": 1, "after": ["c"], "after_when": "ended"}), ("d", {"parent": "q"}), rid="o")
    first, second = bench.claim(2)
    complete(bench, second)
    fail(bench, first)
    assert (bench.state("p"), bench.state("q")) == ("dead", "ready")
    check_queue(bench)


def test_a_child_that_waited_in_vain_has_failed(bench: Workbench) -> None:
    (other,) = bench.lease(1)
    id = parent(bench, 1)
    (child,) = bench.fill(1, parent=id, after=[other.id])
    fail(bench, other)
    assert [(bench.state(one), bench.record(one)["reason"]) for one in (child, id)] == [
        ("dead", b"after_failed"),
        ("dead", b"after_failed"),
    ]
    check_queue(bench)


def test_a_child_that_stands_for_another_is_none_of_its_own(bench: Workbench) -> None:
    bench.fill(1, unique="k", lane="group/a")
    id = parent(bench, 1)
    enqueue(bench, ("c", {"parent": id, "unique": "k"}))
    complete(bench, *bench.claim(1, lanes=["group/a"]))
    assert bench.state(id) == "blocked"


def test_a_child_that_is_retried_has_ended_once(bench: Workbench) -> None:
    id = parent(bench, 2, after_when="ended")
    first, second = children(bench, id, 2)
    fail(bench, first)
    bench.run(bench.calls.retry([first.id]))
    complete(bench, *bench.claim(1))
    assert (bench.state(id), awaits(bench, id)) == ("blocked", 1)
    complete(bench, second)
    assert bench.state(id) == "ready"


def test_a_child_that_goes_on_has_not_ended(bench: Workbench) -> None:
    id = parent(bench, 1)
    (child,) = children(bench, id, 1)
    bench.run(bench.calls.fail([Failure(child, delay=0)], [0]))
    bench.run(bench.calls.promote())
    assert bench.state(id) == "blocked"
    complete(bench, *bench.claim(1))
    assert bench.state(id) == "ready"


def test_the_children_of_another_task_of_that_id_are_not_its_own(bench: Workbench) -> None:
    enqueue(bench, ("p", {"gather": 1}), rid="first")
    (old,) = children(bench, "p", 1)
    bench.run(bench.calls.purge())
    enqueue(bench, ("p", {"gather": 1}), rid="second")
    check_queue(bench)
    complete(bench, old)
    assert (bench.state("p"), awaits(bench, "p")) == ("blocked", 1)
    complete(bench, *children(bench, "p", 1))
    assert bench.ready() == ["p"]
    check_queue(bench)


def test_who_is_done_waiting_has_no_children_that_count(bench: Workbench) -> None:
    id = parent(bench, 2, expires_at=NOW + 10)
    (child,) = children(bench, id, 1)
    bench.pass_time(10_000)
    bench.run(bench.calls.expire())
    assert bench.record(id)["reason"] == b"expired"
    (late,) = bench.fill(1, parent=id)
    assert "gathered" not in bench.record(late)
    complete(bench, child)
    assert bench.state(id) == "dead"
    check_queue(bench)


@pytest.mark.parametrize("state", ["ready", "after another"])
def test_the_children_of_one_that_gathers_none_are_not_marked(bench: Workbench, state: str) -> None:
    parent(bench, 1)  # so that somebody does
    (id,) = bench.fill(1, after=bench.fill(1) if state == "after another" else ())
    (child,) = bench.fill(1, parent=id)
    assert {"gathered", "ties"} & bench.record(child).keys() == set()


def test_where_nobody_waits_nobody_looks(bench: Workbench) -> None:
    bench.fill(1, parent=bench.fill(1)[0])
    assert b"chains" not in bench.ask("HGETALL", ":config")
    parent(bench, 1)
    assert bench.ask("HGET", ":config", "chains") == b"1"


def test_more_than_a_hundred_children_that_end_in_one_call_are_told_of_in_turn(bench: Workbench) -> None:
    id = parent(bench, 250)
    complete(bench, *children(bench, id, 250))
    assert awaits(bench, id) == 150
    check_queue(bench)
    bench.sweep()
    assert awaits(bench, id) == 50
    bench.sweep()
    assert bench.ready() == [id]
    assert bench.ask("EXISTS", ":ends") == 0
    check_queue(bench)


def test_others_may_wait_for_one_that_gathers(bench: Workbench) -> None:
    id = parent(bench, 1, reply=True)
    (follower,) = bench.fill(1, after=[id])
    fail(bench, *children(bench, id, 1))
    assert [bench.state(one) for one in (id, follower)] == ["dead", "dead"]
    assert bench.ask("EXISTS", f":reply:{id}") == 1
    check_queue(bench)


def test_a_tree_of_tasks_that_gather_ends_from_its_leaves(bench: Workbench) -> None:
    """A child that is a parent itself counts when it has run."""
    root = parent(bench, 2)
    middle = bench.fill(2, parent=root, gather=2)
    for id in middle:
        complete(bench, *bench.lease(2, parent=id, lane="group/leaves"))
    assert (bench.ready(), bench.state(root)) == (middle, "blocked")
    complete(bench, *bench.claim(10))
    assert bench.ready() == [root]
    check_queue(bench)


def test_a_child_that_was_cancelled_while_it_waited_has_failed(bench: Workbench) -> None:
    id = parent(bench, 1)
    bench.run(bench.calls.cancel(bench.fill(1, parent=id)))
    assert bench.state(id) == "dead"
    check_queue(bench)


def test_a_child_that_was_purged_has_failed(bench: Workbench) -> None:
    id = parent(bench, 1)
    bench.fill(1, parent=id)
    assert bench.run(bench.calls.purge(limit=1))[0] == 1
    assert bench.state(id) == "blocked"
    bench.sweep()
    assert bench.state(id) == "dead"
    check_queue(bench)
