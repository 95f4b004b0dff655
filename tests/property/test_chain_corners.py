"""Corners of chains: more than a call passes on, and what a task's end means for those of another life of its id."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest

from tests.property.driver import Driver
from tests.property.records import Backoff, Spec
from tests.property.test_corners import claim, end, enqueue, numbers, wait

WAYS = ("ack", "settle", "fail", "release", "snooze", "cancel", "deregister", "reap", "expire", "claim", "purge")


def states(queue: Driver, ids: Iterable[str]) -> list[str]:
    return [queue.model.tasks[id].state for id in ids]


def reason(queue: Driver, id: str) -> str | None:
    assert queue.model.tasks[id].state == "dead"
    return queue.model.tasks[id].reason


def cancel(queue: Driver, *ids: str, tree: bool = False) -> None:
    queue.do("cancel", ids, f"rid-{next(numbers)}", tree=tree)
    queue.check()


def purge(queue: Driver, **what: Any) -> None:
    queue.do("purge", f"rid-{next(numbers)}", **{"all": False} | what)
    queue.check()


def retry(queue: Driver, *ids: str) -> None:
    queue.do("retry", ids, f"rid-{next(numbers)}")
    queue.check()


def sweep(queue: Driver) -> bool:
    """A claim that takes nothing; whether it says that there is more to be done at once."""
    claimed = queue.do("claim", "w", "i1", 1, next(numbers), limit=1, lanes=["group/nobody"])
    queue.check()
    return bool(claimed[3] == queue.model.now)


def follow(queue: Driver, id: str, number: int, **traits: Any) -> list[str]:
    """Enqueue so many tasks after one."""
    ids = [f"{id}-{at}" for at in range(number)]
    enqueue(queue, *(Spec(one, after=(id,), **traits) for one in ids))
    return ids


@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("when", ["completed", "failed", "ended"])
def test_a_task_waits_for_all_or_for_any(queue: Driver, when: str, some: bool) -> None:
    how: dict[str, Any] = {"after_when": when, "after_any": some}
    for run, ways in enumerate(product(["ack", "dead", "cancel"], repeat=2)):
        enqueue(queue, Spec(f"a{run}", priority=0), Spec(f"b{run}", priority=0))
        enqueue(queue, Spec(f"x{run}", after=(f"a{run}", f"b{run}", f"a{run}"), lane="group/h", **how))
        for way, lease in zip(ways, claim(queue, 2), strict=True):
            if way == "cancel":
                cancel(queue, lease[0])
            end(queue, {"cancel": "release"}.get(way, way), lease)
        enqueue(queue, Spec(f"y{run}", after=(f"b{run}", f"a{run}"), lane="group/h", **how))
        good = [when == "ended" or (way == "ack") == (when == "completed") for way in ways]
        bad = "cancelled" if when == "failed" else "dead"
        goes_on = any(good) if some else all(good)
        assert states(queue, [f"x{run}", f"y{run}"]) == ["ready" if goes_on else bad] * 2
        queue.compare_views([f"x{run}", f"y{run}"])
        queue.compare_outcomes([f"x{run}", f"y{run}"])


@pytest.mark.parametrize("way", WAYS)
def test_every_end_is_passed_on(queue: Driver, way: str) -> None:
    """At once, but for a purge, which leaves it to the next sweep."""
    queue.do("configure", max_crashes=1)
    late: dict[str, Any] = {"expires": queue.model.now + 15_000} if way in ("expire", "claim") else {}
    enqueue(queue, Spec("a", **late), Spec("b", **late), Spec("c", after=("a",)))
    enqueue(queue, Spec("d", after=("b", "c"), after_when="failed", lane="group/h"))
    leases = [] if late or way in ("cancel", "purge") else claim(queue)
    if way in ("release", "snooze", "deregister"):
        cancel(queue, "a", "b")
    match way:
        case "settle":
            acks = [(*lease, b"") for lease in leases]
            queue.do("settle", "w", "i1", 0, next(numbers), limit=0, lanes=["any"], acks=acks)
        case "cancel":
            cancel(queue, "a", "b")
        case "deregister":
            queue.do("deregister", "w", "i1", leases)
        case "expire" | "claim":
            wait(queue, 15_000)
            queue.do("expire", 10) if way == "expire" else claim(queue)
        case "purge":
            purge(queue, lane="any")
            assert states(queue, "cd") == ["blocked", "blocked"]
            sweep(queue)
        case _:
            end(queue, "dead" if way == "fail" else way, *leases)
    queue.check()
    done = ["ready", "cancelled"] if way in ("ack", "settle") else ["dead", "ready"]
    assert states(queue, "cd") == done
    assert not queue.model.notes


def test_a_claim_passes_on_what_it_finds_expired(queue: Driver) -> None:
    """Its sweep has expired a hundred before, and came to no more."""
    late = queue.model.now + 1000
    enqueue(queue, *(Spec(f"a{at}", lane="group/h", expires=late) for at in range(100)), Spec("b", expires=late))
    follow(queue, "b", 1)
    wait(queue, 1000)
    assert claim(queue) == []
    assert reason(queue, "b-0") == "after_failed"


def test_what_runs_by_then_is_waited_for_too(queue: Driver) -> None:
    enqueue(queue, Spec("a"), Spec("b", timeout=60_000), Spec("c"))
    leases = claim(queue)
    cancel(queue, "c")
    enqueue(queue, Spec("x", after=("a", "b")), Spec("y", after=("c",)))
    enqueue(queue, Spec("z", after=("a", "a", "c"), after_any=True))
    end(queue, "release", *leases[2:])
    assert states(queue, "xyz") == ["blocked", "dead", "blocked"]
    end(queue, "ack", *leases[:2])
    assert states(queue, "xz") == ["ready", "ready"]
    queue.compare_views(list("xyz"))


def test_a_tasks_times_count_from_its_start(queue: Driver) -> None:
    now = queue.model.now
    long: dict[str, Any] = {"fallback": ("group/g", "fail"), "fallback_after": 2000}
    enqueue(queue, Spec("a", lane="group/h"))
    follow(queue, "a", 1, delay=5000, **long)
    enqueue(queue, Spec("p", after=("a",), run_after=now + 4000), Spec("q", after=("a",), run_after=now + 10_000))
    enqueue(queue, Spec("e", after=("a",), expires=now + 3000, reply=True))
    enqueue(queue, Spec("f", after=("a",), expires=now + 20_000))
    enqueue(queue, Spec("l", after=("a",), **long), Spec("m", after=("l",), unique="u", scope="s", key="k"))
    assert enqueue(queue, Spec("n", unique="u"), Spec("o", scope="s", coalesce="last")) == ["deduplicated"] * 2
    queue.do("pause", "p1")
    wait(queue, 3000)
    assert queue.do("expire", 10) == 1
    queue.check()
    queue.compare_outcomes(["e", "f"])
    queue.do("resume", "p2")
    wait(queue, 3000)
    leases = queue.do("claim", "w", "i1", 0, next(numbers), limit=9, lanes=["group/h"])[4]
    end(queue, "ack", *[lease[:2] for lease in leases])
    assert states(queue, ["a-0", "p", "q"]) == ["delayed", "ready", "delayed"]
    assert states(queue, "flm") == ["ready", "ready", "blocked"]
    for _ in range(8):
        wait(queue, 1000)
        queue.do("expire", 10)
        queue.do("promote", 10)
        queue.check()
    queue.compare_views(["a-0", "p", "q", "f", "l", "m"])
    assert (reason(queue, "l"), reason(queue, "m")) == ("nobody_came", "after_failed")
    assert enqueue(queue, Spec("o", unique="u", scope="s")) == ["created"]


def test_a_task_keeps_its_place_while_it_waits(queue: Driver) -> None:
    enqueue(queue, Spec("a", priority=1), Spec("x", after=("a",)), Spec("b"), Spec("y", after=("a",), priority=2))
    wait(queue, 1000)
    end(queue, "ack", *claim(queue, 1))
    assert [id for id, _ in claim(queue)] == ["y", "x", "b"]


def test_a_parent_gathers_250_children_of_several_calls(queue: Driver) -> None:
    enqueue(queue, Spec("c0", parent="p"), Spec("p", gather=250, after_when="ended", lane="group/g"))
    for start in range(0, 250, 60):
        enqueue(queue, *(Spec(f"p{at}", parent="p") for at in range(start, min(start + 60, 250))))
    end(queue, "ack", *claim(queue, 1))  # it came before
    for done in range(0, 250, 25):
        assert queue.model.tasks["p"].awaits == 250 - done
        leases = claim(queue, 25)
        end(queue, "ack", *leases[10:])
        end(queue, "dead", *leases[:10])
    assert states(queue, "p") == ["ready"]
    enqueue(queue, Spec("late", parent="p"))
    retry(queue, "p0")
    leases = claim(queue)
    assert {id for id, _ in leases} == {"p", "late", "p0"}
    queue.compare_views(["p"])
    end(queue, "ack", *leases)
    assert not queue.model.notes


def test_a_child_counts_with_what_it_is_and_waits_for(queue: Driver) -> None:
    """Also one that waits itself; and with those that the parent comes after."""
    enqueue(queue, Spec("a"), Spec("p", after=("a",), gather=2), Spec("q", gather=2, after_any=True))
    enqueue(queue, Spec("r", gather=1), Spec("p1", parent="p", after=("a",)), Spec("p2", parent="p", gather=1))
    enqueue(queue, Spec("p3", parent="p2", delay=1000), Spec("other", parent="p1", lane="group/h"))
    enqueue(queue, Spec("q1", parent="q"), Spec("q2", parent="q"), Spec("x", after=("q",)))
    enqueue(queue, Spec("y", parent="q", delay=99))
    cancel(queue, "q1")
    assert states(queue, "pqrx") == ["blocked"] * 4
    leases = claim(queue)
    end(queue, "ack", *leases[:1])
    end(queue, "dead", *leases[1:])
    assert states(queue, "pqx") == ["blocked", "dead", "dead"]
    wait(queue, 1000)
    for ids in (["p1", "p3", "y"], ["p2"], ["p"]):
        leases = claim(queue)
        assert sorted(id for id, _ in leases) == sorted(ids)
        end(queue, "ack", *leases)
    assert states(queue, ["p", "r"]) == ["completed", "blocked"]
    cancel(queue, "r")
    assert enqueue(queue, Spec("r1", parent="r")) == ["created"]
    assert queue.model.tasks["r1"].gathered is None


@pytest.mark.parametrize("way", ["purge", "trim", "retry"])
def test_another_life_of_an_id_is_not_meant(queue: Driver, way: str) -> None:
    """What a task's end means is still on its way when there is another task of its id."""
    queue.do("configure", finished_max=0 if way == "trim" else 9)
    enqueue(queue, Spec("a", priority=0))
    ids = follow(queue, "a", 250, lane="group/h", priority=1)
    match way:
        case "purge":
            purge(queue, lane="any")
        case "trim":
            end(queue, "ack", *claim(queue, 1))
        case "retry":
            end(queue, "dead", *claim(queue, 1))
    if way == "retry":
        retry(queue, "a")
    else:
        assert enqueue(queue, Spec("a", priority=0)) == ["created"]
    enqueue(queue, Spec("x", after=("a",), priority=9), Spec("y", after=("a",), priority=0))
    assert {task.id for task in queue.model.of("blocked")} > {"x", "y"}
    wait(queue, 1)
    end(queue, "dead" if way == "trim" else "ack", *claim(queue, 1))
    while sweep(queue):
        pass
    assert set(states(queue, ids)) == {"ready" if way == "trim" else "dead"}
    assert states(queue, "xy") == ["dead" if way == "trim" else "ready"] * 2


def test_another_task_of_an_id_waits_for_something_else(queue: Driver) -> None:
    queue.do("configure", finished_max=0)
    enqueue(queue, Spec("a"), Spec("b"), Spec("x", after=("a",)))
    enqueue(queue, Spec("p", gather=1), Spec("c", parent="p", delay=1000))
    cancel(queue, "x", "p")
    enqueue(queue, Spec("x", after=("b",)), Spec("p", gather=1))
    leases = claim(queue)
    end(queue, "ack", leases[0])
    wait(queue, 1000)
    end(queue, "ack", *claim(queue))
    assert states(queue, "xp") == ["blocked", "blocked"]
    end(queue, "ack", leases[1])
    enqueue(queue, Spec("c", parent="p"))
    end(queue, "dead", *claim(queue, 1), *claim(queue))
    assert reason(queue, "p") == "after_failed"


def test_only_the_first_end_counts(queue: Driver) -> None:
    enqueue(queue, Spec("a"), Spec("p", gather=2), Spec("p1", parent="p"))
    enqueue(queue, Spec("x", after=("a",)), Spec("y", after=("x",)))
    leases = claim(queue)
    end(queue, "dead", *leases)
    assert states(queue, "xyp") == ["dead"] * 3
    queue.compare_views(list("xyp"))
    retry(queue, "a", "x", "p", "p1")
    assert states(queue, "xp") == ["ready", "ready"]
    enqueue(queue, Spec("z", after=("a", "y", "p1"), after_any=True), Spec("p2", parent="p"))
    end(queue, "ack", *claim(queue))
    assert states(queue, "yz") == ["dead", "ready"]
    assert not queue.model.notes


def test_a_lost_worker_leaves_others_waiting_until_its_task_ends(queue: Driver) -> None:
    queue.do("configure", max_crashes=3, backoff=Backoff(1000, 1.0, 1000, 0.0))
    enqueue(queue, Spec("a"), Spec("b"), Spec("p", gather=1), Spec("p1", parent="p"))
    claim(queue)
    enqueue(queue, Spec("x", after=("a",)), Spec("y", after=("b",), after_when="failed"), Spec("z", after=("p",)))
    for state in ("blocked", "blocked", "dead"):
        end(queue, "reap")
        wait(queue, 1000)
        assert set(states(queue, "xypz")) == {state} or state == "dead"
        claim(queue)
    assert [reason(queue, id) for id in "axz"] == ["crash_loop", "after_failed", "after_failed"]
    assert states(queue, "yp") == ["running", "dead"]


def test_a_tree_that_is_cancelled_twice_in_a_millisecond(queue: Driver) -> None:
    enqueue(queue, Spec("p"), Spec("q", parent="p"), Spec("r", parent="q"))
    cancel(queue, "p", tree=True)
    enqueue(queue, Spec("s", parent="q"))
    cancel(queue, "p", tree=True)
    queue.check()


@pytest.mark.parametrize("verb", ["claim", "settle"])
def test_a_claim_says_that_ends_are_left(queue: Driver, verb: str) -> None:
    """As above, and more wait for the task than one call tells."""
    late = queue.model.now + 1000
    enqueue(queue, *(Spec(f"a{at}", lane="group/h", expires=late) for at in range(100)), Spec("b", expires=late))
    follow(queue, "b", 150)
    wait(queue, 1000)
    answer = queue.do(verb, "w", "i1", 1, 1, limit=1, lanes=["any"])
    assert answer[3] == queue.model.now
    queue.check()


def test_a_cancelled_tree_reaches_what_came_of_removed_tasks(queue: Driver) -> None:
    queue.do("configure", finished_max=0)
    families = {"a": "root", "b": "a", "c": "b", "d": "c", "e": "b", "f": "e"}
    enqueue(queue, Spec("root"), *[Spec(id, parent=parent) for id, parent in families.items()])
    for some in (("b",), ("a", "c"), ("e",)):
        leases: dict[str, str] = dict(claim(queue))
        end(queue, "ack", *[(id, leases.pop(id)) for id in some])
        end(queue, "release", *leases.items())
    wait(queue, 100_000)
    assert {id for id, stub in queue.model.stubs.items() if stub.parent} == {"b", "c", "e"}
    enqueue(queue, Spec("e", parent="d"))
    queue.do("configure", finished_max=100)
    cancel(queue, "root", tree=True)
    assert states(queue, ["root", "d", "e", "f"]) == ["cancelled"] * 4
    purge(queue, all=True)
    assert not any(stub.parent for stub in queue.model.stubs.values())


def test_a_link_below_a_cancelled_one_takes_over_its_note(queue: Driver) -> None:
    families = {"a": "root", "x": "a", "b": "a", "d": "b"} | {f"z{at:03}": "root" for at in range(150)}
    enqueue(queue, Spec("root"), *[Spec(id, parent=parent) for id, parent in families.items()])
    leases: dict[str, str] = dict(claim(queue, 1000))
    queue.do("configure", finished_max=0)
    end(queue, "ack", *[(id, leases.pop(id)) for id in "ab"])
    x = leases.pop("x")
    end(queue, "release", *leases.items())
    queue.do("configure", finished_max=1000)
    cancel(queue, "root", tree=True)
    queue.do("configure", finished_max=0)
    end(queue, "ack", ("x", x))
    queue.do("configure", finished_max=1000)
    while sweep(queue):
        pass
    assert states(queue, ["d"]) == ["cancelled"]


def test_links_that_have_each_other_go(queue: Driver) -> None:
    queue.do("configure", finished_max=0)
    enqueue(queue, Spec("a", parent="c"), Spec("b", parent="a"), Spec("c", parent="b"), Spec("x", parent="b"))
    for id in "abc":
        leases: dict[str, str] = dict(claim(queue))
        end(queue, "ack", (id, leases.pop(id)))
        if leases:
            end(queue, "release", *leases.items())
    assert not any(stub.parent for stub in queue.model.stubs.values())
