"""Claims that wait for company, and what is done with one lane alone: its length, and purging it."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq.errors import BadArgument
from pyadeq.models import Claimed
from tests.nouns.queue.checks import check_queue, left_over, let_all_pass
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.scenario import TIES

LANE, OTHER = "group/s", "group/t"


@pytest.fixture
def bench(bench: Workbench) -> Workbench:
    """A queue with a worker."""
    bench.worker()
    return bench


def claim(bench: Workbench, n: int, *lanes: str, window: float = 0.05, **fields: Any) -> Claimed:
    return bench.run(bench.calls.claim("w", "i", 7, n, lanes=lanes or (LANE,), window=window, **fields))


def ids(claimed: Claimed) -> list[str]:
    return [lease.id for lease in claimed.leases]


def due_ms(claimed: Claimed) -> int | None:
    """Milliseconds until it is time to come again."""
    return None if claimed.next_due is None else round((claimed.next_due - claimed.now) * 1000)


def test_the_first_in_line_waits_for_company_and_all_are_leased_together(bench: Workbench) -> None:
    line = bench.fill(1, lane=LANE)
    assert (ids(claimed := claim(bench, 1)), due_ms(claimed)) == ([], 50)
    bench.pass_time(20)
    line += bench.fill(2, lane=LANE)
    assert (ids(claimed := claim(bench, 2)), due_ms(claimed)) == ([], 30)
    bench.pass_time(29)
    assert (ids(claimed := claim(bench, 3)), due_ms(claimed)) == ([], 1)
    assert bench.ready(LANE) == line
    check_queue(bench)
    bench.pass_time(1)
    line += bench.fill(1, lane=LANE)
    assert ids(claim(bench, 4)) == line
    check_queue(bench)


def test_a_claim_in_an_open_window_writes_its_number_and_nothing_else(bench: Workbench) -> None:
    bench.fill(2, lane=LANE)
    claim(bench, 1, OTHER)
    before = bench.dump()
    claim(bench, 2)
    after = bench.dump()
    assert after[":worker:w"][1].pop("slot:7").startswith(b"2 ")
    assert before[":worker:w"][1].pop("slot:7").startswith(b"1 ")
    assert bench.tokens(LANE) >= 1
    assert after == before


def test_a_kind_is_no_matter_where_none_is_leased_alone(bench: Workbench) -> None:
    bench.fill(1, lane=LANE, kind="k")
    assert due_ms(claim(bench, 1)) == 50


def test_the_next_batch_has_a_window_of_its_own(bench: Workbench) -> None:
    bench.fill(1, lane=LANE)
    bench.pass_time(1_000)
    assert len(ids(claim(bench, 1))) == 1
    (late,) = bench.fill(1, lane=LANE)
    assert (ids(claimed := claim(bench, 2)), due_ms(claimed)) == ([], 50)
    bench.pass_time(50)
    assert ids(claim(bench, 3)) == [late]


def test_who_names_no_window_takes_what_is_there(bench: Workbench) -> None:
    line = bench.fill(2, lane=LANE)
    assert ids(claim(bench, 1)) == []
    assert ids(claim(bench, 2, window=0)) == line


def test_a_limit_leaves_the_rest_whose_window_is_over_too(bench: Workbench) -> None:
    line = bench.fill(5, lane=LANE)
    bench.pass_time(50)
    assert ids(claim(bench, 1, limit=3)) == line[:3]
    assert bench.tokens(LANE) == 1
    assert ids(claim(bench, 2, limit=3)) == line[3:]
    check_queue(bench)


def test_a_line_that_fills_a_batch_waits_for_nobody(bench: Workbench) -> None:
    line = bench.fill(2, lane=LANE)
    assert ids(claim(bench, 1, limit=3)) == []
    line += bench.fill(3, lane=LANE)
    assert ids(claim(bench, 2, limit=3)) == line[:3]
    assert ids(claim(bench, 3, limit=3)) == []
    assert ids(claim(bench, 4, limit=2)) == line[3:]


def test_an_empty_lane_opens_no_window(bench: Workbench) -> None:
    bench.fill(1)
    assert (ids(claimed := claim(bench, 1)), due_ms(claimed)) == ([], None)


@pytest.mark.parametrize(("delay", "due"), [(0.02, 20), (5, 50)])
def test_what_is_due_before_the_windows_end_is_told(bench: Workbench, delay: float, due: int) -> None:
    bench.fill(1, lane=LANE, delay=delay)
    bench.fill(1, lane=LANE)
    assert due_ms(claim(bench, 1)) == due


def test_a_delayed_task_waits_from_when_it_was_due(bench: Workbench) -> None:
    line = bench.fill(1, lane=LANE, delay=5)
    bench.pass_time(5_010)
    assert (ids(claimed := claim(bench, 1)), due_ms(claimed)) == ([], 50)
    bench.pass_time(50)
    assert ids(claim(bench, 2)) == line


def test_a_released_task_waits_from_its_release_in_its_old_place(bench: Workbench) -> None:
    (lease,) = bench.lease(1, lane=LANE)
    bench.pass_time(1_000)
    line = [lease.id, *bench.fill(1, lane=LANE)]
    bench.real(bench.calls.release([lease]))
    assert (ids(claimed := claim(bench, 1)), due_ms(claimed)) == ([], 50)
    bench.pass_time(50)
    assert ids(claim(bench, 2)) == line


# several lanes


def test_the_window_of_one_lane_is_over_and_all_are_leased(bench: Workbench) -> None:
    line = bench.fill(1, lane=LANE)
    bench.pass_time(40)
    line += bench.fill(1, lane=OTHER)
    assert (ids(claimed := claim(bench, 1, OTHER, LANE, "any")), due_ms(claimed)) == ([], 10)
    bench.pass_time(10)
    assert (ids(claimed := claim(bench, 2, OTHER)), due_ms(claimed)) == ([], 40)
    assert ids(claim(bench, 3, LANE, OTHER)) == line
    check_queue(bench)


def test_a_lane_that_was_not_named_opens_no_window(bench: Workbench) -> None:
    bench.fill(1, lane=OTHER)
    bench.pass_time(50)
    bench.fill(1, lane=LANE)
    assert ids(claim(bench, 1)) == []


# priority


def test_a_batch_has_the_lanes_order(bench: Workbench) -> None:
    late, first = bench.fill(1, lane=LANE, priority=9), bench.fill(2, lane=LANE)
    bench.pass_time(50)
    urgent = bench.fill(1, lane=LANE, priority=0)
    assert (ids(claimed := claim(bench, 1)), due_ms(claimed)) == ([], 50)
    bench.pass_time(50)
    assert ids(claim(bench, 2)) == [*urgent, *first, *late]


# kinds that are leased alone


ALONE = ("note", "n/2")


def mix(bench: Workbench, *kinds: str | None, **own: Any) -> list[str]:
    """Tasks in line, one of each of these kinds."""
    return [id for kind in kinds for id in bench.fill(1, lane=LANE, kind=kind, **own)]


def batches(bench: Workbench, count: int, **fields: Any) -> list[list[str]]:
    """What so many claims lease, each after its window."""
    taken = []
    for n in range(1, count + 1):
        bench.pass_time(50)
        taken.append(ids(claim(bench, n, alone_kinds=ALONE, **fields)))
        check_queue(bench)
    return taken


@pytest.mark.parametrize(
    ("kinds", "sizes"),
    [
        ("note", [1]),
        ("- -", [2]),
        ("note note n/2", [1, 1, 1]),
        ("note - -", [1, 2]),
        ("- other note", [2, 1]),
        ("- note - other n/2 -", [1, 1, 2, 1, 1]),
        ("notes not note", [2, 1]),
    ],
)
def test_a_task_of_some_kinds_is_leased_alone_and_in_its_place(bench: Workbench, kinds: str, sizes: list[int]) -> None:
    line = mix(bench, *(None if kind == "-" else kind for kind in kinds.split()))
    taken = batches(bench, len(sizes) + 1)
    assert [len(batch) for batch in taken] == [*sizes, 0]
    assert [id for batch in taken for id in batch] == line
    assert bench.tokens(LANE) == 0


def test_what_is_left_behind_a_task_that_is_leased_alone_wakes_somebody(bench: Workbench) -> None:
    mix(bench, "note", None)
    bench.ask("DEL", f":wake:{LANE}")
    assert len(ids(claim(bench, 1, alone_kinds=ALONE))) == 1
    assert bench.tokens(LANE) == 1


def test_without_the_kinds_all_are_leased_together(bench: Workbench) -> None:
    line = mix(bench, "note", None, "n/2")
    assert ids(claim(bench, 1, window=0)) == line


def test_a_task_that_is_leased_alone_waits_for_no_window(bench: Workbench) -> None:
    first, second = mix(bench, "note", None)
    assert ids(claim(bench, 1, alone_kinds=ALONE)) == [first]
    assert (ids(claimed := claim(bench, 2, alone_kinds=ALONE)), due_ms(claimed)) == ([], 50)
    bench.pass_time(50)
    assert ids(claim(bench, 3, alone_kinds=ALONE)) == [second]


def test_a_claim_without_a_window_leases_alone_too(bench: Workbench) -> None:
    line = mix(bench, None, "note", None)
    assert [ids(claim(bench, n, alone_kinds=ALONE, window=0)) for n in (1, 2, 3)] == [[id] for id in line]


def test_priority_goes_before_place_where_some_are_leased_alone(bench: Workbench) -> None:
    late, alone = mix(bench, None, "note")
    (urgent,) = mix(bench, None, priority=0)
    assert batches(bench, 3) == [[urgent, late], [alone], []]
    (last,) = mix(bench, None)
    (first,) = mix(bench, "note", priority=0)
    assert [ids(claim(bench, n, alone_kinds=ALONE)) for n in (4, 5)] == [[first], []]
    bench.pass_time(50)
    assert ids(claim(bench, 6, alone_kinds=ALONE)) == [last]


def test_a_batch_of_several_lanes_holds_it_alone(bench: Workbench) -> None:
    (before,) = bench.fill(1, lane=OTHER)
    (alone,) = mix(bench, "note")
    (behind,) = bench.fill(1)
    bench.pass_time(50)
    lanes = (OTHER, LANE, "any")
    assert [ids(claim(bench, n, *lanes, alone_kinds=ALONE)) for n in (1, 2, 3)] == [[before], [alone], [behind]]


def test_one_that_has_expired_or_is_gone_ends_no_batch(bench: Workbench) -> None:
    mix(bench, "note", expires_at=(START + 40) / 1000)
    (gone,) = mix(bench, "note")
    bench.ask("DEL", f":task:{gone}")
    line = mix(bench, None, None)
    bench.pass_time(50)
    assert ids(claim(bench, 1, alone_kinds=ALONE)) == line


def test_one_that_a_limit_holds_back_lets_the_others_start(bench: Workbench) -> None:
    bench.limit("key:k", concurrency=1)
    first, second = mix(bench, "note", "note", limits=["k"])
    line = mix(bench, None, None)
    assert batches(bench, 2) == [[first], line]
    assert bench.state(second) == "blocked"


def test_a_delayed_or_released_one_is_leased_alone(bench: Workbench) -> None:
    (delayed,) = mix(bench, "note", delay=5)
    (other,) = mix(bench, None)
    bench.pass_time(5_000)
    assert ids(claim(bench, 1, alone_kinds=ALONE)) == [other]
    claimed = claim(bench, 2, alone_kinds=ALONE)
    assert ids(claimed) == [delayed]
    (later,) = mix(bench, None)
    bench.real(bench.calls.release(claimed.leases))
    assert ids(claim(bench, 3, alone_kinds=ALONE)) == [delayed]
    bench.pass_time(50)
    assert ids(claim(bench, 4, alone_kinds=ALONE)) == [later]


def test_a_batch_before_one_that_is_leased_alone_is_the_same_when_it_is_sent_again(bench: Workbench) -> None:
    first, second, third = mix(bench, None, "note", None)
    bench.pass_time(50)
    for n, id in enumerate([first, second, third], 1):
        claimed = claim(bench, n, alone_kinds=ALONE)
        before = bench.dump()
        assert claim(bench, n, alone_kinds=ALONE).leases == claimed.leases
        assert (ids(claimed), bench.dump()) == ([id], before)


def test_at_most_16_kinds_are_leased_alone(bench: Workbench) -> None:
    kinds = [f"k{at}" for at in range(17)]
    bench.run(bench.calls.claim("w", "i", 0, 1, alone_kinds=kinds[:16]))
    with pytest.raises(BadArgument, match="alone_kinds"):
        bench.run(bench.calls.claim("w", "i", 0, 2, alone_kinds=kinds))


# replay


def test_a_batch_sent_again_is_the_same_and_no_more(bench: Workbench) -> None:
    line = bench.fill(2, lane=LANE)
    bench.pass_time(50)
    first = claim(bench, 1)
    later = bench.fill(1, lane=LANE)
    bench.pass_time(50)
    assert claim(bench, 1).leases == first.leases
    assert ids(first) == line
    assert bench.ready(LANE) == later


def test_a_claim_that_came_too_early_takes_nothing_when_it_is_sent_again(bench: Workbench) -> None:
    line = bench.fill(1, lane=LANE)
    assert ids(claim(bench, 1)) == []
    bench.pass_time(50)
    assert ids(claim(bench, 1)) == []
    assert ids(claim(bench, 2)) == line


def test_a_replay_in_an_open_window_says_when_to_come_again(bench: Workbench) -> None:
    bench.fill(1, lane=LANE)
    claim(bench, 1)
    bench.pass_time(20)
    assert due_ms(claim(bench, 1)) == 30


def test_other_workers_learn_of_a_window_that_somebody_waits_for(bench: Workbench) -> None:
    """One that took the token may be gone when the window is over."""
    bench.fill(1, lane=LANE)
    bench.ask("LPOP", f":wake:{LANE}")
    claim(bench, 1, LANE, OTHER)
    assert (bench.tokens(LANE), bench.tokens(OTHER)) == (1, 0)
    claim(bench, 2, LANE, OTHER)
    assert bench.tokens(LANE) == 1
    bench.pass_time(50)
    claim(bench, 3, LANE, OTHER)
    assert bench.tokens(LANE) == 0


# paused


def test_a_paused_queue_gives_no_batch(bench: Workbench) -> None:
    line = bench.fill(1, lane=LANE)
    bench.real(bench.calls.pause())
    bench.ask("DEL", f":wake:{LANE}")
    for n, passed in ((1, 0), (2, 50)):
        bench.pass_time(passed)
        assert ids(claim(bench, n)) == []
    assert bench.tokens(LANE) == 0
    bench.real(bench.calls.resume())
    assert ids(claim(bench, 3)) == line


# length


def test_the_length_of_lanes(bench: Workbench) -> None:
    bench.fill(3)
    bench.fill(2, lane=LANE)
    bench.fill(1, lane=LANE, delay=60)
    bench.claim(1)
    assert bench.run(bench.calls.length([LANE, "any", OTHER, LANE])) == [2, 2, 0, 2]


# purge


def test_a_lane_is_purged_alone(bench: Workbench) -> None:
    (held,) = bench.lease(1, lane=LANE)
    bench.fill(3, lane=LANE)
    (delayed,) = bench.fill(1, lane=LANE, delay=60)
    rest = bench.fill(2)
    before = bench.dump()
    assert bench.run(bench.calls.purge(lane=LANE)) == (3, False)
    assert [bench.state(id) for id in (held.id, delayed, *rest)] == ["running", "delayed", "ready", "ready"]
    assert bench.ask("EXISTS", f":ready:{LANE}") == 0
    assert bench.ask("SMEMBERS", ":lanes") == [b"any"]
    assert bench.dump()[":ready:any"] == before[":ready:any"]
    assert bench.counters()["purged"] == 3
    check_queue(bench)


@pytest.mark.parametrize("all", [False, True])
def test_nothing_else_is_purged_with_a_lane(bench: Workbench, all: bool) -> None:
    bench.die(1, lane=LANE)
    bench.fill(1)
    before = bench.dump()
    assert bench.run(bench.calls.purge(all=all, lane=LANE)) == (0, False)
    assert bench.dump() == before


def test_a_lane_is_purged_page_by_page(bench: Workbench) -> None:
    line = bench.fill(5, lane=LANE)
    bench.fill(5)
    counts = [bench.run(bench.calls.purge(lane=LANE, limit=2))]
    assert (bench.ready(LANE), bench.tokens(LANE)) == (line[2:], 1)
    while counts[-1][1]:
        counts.append(bench.run(bench.calls.purge(lane=LANE, limit=2)))
    assert counts == [(2, True), (2, True), (1, False)]
    check_queue(bench)


def test_a_lane_purged_again_loses_nothing_more(bench: Workbench) -> None:
    bench.fill(2, lane=LANE)
    call = bench.calls.purge("r", lane=LANE)
    assert bench.run(call) == (2, False)
    later = bench.fill(1, lane=LANE)
    assert bench.run(call) == (2, False)
    assert bench.ready(LANE) == later


def test_a_purged_lane_leaves_no_keys(bench: Workbench) -> None:
    bench.fill(3, lane=LANE, **TIES)
    assert bench.run(bench.calls.purge(lane=LANE)) == (3, False)
    assert bench.ask("EXISTS", ":once", ":once:due", ":deadlines", f":wake:{LANE}") == 0
    let_all_pass(bench)
    assert left_over(bench) == {}


def test_a_claim_after_the_time_of_a_window_sees_the_server(bench: Workbench) -> None:
    bench.fill(1, lane=LANE)
    bench.pass_time(60_000)
    claimed = claim(bench, 1, window=60)
    assert claimed.now == (START + 60_000) / 1000
    assert len(claimed.leases) == 1
