from __future__ import annotations

import pytest

from pyadeq._core.queue.items import Held
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import BAND, START, Workbench


def snooze(bench: Workbench, *leases: Held, delay: float = 5) -> list[tuple[str, float | None]]:
    answers = bench.run(bench.calls.snooze([(lease, delay) for lease in leases]))
    return [(one.status, one.due) for one in answers]


def at(ms: int) -> float:
    return (START + ms) / 1000


@pytest.mark.parametrize("delay", [0, 0.001, 5, 86_400, 315_360_000])
def test_a_snoozed_task_is_delayed_until_its_time(bench: Workbench, delay: float) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(100)
    ms = round(delay * 1000)
    assert snooze(bench, lease, delay=delay) == [("snoozed", at(100 + ms))]
    assert bench.ask("ZRANGE", ":delayed", 0, -1, "WITHSCORES") == [lease.id.encode(), b"%d" % (START + 100 + ms)]
    assert bench.state(lease.id) == "delayed"
    bench.pass_time(ms)
    bench.real(bench.calls.promote())
    assert bench.ready() == [lease.id]


def test_when_it_is_due_it_goes_to_the_end_of_the_line(bench: Workbench) -> None:
    leases = bench.lease(2)
    line = bench.fill(2)
    snooze(bench, leases[1])
    bench.pass_time(5_000)
    bench.real(bench.calls.promote())
    assert bench.ready() == [*line, leases[1].id]
    assert int(bench.ask("ZSCORE", ":ready:any", leases[1].id)) == 5 * BAND + 5


def test_a_snooze_costs_no_attempt_but_counts_as_a_delivery(bench: Workbench) -> None:
    (lease,) = bench.lease(1, max_attempts=1)
    for _ in range(5):
        snooze(bench, lease)
        bench.pass_time(5_000)
        (lease,) = bench.claim(1)
    assert (lease.attempt, lease.delivery) == (1, 6)
    assert bench.counters()["snoozed"] == 5
    assert [event["id"] for event in bench.events("task.snoozed")] == [lease.id.encode()] * 5


def test_a_snooze_says_when_in_its_event(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    snooze(bench, lease)
    assert bench.events("task.snoozed")[0]["payload"] == b"due_ms=%d" % (START + 5_000)


@pytest.mark.parametrize(("delay", "tokens"), [(9.999, 1), (10, 0)])
def test_a_due_time_within_the_longest_block_wakes_a_worker(bench: Workbench, delay: float, tokens: int) -> None:
    (lease,) = bench.lease(1)
    snooze(bench, lease, delay=delay)
    assert bench.tokens() == tokens


def test_a_task_that_is_being_cancelled_ends_as_cancelled(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.real(bench.calls.cancel([lease.id]))
    assert snooze(bench, lease) == [("cancelled", None)]
    assert bench.state(lease.id) == "cancelled"
    assert "snoozed" not in bench.counters()
    check_queue(bench)


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_replay_answers_the_same_even_after_the_next_lease(bench: Workbench, cancelled: bool) -> None:
    (lease,) = bench.lease(1)
    if cancelled:
        bench.real(bench.calls.cancel([lease.id]))
    first = snooze(bench, lease)
    bench.pass_time(5_000)
    bench.claim(1)
    before = bench.dump()
    assert snooze(bench, lease) == first
    assert bench.dump() == before


def test_after_the_next_settlement_an_old_snooze_is_lost(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    snooze(bench, lease)
    bench.pass_time(5_000)
    (later,) = bench.claim(1)
    bench.real(bench.calls.release([later]))
    before = bench.dump()
    assert snooze(bench, lease) == [("lease_lost", None)]
    assert bench.dump() == before


def test_another_verb_with_the_same_token_is_no_replay(bench: Workbench) -> None:
    one, two = bench.lease(2)
    snooze(bench, one)
    bench.real(bench.calls.release([two]))
    assert bench.run(bench.calls.release([one])) == ["lease_lost"]
    assert snooze(bench, two) == [("lease_lost", None)]


def test_the_same_lease_twice_in_a_call_is_snoozed_once(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    answers = bench.run(bench.calls.snooze([(lease, 5), (lease, 60), ((lease.id, "other"), 5)]))
    assert [(one.status, one.due) for one in answers] == [
        ("snoozed", at(5_000)),
        ("snoozed", at(5_000)),
        ("lease_lost", None),
    ]
    assert bench.counters()["snoozed"] == 1


def test_each_item_has_a_delay_of_its_own(bench: Workbench) -> None:
    one, two = bench.lease(2)
    answers = bench.run(bench.calls.snooze([(one, 7), (two, 3)]))
    assert [one.due for one in answers] == [at(7_000), at(3_000)]


@pytest.mark.parametrize("reaped", [False, True])
def test_a_lease_past_its_deadline_is_lost(bench: Workbench, reaped: bool) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(15_000)
    if reaped:
        bench.real(bench.calls.reap())
    before = bench.dump()
    assert snooze(bench, lease) == [("lease_lost", None)]
    assert bench.dump() == before


def test_wrong_tokens_unknown_ids_and_settled_tasks_are_lost(bench: Workbench) -> None:
    one, two = bench.lease(2)
    bench.real(bench.calls.ack([(two, None)]))
    before = bench.dump()
    assert snooze(bench, (one.id, "other"), ("unknown", "x"), two) == [("lease_lost", None)] * 3
    assert bench.dump() == before
