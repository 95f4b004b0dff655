"""Pages: whatever comes and goes between them, a task that stays is listed once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from pyadeq.keys import queue_base
from tests.property.driver import Driver
from tests.property.link import load_scripts
from tests.property.records import Spec

STEPS = 40


@pytest.fixture
def queue(client: redis.Redis, base_name: str) -> Iterator[Driver]:
    queue = Driver(client, queue_base(base_name), load_scripts(client))
    yield queue
    queue.close()


def some_specs(draw: random.Random, start: int) -> list[Spec]:
    """Many at the same time and place, so that ids decide."""
    ids = draw.sample([f"{letter}{n}" for letter in "aAz-9" for n in range(start, start + 9)], 12)
    return [
        Spec(id, priority=draw.choice([0, 9]), delay=draw.choice([0, 5000]), user=draw.choice(["u", None]),
             tags=draw.choice([("x",), ("x", "y")]), parent=draw.choice(["p", None]))
        for id in ids
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_a_task_that_stays_is_listed_once(queue: Driver, seed: int) -> None:
    pages_under_change(queue, seed)


def pages_under_change(queue: Driver, seed: int) -> None:
    draw = random.Random(seed)
    queue.do("enqueue", "rid", some_specs(draw, 0))
    filters = [{"state": "ready"}, {"state": "delayed"}, {"user": "u"}, {"tag": "x"}, {"parent": "p"}]
    named: dict[str, Any] = draw.choice(filters)
    there = {task.id for task in queue.listed(**named)}
    stayed, listed, cursor = set(there), list[str](), ""
    for step in range(STEPS):
        page = queue.run(queue.calls.list(**named, cursor=cursor, limit=draw.choice([1, 2, 3])))
        listed += [view.id for view in page.tasks]
        if not (cursor := page.cursor):
            break
        gone = draw.sample(sorted(queue.model.tasks), 2) + [listed[-1]] * draw.choice([0, 1])
        queue.do("purge", f"p{step}", False) if step == 30 else queue.do("cancel", gone)
        if step % 3 == 0:
            queue.do("enqueue", f"rid-{step}", some_specs(draw, 10 * (step + 1)))
        stayed &= {task.id for task in queue.listed(**named)}
        queue.do("configure", finished_max=draw.choice([0, 100]))
    assert not cursor, "the pages do not end"
    assert len(listed) == len(set(listed)), "a task was listed twice"
    assert stayed <= set(listed)


@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_every_filter_finds_what_matches(queue: Driver, limit: int) -> None:
    lists_by_every_filter(queue, limit)


def lists_by_every_filter(queue: Driver, limit: int) -> None:
    draw = random.Random(limit)
    queue.do("enqueue", "rid", some_specs(draw, 0))
    queue.do("register", "w", "i")
    queue.do("enqueue", "rid-2", some_specs(draw, 10))
    queue.do("claim", "w", "i", 0, 1, limit=4, lanes=["any"])
    queue.do("cancel", draw.sample(sorted(queue.model.tasks), 8))
    for state in (None, "ready", "delayed", "running", "stalled", "cancelled"):
        for named in ({}, {"user": "u"}, {"tag": "y"}, {"tag": "x", "parent": "p"}, {"user": "u", "lane": "any"}):
            if state or named:
                queue.compare_lists(limit, **({"state": state} if state else {}), **named)
