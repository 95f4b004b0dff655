"""Schedules: what they are made of, what becomes of each of their times, and who hears of it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from pyadeq._core.kernel.call import Call
from pyadeq.models import Claimed, Task
from pyadeq.models.schedule import At, Every, Schedule, SchedulePut, Timing
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import START, Workbench

FIRST = START + 36_543  # the first full minute
NUMBERS = count(1)


def put(bench: Workbench, name: str = "s", timing: Timing | None = None, **own: Any) -> SchedulePut:
    return bench.run(putting(bench, name, timing, f"anew/{next(NUMBERS)}", **own))


def putting(
    bench: Workbench, name: str = "s", timing: Timing | None = None, rid: str = "r", **own: Any
) -> Call[SchedulePut]:
    policy = {word: own.pop(word) for word in ("overlap", "catch_up", "jitter") if word in own}
    task = Task(**{"payload": b"x"} | own)
    return bench.calls.put_schedule(name, timing or Every(60), task, rid, bench.now / 1000, **policy)


def pause(bench: Workbench, rid: str = "p") -> str:
    return bench.run(bench.calls.pause_schedule("s", rid))


def resume(bench: Workbench, rid: str = "u") -> str:
    return bench.run(bench.calls.resume_schedule(bench.shown(), rid, bench.now / 1000))


def remove(bench: Workbench, rid: str = "d", name: str = "s") -> str:
    return bench.run(bench.calls.remove_schedule(name, rid))


# who hears of it


def claimed(bench: Workbench, **own: Any) -> Claimed:
    bench.worker()
    return bench.run(bench.calls.claim("w", "i", 0, next(NUMBERS), **own))


def settled(bench: Workbench) -> Claimed:
    bench.worker()
    return bench.run(bench.calls.settle("w", "i", 0, next(NUMBERS))).claimed


both = pytest.mark.parametrize("ask", [claimed, settled])


@both
def test_workers_learn_when_a_schedule_is_due_next(bench: Workbench, ask: Callable[[Workbench], Claimed]) -> None:
    put(bench, "later", At((START + 90_000) / 1000))
    put(bench)
    put(bench, "never", At(1))
    assert ask(bench).next_firing == FIRST / 1000
    pause(bench)
    assert ask(bench).next_firing == (START + 90_000) / 1000
    bench.pass_time(120_000)  # one that has come is still to be fired
    assert ask(bench).next_firing == (START + 90_000) / 1000
    remove(bench, "l", "later")
    assert ask(bench).next_firing is None


@both
def test_of_a_paused_queue_they_learn_it_and_of_a_draining_one_not(
    bench: Workbench, ask: Callable[[Workbench], Claimed]
) -> None:
    put(bench)
    for verb, known in [("pause", True), ("drain", False), ("resume", True)]:
        bench.real(getattr(bench.calls, verb)())
        assert (ask(bench).next_firing is not None) == known


@pytest.mark.parametrize(("ms", "tokens"), [(1, 1), (9_999, 1), (10_000, 0), (60_000, 0)])
def test_who_is_blocked_is_woken_for_a_time_that_comes_before_its_block_ends(
    bench: Workbench, ms: int, tokens: int
) -> None:
    timing = At((START + ms) / 1000)
    put(bench, timing=timing)
    assert bench.tokens() == tokens
    assert not tokens or 0 < bench.ask("PTTL", ":wake:any") <= 60_000
    put(bench, "other", timing)
    assert bench.tokens() == tokens  # one at most
    check_queue(bench)
    bench.ask("DEL", ":wake:any")
    put(bench, timing=timing)
    assert bench.tokens() == 0  # for what is known already
    pause(bench)
    assert bench.tokens() == 0
    put(bench, timing=At((START + ms + 1) / 1000))
    assert bench.tokens() == 0  # of a paused one
    assert resume(bench) == "done"
    assert bench.tokens() == (tokens and ms + 1 < 10_000)
    check_queue(bench)


# pages


def walk(bench: Workbench, limit: int, between: Callable[[], object] = lambda: None, **own: Any) -> list[Schedule]:
    found, cursor = [], ""
    for _ in range(1000):
        page, cursor, now = bench.run(bench.calls.schedules(cursor=cursor, limit=limit, **own))
        assert len(page) <= limit
        assert now == bench.now / 1000
        found += page
        if not cursor:
            return found
        between()
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 200])
def test_all_come_by_when_they_are_due_next(bench: Workbench, limit: int) -> None:
    for name, at in [("c", 3), ("b", 2), ("d", 2), ("never", -1), ("paused", 1)]:
        bench.schedule(name, At((START + at) / 1000))
    bench.real(bench.calls.pause_schedule("paused", "p"))
    found = walk(bench, limit)
    assert [one.name for one in found] == ["b", "d", "c", "never", "paused"]
    assert [one.data for one in found] == [None] * 5
    bench.pass_time(2)
    due = walk(bench, limit, due=True)
    assert [(one.name, one.data) for one in due] == [("b", b"x"), ("d", b"x")]
