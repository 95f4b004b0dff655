"""Tasks that are cancelled with all that came of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyadeq.models import CancelStatus
from tests.lua.checks import check_queue, left_over, let_all_pass
from tests.lua.test_after import complete, enqueue, fail
from tests.lua.workbench import MakeBench, Workbench


def cancel(bench: Workbench, *ids: str, rid: str | None = None) -> list[CancelStatus]:
    return bench.run(bench.calls.cancel(ids, rid, tree=True))


def sweeps(bench: Workbench, most: int = 20) -> Iterator[None]:
    """As many as have something to do."""
    for _ in range(most):
        if not bench.ask("EXISTS", ":ends"):
            return
        bench.sweep()
        check_queue(bench)
        yield
    raise AssertionError("no end of it")


def states(bench: Workbench, *ids: str) -> list[str | None]:
    return [bench.state(id) for id in ids]


def test_all_that_came_of_it_ends_with_it(bench: Workbench) -> None:
    (root,) = bench.fill(1)
    (other,) = bench.fill(1)
    middle = [*bench.fill(1, parent=root), *bench.fill(1, parent=root, delay=60)]
    leaves = [*bench.fill(1, parent=middle[0], after=[other]), *bench.fill(1, parent=middle[1], priority=1)]
    stranger = bench.fill(1, parent=other)
    assert cancel(bench, root) == ["cancelled"]
    assert states(bench, root, *middle, *leaves) == ["cancelled"] * 5
    assert bench.ready() == [other, *stranger]
    assert bench.counters()["cancelled"] == 5
    assert len(bench.events("task.cancelled")) == 5
    assert bench.ask("EXISTS", ":ends", ":delayed", ":blocked") == 0
    check_queue(bench)


def test_without_it_the_children_stay(bench: Workbench) -> None:
    (root,) = bench.fill(1)
    child = bench.fill(1, parent=root)
    assert bench.run(bench.calls.cancel([root])) == ["cancelled"]
    assert bench.ready() == child
    assert b"chains" not in bench.ask("HGETALL", ":config")


def test_running_ones_are_marked_and_their_workers_are_told_and_ended_ones_stay(bench: Workbench) -> None:
    (root,) = bench.lease(1)
    running, done, dead = bench.lease(3, parent=root.id)
    complete(bench, done)
    fail(bench, dead)
    below = [*bench.fill(1, parent=done.id), *bench.fill(1, parent=dead.id), *bench.fill(1, parent=running.id)]
    bench.ask("DEL", ":control:w")
    assert cancel(bench, root.id) == ["cancelling"]
    assert [bench.ask("HGET", ":running", lease.id).count(b" cancel|") for lease in (root, running)] == [1, 1]
    assert bench.ask("LLEN", ":control:w") == 1
    assert states(bench, done.id, dead.id, *below) == ["completed", "dead", *["cancelled"] * 3]
    check_queue(bench)
    assert bench.run(bench.calls.release([root, running])) == ["cancelled"] * 2
    check_queue(bench)


@pytest.mark.parametrize("root", ["completed", "dead", "cancelled", "purged"])
def test_what_came_of_one_that_has_ended_ends(bench: Workbench, root: str) -> None:
    (lease,) = bench.lease(1)
    child = bench.fill(1, parent=lease.id, lane="group/a")
    answer = "finished"
    match root:
        case "completed":
            complete(bench, lease)
        case "dead":
            fail(bench, lease)
            answer = "cancelled"
        case "cancelled":
            bench.run(bench.calls.cancel([lease.id]))
            bench.run(bench.calls.release([lease]))
            answer = "cancelled"
        case "purged":
            bench.run(bench.calls.release([lease]))
            bench.ask("DEL", ":wake:any")
            complete(bench, *bench.claim(1))
            bench.run(bench.calls.configure(finished_keep=0))
            bench.pass_time(1)
            bench.run(bench.calls.trim())
            answer = "not_found"
    assert cancel(bench, lease.id) == [answer]
    assert states(bench, *child) == ["cancelled"]
    assert bench.ask("EXISTS", ":ends") == 0
    check_queue(bench)


def test_what_comes_of_it_later_goes_on(bench: Workbench) -> None:
    (root,) = bench.lease(1)
    cancel(bench, root.id)
    (late,) = bench.fill(1, parent=root.id)
    bench.sweep()
    assert bench.state(late) == "ready"


def test_each_item_is_answered_for_itself(bench: Workbench) -> None:
    one, two = bench.fill(2)
    below = bench.fill(1, parent=one)
    assert cancel(bench, one, "unknown", two, one, *below) == [
        "cancelled",
        "not_found",
        "cancelled",
        "cancelled",
        "cancelled",
    ]
    assert bench.counters()["cancelled"] == 3
    assert bench.ask("EXISTS", ":ends") == 0
    assert bench.ask("EXISTS", ":task:unknown") == 0
    check_queue(bench)


@pytest.mark.parametrize("rid", [None, "r"])
def test_sent_again_it_answers_the_same(bench: Workbench, rid: str | None) -> None:
    (running,) = bench.lease(1)
    (root,) = bench.fill(1)
    bench.fill(3, parent=root)
    assert cancel(bench, root, running.id, rid=rid) == ["cancelled", "cancelling"]
    before = bench.dump()
    assert cancel(bench, root, running.id, rid=rid) == ["cancelled", "cancelling"]
    if rid is None:  # another tree, which finds nothing to do
        for name in (":config", *(f":task:{id}" for id in (root, running.id))):
            stamps = {field: value for field, value in before[name][1].items() if field in ("trees", "pruned")}
            before[name][1].update({field: b"%d" % (int(value) + 1) for field, value in stamps.items()})
    assert bench.dump() == before


def test_sent_again_it_does_not_go_further(bench: Workbench) -> None:
    (root,) = bench.fill(1)
    bench.fill(150, parent=root)
    call = bench.calls.cancel([root], "r", tree=True)
    bench.run(call)
    before = bench.dump()
    bench.run(call)
    assert bench.dump() == before


def test_a_call_ends_a_hundred_and_the_sweeps_the_others(bench: Workbench) -> None:
    (root,) = bench.fill(1)
    ids = bench.fill(250, parent=root)
    assert cancel(bench, root) == ["cancelled"]
    assert bench.ready() == ids[100:]
    check_queue(bench)
    bench.worker("other")
    claimed = bench.run(bench.calls.claim("other", "i", 0, 1, limit=1, lanes=["group/of-nobody"]))
    assert claimed.next_due == bench.now / 1000
    assert bench.ready() == ids[200:]
    check_queue(bench)
    assert len(list(sweeps(bench))) == 1
    assert bench.ready() == []
    assert bench.counters()["cancelled"] == 251


def test_it_goes_on_where_it_stopped_though_those_before_have_gone(bench: Workbench) -> None:
    """Those that ended are deleted at once, so there is no page that could be counted."""
    bench.run(bench.calls.configure(finished_max=0))
    (root,) = bench.fill(1)
    for _ in range(5):
        bench.fill(50, parent=root)
        bench.pass_time(1)
    cancel(bench, root)
    assert len(bench.ready()) == 150
    assert len(list(sweeps(bench))) == 2
    assert bench.ready() == []
    let_all_pass(bench)
    assert left_over(bench) == {}


@pytest.mark.parametrize(("levels", "width"), [(250, 1), (3, 9), (2, 20)])
def test_a_tree_of_any_form_ends(bench: Workbench, levels: int, width: int) -> None:
    """Depth first, by a call for each level."""
    level = bench.fill(1)
    root, all_of_it = level[0], list(level)
    for _ in range(levels):
        level = [id for parent in level for id in bench.fill(width, parent=parent)]
        all_of_it += level
    cancel(bench, root)
    assert bench.counters()["cancelled"] >= 50
    check_queue(bench)
    assert len(list(sweeps(bench))) <= len(all_of_it) // 40
    assert {bench.state(id) for id in all_of_it} == {"cancelled"}
    assert bench.counters()["cancelled"] == len(all_of_it)
    check_queue(bench)


@pytest.mark.parametrize("state", ["waiting", "running", "ended"])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_circle_of_parents_comes_to_its_end(bench: Workbench, state: str, length: int) -> None:
    ids = [f"e{at}" for at in range(length)]
    enqueue(bench, *[(id, {"parent": ids[at - 1]}) for at, id in enumerate(ids)])
    if state != "waiting":
        leases = bench.claim(length)
        if state == "ended":
            complete(bench, *leases)
    for _ in range(2):
        cancel(bench, ids[0])
        assert len(list(sweeps(bench))) == 0
        expected = {"waiting": "cancelled", "running": "running", "ended": "completed"}[state]
        assert states(bench, *ids) == [expected] * length
        check_queue(bench)
        bench.pass_time(1)


def test_those_who_wait_for_one_of_them_hear_of_it(bench: Workbench) -> None:
    (root,) = bench.fill(1)
    (child,) = bench.fill(1, parent=root)
    (follower,) = bench.fill(1, after=[child])
    (cleanup,) = bench.fill(1, after=[child], after_when="failed")
    (gathering,) = bench.fill(1, gather=1, parent=root)
    (below,) = bench.fill(1, parent=gathering)
    cancel(bench, root)
    assert states(bench, follower, cleanup, gathering, below) == ["dead", "ready", "cancelled", "cancelled"]
    assert bench.ask("EXISTS", ":ends", ":blocked") == 0
    check_queue(bench)


@pytest.mark.parametrize("delay", [0, 60])
def test_what_the_same_call_has_freed_ends_with_the_others(bench: Workbench, delay: int) -> None:
    """Whoever waits for the end of another one of the tree is free when that is cancelled."""
    (root,) = bench.fill(1)
    first, second = bench.fill(2, parent=root)
    (below,) = bench.fill(1, parent=second, after=[first], after_when="ended", delay=delay)
    cancel(bench, root)
    assert states(bench, root, first, second, below) == ["cancelled"] * 4
    assert bench.ask("EXISTS", ":ready:any", ":delayed", ":lanes") == 0
    told = [event["event"] for event in bench.events() if event["id"] == below.encode()]
    assert told == [b"task.enqueued", b"task.unblocked", b"task.cancelled"]
    check_queue(bench)


def test_one_that_waits_for_its_own_parent_ends_with_it(bench: Workbench) -> None:
    (root,) = bench.fill(1)
    (below,) = bench.fill(1, parent=root, after=[root], after_when="failed")
    cancel(bench, root)
    assert bench.state(below) == "cancelled"
    check_queue(bench)


def test_another_call_takes_what_came_of_them_since(bench: Workbench) -> None:
    (root,) = bench.fill(1)
    (child,) = bench.fill(1, parent=root)
    cancel(bench, root)
    (later,) = bench.fill(1, parent=child)
    bench.pass_time(1)
    cancel(bench, root)
    assert states(bench, child, later) == ["cancelled"] * 2


def test_a_queue_that_does_not_exist_is_not_made(make_bench: MakeBench) -> None:
    bench = make_bench("server")
    assert cancel(bench, "a") == ["not_found"]
    assert bench.dump() == {}


def test_a_full_server_cancels_trees(bench: Workbench) -> None:
    bench.full(False)
    (root,) = bench.fill(1)
    bench.fill(150, parent=root)
    bench.full()
    cancel(bench, root)
    assert len(list(sweeps(bench))) == 1
    assert bench.ready() == []
