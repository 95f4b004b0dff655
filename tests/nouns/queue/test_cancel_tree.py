"""Tasks that are cancelled with all that came of them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from pyadeq.models import CancelStatus
from tests.audit import Audit
from tests.nouns.queue.checks import check_queue, left_over, let_all_pass
from tests.nouns.queue.test_after import complete, enqueue, fail
from tests.nouns.queue.workbench import MakeBench, Workbench
from tests.quick import slow_after


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


@pytest.mark.parametrize(("levels", "width"), slow_after(1, [(250, 1), (3, 9), (2, 20)]))
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


def remove(bench: Workbench, *ids: str) -> None:
    """End tasks that are ready and delete them, as if they had been kept for their time."""
    leases = {lease.id: lease for lease in bench.claim(1000)}
    complete(bench, *(leases[id] for id in ids))
    if others := [lease for id, lease in leases.items() if id not in ids]:
        bench.run(bench.calls.release(others))
    bench.real(bench.calls.configure(finished_max=0))
    bench.real(bench.calls.trim())
    bench.real(bench.calls.configure(finished_max=1000))
    check_queue(bench)


def links(bench: Workbench) -> set[str]:
    """Removed tasks that are remembered for their children."""
    return Audit(bench.client, bench.base).links


@pytest.mark.parametrize("order", ["down", "up", "at once"])
def test_what_came_of_tasks_that_were_removed_ends(bench: Workbench, order: str) -> None:
    ids = [f"e{at}" for at in range(6)]
    enqueue(bench, *[(id, {"parent": ids[at - 1]} if at else {}) for at, id in enumerate(ids)])
    (leaf,) = bench.fill(1, parent=ids[3])
    if order == "at once":
        remove(bench, *ids[1:5])
    for id in () if order == "at once" else ids[1:5] if order == "down" else ids[4:0:-1]:
        remove(bench, id)
    bench.pass_time(600_000)
    assert len(links(bench)) == 2  # what has only a link as a child is none
    cancel(bench, ids[0])
    assert states(bench, ids[0], ids[5], leaf) == ["cancelled"] * 3
    check_queue(bench)
    bench.real(bench.calls.configure(finished_max=0))
    bench.real(bench.calls.trim())
    assert links(bench) == set()
    assert not [name for name in bench.dump() if "children" in name]
    check_queue(bench)


def test_a_task_that_an_older_build_gave_the_id_of_a_link_is_of_no_tree(bench: Workbench) -> None:
    enqueue(bench, ("a", {}), ("b", {"parent": "a"}), ("c", {"parent": "b"}))
    remove(bench, "b")
    enqueue(bench, ("b", {}))
    bench.ask("HSET", ":task:b", "link", "a")
    bench.ask("ZADD", ":children:a", bench.now, "b")
    cancel(bench, "a")
    assert states(bench, "a", "b") == ["cancelled", "ready"]
    assert bench.ask("EXISTS", ":children:a") == 0


def test_a_link_whose_last_child_an_older_build_removed_goes(bench: Workbench) -> None:
    enqueue(bench, ("a", {}), ("b", {"parent": "a"}), ("c", {"parent": "b"}))
    remove(bench, "b")
    bench.ask("DEL", ":task:c", ":payload:c", ":children:b")
    bench.ask("ZREM", ":ready:any", "c")
    cancel(bench, "a")
    assert 0 < bench.ask("PTTL", ":task:b") <= 60_000
    assert bench.ask("EXISTS", ":children:a") == 0


@pytest.mark.parametrize("seed", slow_after(6, range(30)))
def test_every_task_that_is_left_of_a_tree_ends(bench: Workbench, seed: int) -> None:
    draw = random.Random(seed)
    parents: dict[str, str | None] = {"root": None, "other": None}
    enqueue(bench, ("root", {}), ("other", {}))
    living = ["root", "other"]
    for step in range(60):
        if draw.random() < 0.6:
            parent, id = draw.choice(living[-4:]), f"t{step}"
            enqueue(bench, (id, {"parent": parent}))
            parents[id] = parent
            living.append(id)
        elif len(living) > 2:
            gone = set(draw.sample(living[2:], draw.randint(1, min(4, len(living) - 2))))
            remove(bench, *gone)
            living = [id for id in living if id not in gone]
            assert len(links(bench)) < len(living)

    def top(id: str) -> str:
        return id if (parent := parents[id]) is None else top(parent)

    cancel(bench, "root")
    list(sweeps(bench))
    assert {id for id in living if bench.state(id) == "cancelled"} == {id for id in living if top(id) == "root"}
    bench.run(bench.calls.cancel(living))
    bench.real(bench.calls.configure(finished_max=0))
    bench.real(bench.calls.trim())
    assert links(bench) == set()
    assert not [name for name in bench.dump() if "children" in name]


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_removed_parents_that_form_a_cycle_leave_nothing(bench: Workbench, length: int) -> None:
    ids = [f"e{at}" for at in range(length)]
    enqueue(bench, *[(id, {"parent": ids[at - 1]}) for at, id in enumerate(ids)])
    for id in ids:
        remove(bench, id)
    assert links(bench) == set()
    assert not [name for name in bench.dump() if "children" in name]
    cancel(bench, ids[0])
    assert not bench.ask("EXISTS", ":ends")


def test_a_link_whose_id_is_used_again_belongs_to_its_new_parent(bench: Workbench) -> None:
    enqueue(bench, ("a", {}), ("b", {"parent": "a"}), ("c", {"parent": "b"}), ("d", {}))
    remove(bench, "b")
    assert links(bench) == {"b"}
    enqueue(bench, ("b", {"parent": "d"}))
    check_queue(bench)
    cancel(bench, "a")
    assert states(bench, "a", "b", "c") == ["cancelled", "ready", "ready"]
    cancel(bench, "d")
    assert states(bench, "d", "b", "c") == ["cancelled"] * 3


def test_a_cancelled_tree_goes_on_below_a_link_that_is_taken_out(bench: Workbench) -> None:
    enqueue(bench, ("root", {}), ("a", {"parent": "root"}), ("x", {"parent": "a"}), ("b", {"parent": "a"}))
    enqueue(bench, ("d", {"parent": "b"}))
    bench.pass_time(1)
    bench.fill(150, parent="root")
    remove(bench, "a", "b")
    leases = {lease.id: lease for lease in bench.claim(1000)}
    x = leases.pop("x")
    bench.run(bench.calls.release(list(leases.values())))
    cancel(bench, "root")
    assert bench.ask("ZCARD", ":ends") == 2  # the children of a are to be cancelled, and the rest of the root's
    bench.real(bench.calls.configure(finished_max=0))
    complete(bench, x)
    assert links(bench) == {"b"}
    bench.real(bench.calls.configure(finished_max=1000))
    assert len(list(sweeps(bench))) > 0
    assert bench.state("d") == "cancelled"


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
