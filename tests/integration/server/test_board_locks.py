"""The pages of lock domains: holders, waiters, the graph of waits, and taking a lock away."""

import re
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyadeq.asyncio import Adeq, Edge, Locks
from pyadeq.ext.server.board.layers import layout
from pyadeq.ext.server.board.lock_graph import picture
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
arrows_of = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25)


async def acquire(locks: Locks, rid: str, resource: str, owner: str, *, wait: float = 0, purpose: str = "") -> str:
    now = (await locks.stats()).now
    call = locks.calls.acquire(rid, resource, owner, issued_ms=round(now * 1000), ttl=600, wait=wait, purpose=purpose)
    return str((await locks._runner.send(call)).status)


async def stuck(adeq: Adeq) -> Locks:
    """Two owners, each with what the other one waits for, and nobody who ends that."""
    locks = adeq.locks("repo")
    await locks.configure(detection=False)
    for owner, resource in (("ann", "file:a/b"), ("bob", "db")):
        assert await acquire(locks, f"held-{owner}", resource, owner, purpose="<b>x</b>") == "granted"
    for owner, resource in (("ann", "db"), ("bob", "file:a/b")):
        assert await acquire(locks, f"wants-{owner}", resource, owner, wait=600) == "queued"
    return locks


async def test_a_deadlock_is_drawn_and_told(adeq: Adeq, asking: Ask) -> None:
    await stuck(adeq)
    http = asking("lock.observe", names=("repo",))
    assert 'href="/locks/repo"' in (await http.get("/locks")).text
    text = (await http.get("/locks/repo")).text
    assert "Deadlock 1:" in text
    assert "ann waits for db (exclusive) held by bob" in text
    assert text.count('<path class="stuck"') == 4  # ann, db, bob, file:a/b and back
    assert text.count('<span class="tag bad">deadlock 1</span>') == 2
    assert 'href="/locks/repo/resources/file%3Aa%2Fb"' in text
    assert "<b>x</b>" not in text
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    assert "held-bob" not in (await http.get("/locks/repo?owner=ann&state=held")).text


async def test_a_lock_is_taken_away_by_a_form(adeq: Adeq, asking: Ask) -> None:
    locks = await stuck(adeq)
    http, at = asking("operator"), "/locks/repo/resources/file%3Aa%2Fb"
    form = re.search(r'action="(/do/v1/locks/repo/resources/file%3Aa%2Fb:force_release)"', (await http.get(at)).text)
    assert form
    done = await http.post(form[1], data={"reason": "it hangs", "owner": "ann", "_next": at, "_said": "Now {fence}."})
    assert (done.status_code, done.headers["location"]) == (303, at)
    after = await locks.get("file:a/b")
    assert [one.owner for one in after.holders] == ["bob"]
    assert re.search(r"Now \d+\.", (await http.get(at)).text)
    capacity = {"_method": "PUT", "max:int": "3", "silent:float": "0", "_next": at}
    assert (await http.post(f"/do/v1{at}/capacity", data=capacity)).status_code == 303
    assert "0 of 3" in (await http.get(at)).text


async def test_a_reader_takes_nothing_away_and_sees_no_other_domain(adeq: Adeq, asking: Ask) -> None:
    locks = await stuck(adeq)
    await acquire(adeq.locks("other"), "r", "x", "ann")
    http, at = asking("lock.observe", names=("repo",)), "/locks/repo/resources/file%3Aa%2Fb"
    assert ":force_release" not in (await http.get(at)).text
    refused = await http.post(f"/do/v1{at}:force_release", data={"reason": "mine"})
    assert refused.status_code == 403
    assert (await locks.get("file:a/b")).holders[0].owner == "ann"
    assert "/locks/other" not in (await http.get("/locks")).text
    for path in ("/locks/other", "/locks/other/resources/x", "/locks/nothing"):
        assert (await http.get(path)).status_code == 404, path
    assert (await asking("queue.observe").get("/locks/repo")).status_code == 403
    assert (await http.get("/locks/repo?state=nothing")).status_code == 400


async def test_of_a_lock_with_many_waiters_the_first_are_drawn(adeq: Adeq, asking: Ask) -> None:
    locks = adeq.locks("hot")
    await acquire(locks, "held", "db", "ann")
    for number in range(12):
        await acquire(locks, f"w{number}", "db", f"waiter-{number}", wait=600)
    text = (await asking().get("/locks/hot")).text
    assert "The picture has 8 of 12 waits" in text
    assert text.count('<a href="/locks/hot?owner=waiter-') == 8 + 12  # the graph, and the list


def test_a_deadlock_with_somebody_who_waits_ahead_is_drawn_through_them() -> None:
    edges = [
        Edge(owner="a", rid="1", resource="x", mode="exclusive", blocker="b", blocker_rid="2", held=False),
        Edge(owner="b", rid="2", resource="x", mode="exclusive", blocker="c", blocker_rid="3", held=True),
        Edge(owner="b", rid="4", resource="y", mode="permit", permits=2, blocker="a", blocker_rid="5", held=True),
    ]
    found = picture(edges, lambda node: f"/{node[1]}")
    assert found.cycles in (
        ["a waits for x (exclusive) behind b, b waits for y (2 permits) held by a"],
        ["b waits for y (2 permits) held by a, a waits for x (exclusive) behind b"],
    )
    assert found.svg.count('<path class="stuck ahead"') == 1
    assert found.svg.count('<path class="stuck"') == 2
    assert [wait.deadlock for wait in found.waits] == [1, 1, 0]


@given(arrows_of)
def test_arrows_go_to_the_right_but_those_that_close_a_cycle(arrows: list[tuple[int, int]]) -> None:
    found = layout(range(10), arrows)
    assert len(set(found.places.values())) == 10
    assert set(found.ways) == {arrow for arrow in arrows if arrow[0] != arrow[1]}
    for (start, end), way in found.ways.items():
        assert (way[0], way[-1]) == (found.places[start], found.places[end])
        steps = {b[0] - a[0] for a, b in pairwise(way)}
        assert steps in ({1}, {-1})  # through each layer, never back and forth
        if steps == {-1}:
            assert _reaches(end, start, found.ways)


def _reaches(start: object, end: object, arrows: Iterable[tuple[object, object]]) -> bool:
    seen, todo = {start}, [start]
    while todo:
        node = todo.pop()
        todo += [b for a, b in arrows if a == node and b not in seen]
        seen |= set(todo)
    return end in seen
