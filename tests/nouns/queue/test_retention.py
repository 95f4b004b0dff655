"""How long ended tasks are kept, and what a replay hears once they are gone."""

from __future__ import annotations

import pytest

from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import START, Workbench

WEEK, MONTH = 604_800_000, 2_592_000_000


def trim(bench: Workbench, limit: int = 1000) -> int:
    """How many tasks it removed; there is no more if that was not the limit."""
    removed, more = bench.run(bench.calls.trim(limit))
    assert removed < limit or more
    return removed


# the replay window


def removed(bench: Workbench, how: str, id: str) -> None:
    if how == "count":
        bench.real(bench.calls.configure(finished_max=0, dead_max=0))
        bench.real(bench.calls.trim())
    elif how == "age":
        bench.real(bench.calls.configure(finished_keep=0, dead_keep=0))
        bench.real(bench.calls.trim())
    elif how == "abandon":
        bench.real(bench.calls.abandon([id]))
    else:
        bench.real(bench.calls.purge(all=True))
    assert bench.view(id) is None


@pytest.mark.parametrize("by", ["trim", "claim"])
@pytest.mark.parametrize("keep", [None, 60])
def test_old_events_are_deleted(bench: Workbench, by: str, keep: float | None) -> None:
    """The ids of a stream are the server's time; these are between a minute and a week old by the bench's clock."""
    for number in range(250):
        bench.ask("XADD", ":events", f"{START - 3_600_000}-{number}", "event", "task.dead")
    if keep:
        bench.real(bench.calls.configure(events_keep=keep))
    if by == "trim":
        trim(bench)
    else:
        bench.claim(1)
    left = len(bench.ask("XRANGE", ":events", START - 3_600_000, START - 3_600_000))
    assert left < 100 if keep else left == 250
    check_queue(bench)


@pytest.mark.parametrize("by", ["trim", "claim"])
def test_old_events_are_deleted_if_all_groups_have_lapsed(bench: Workbench, by: str) -> None:
    """While a group may hold events, only its reads delete old ones. It notes until when. Claims look once a minute."""
    for number in range(250):
        bench.ask("XADD", ":events", f"{START - 3_600_000}-{number}", "event", "task.dead")
    bench.real(bench.calls.configure(events_keep=60))
    bench.ask("HSET", ":events:config", "held_ms", bench.now + 2000)
    lengths = []
    for wait_ms in (2000, 60_000, 0):
        if by == "trim":
            trim(bench)
        else:
            bench.claim(1)
        lengths.append(len(bench.ask("XRANGE", ":events", START - 3_600_000, START - 3_600_000)))
        bench.pass_time(wait_ms)
    assert lengths[0] == 250
    assert (lengths[1] == 250) is (by == "claim")
    assert lengths[2] < 100
