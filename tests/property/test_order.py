"""Tasks leave the line in the order in which they came, whatever their ids are and however they are claimed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import count, cycle, groupby

import pytest

from tests.property.driver import Driver
from tests.property.records import Answer, Spec

WORKER = ("w", "i1", 0)
LETTERS = "ABCDEFXYZabcdefxyz0123456789._:/@+-"


@pytest.fixture
def queue(queue: Driver) -> Iterator[Driver]:
    yield queue
    queue.check()


@pytest.fixture
def ids() -> list[str]:
    """A thousand ids whose order is none."""
    made: set[str] = set()
    while len(made) < 1000:
        made.add("".join(random.choices(LETTERS, k=random.choice([1, 2, 3, 20, 200]))))
    return random.sample(sorted(made), len(made))


def claim(queue: Driver, n: count[int], limit: int, lanes: Sequence[str] = ("any",)) -> list[Answer]:
    leases: list[Answer] = queue.do("claim", *WORKER, next(n), limit=limit, lanes=lanes)[4]
    return leases


def claimed_ids(queue: Driver, sizes: Sequence[int], lanes: Sequence[str] = ("any",)) -> list[str]:
    """All tasks, claimed so many at a time in turn."""
    n, limits, ids = count(1), cycle(sizes), list[str]()
    while leases := claim(queue, n, next(limits), lanes):
        ids += [id for id, *_ in leases]
    return ids


@pytest.mark.parametrize("sizes", [(1000,), (100,), (7, 1, 64), (1, 999)], ids=str)
def test_the_items_of_a_call_stay_in_order(queue: Driver, ids: list[str], sizes: tuple[int, ...]) -> None:
    assert queue.do("enqueue", "rid", [Spec(id) for id in ids]) == [("created", id) for id in ids]
    assert claimed_ids(queue, sizes) == ids


@pytest.mark.parametrize("sizes", [(1000,), (13, 50)], ids=str)
def test_lower_priorities_are_first_and_each_is_in_order(queue: Driver, ids: list[str], sizes: tuple[int, ...]) -> None:
    specs = [Spec(id, priority=random.randrange(10)) for id in ids]
    queue.do("enqueue", "rid-1", specs[:600])
    queue.do("enqueue", "rid-2", specs[600:])
    assert claimed_ids(queue, sizes) == [spec.id for spec in sorted(specs, key=lambda spec: spec.priority)]


def test_released_tasks_return_to_their_places(queue: Driver, ids: list[str]) -> None:
    queue.do("enqueue", "rid", [Spec(id) for id in ids])
    n = count(1)
    for _ in range(5):
        leases = claim(queue, n, 300)
        assert [id for id, *_ in leases] == ids[:300]
        random.shuffle(leases)
        for start in range(0, 300, 60):
            queue.do("release", [(id, token) for id, token, *_ in leases[start : start + 60]])
    assert [id for id, *_ in claim(queue, n, 1000)] == ids


def test_reaped_tasks_return_to_their_places(queue: Driver, ids: list[str]) -> None:
    queue.do("enqueue", "rid", [Spec(id) for id in ids])
    claim(queue, count(1), 300)
    queue.model.now += 15_000
    assert [queue.do("reap", 120) for _ in range(4)] == [120, 120, 60, 0]
    queue.check()
    assert [task.id for task in queue.model.line("any")] == ids


def test_retried_and_promoted_tasks_go_to_the_end(queue: Driver, ids: list[str]) -> None:
    queue.do("enqueue", "rid-1", [Spec(id, delay=1000) for id in sorted(ids[:100])])
    queue.do("enqueue", "rid-2", [Spec(id) for id in ids[100:]])
    queue.model.now += 1000
    leases = claim(queue, count(1), 10)
    assert [id for id, *_ in leases] == ids[100:110]
    queue.do("fail", [(id, token, True, "error", "", 500_000, {}) for id, token, *_ in leases])
    queue.model.now += 1000
    queue.do("promote", 1000)
    queue.check()
    assert [task.id for task in queue.model.line("any")] == ids[110:] + sorted(ids[:100]) + sorted(ids[100:110])


def test_lanes_are_in_order_inside_a_band(queue: Driver, ids: list[str]) -> None:
    lanes = ["group/g/inst/i", "any", "group/g"]
    specs = [Spec(id, lane=random.choice(lanes), priority=random.choice([0, 5, 9])) for id in ids]
    queue.do("enqueue", "rid", specs)
    by_id = {spec.id: spec for spec in specs}
    found = [by_id[id] for id in claimed_ids(queue, (33, 1), lanes)]
    order = [(spec.priority, lanes.index(spec.lane)) for spec in found]
    assert order == sorted(order)
    for (priority, lane), run in groupby(found, key=lambda spec: (spec.priority, spec.lane)):
        assert list(run) == [spec for spec in specs if (spec.priority, spec.lane) == (priority, lane)]
