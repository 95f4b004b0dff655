from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pyadeq._core.queue.items import Failure, Held
from pyadeq.models import Backoff
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import START, Workbench


def fail(bench: Workbench, *leases: Held, jitter: int = 500_000, **fields: Any) -> list[tuple[str, float | None]]:
    call = bench.calls.fail([Failure(lease, **fields) for lease in leases], [jitter] * len(leases))
    return [(one.status, one.due) for one in bench.run(call)]


def statuses(bench: Workbench, *leases: Held, **fields: Any) -> list[str]:
    return [status for status, _ in fail(bench, *leases, **fields)]


def at(ms: int) -> float:
    return (START + ms) / 1000


def test_a_failed_task_is_retried_after_its_backoff(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    assert fail(bench, lease, error="went wrong", reason="timeout") == [("retried", at(1000))]
    assert bench.ask("ZRANGE", ":delayed", 0, -1, "WITHSCORES") == [lease.id.encode(), b"%d" % (START + 1000)]
    assert bench.record(lease.id) == {
        "rid": b"fill/t000001/1",
        "created_ms": b"%d" % START,
        "ran": b"%d 1 1 0 1 w" % START,
        "attempts": b"1",
        "deliveries": b"1",
        "reason": b"timeout",
        "error": b"went wrong",
        "settled": f"{lease.token} retried {START + 1000}".encode(),
    }
    assert bench.ask("EXISTS", ":running", ":leases") == 0
    assert bench.counters()["retried"] == 1
    (event,) = bench.events("task.retried")
    assert (event["id"], event["payload"]) == (lease.id.encode(), b"attempt=1 due_ms=%d" % (START + 1000))


def test_the_last_attempt_ends_in_the_dead_set(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    attempts = [lease.attempt]
    while statuses(bench, lease, reason="broken") == ["retried"]:
        bench.pass_time(300_000)
        (lease,) = bench.claim(1)
        attempts.append(lease.attempt)
    assert attempts == [1, 2, 3]
    assert bench.ask("ZRANGE", ":dead", 0, -1, "WITHSCORES") == [lease.id.encode(), b"%d" % bench.now]
    assert [event["payload"] for event in bench.events("task.dead")] == [b"reason=broken attempts=3"]
    assert (bench.counters()["retried"], bench.counters()["dead"]) == (2, 1)


@pytest.mark.parametrize(("own", "queues", "allowed"), [(None, 1, 1), (1, 5, 1), (4, 2, 4), (None, 2, 2)])
def test_a_tasks_own_attempts_come_before_the_queues(
    bench: Workbench, own: int | None, queues: int, allowed: int
) -> None:
    bench.real(bench.calls.configure(max_attempts=queues))
    bench.fill(1, max_attempts=own)
    runs = 0
    while leases := bench.claim(1):
        runs += 1
        fail(bench, *leases)
        bench.pass_time(300_000)
    assert runs == allowed


def test_what_is_not_retryable_is_dead_at_once(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    assert fail(bench, lease, retryable=False) == [("dead", None)]
    assert bench.state(lease.id) == "dead"
    assert bench.record(lease.id)["reason"] == b"error"


def test_a_task_that_is_being_cancelled_is_never_retried(bench: Workbench) -> None:
    leases = bench.lease(2)
    bench.real(bench.calls.cancel([lease.id for lease in leases]))
    assert statuses(bench, leases[0]) == ["cancelled"]
    assert statuses(bench, leases[1], retryable=False) == ["cancelled"]
    assert [bench.state(lease.id) for lease in leases] == ["cancelled"] * 2
    assert bench.ask("EXISTS", ":delayed", ":dead") == 0
    assert bench.counters()["cancelled"] == 2
    assert [event["id"] for event in bench.events("task.cancelled")] == [lease.id.encode() for lease in leases]


@pytest.mark.parametrize("answer", ["retried", "dead", "cancelled"])
def test_a_replay_answers_the_same_even_later(bench: Workbench, answer: str) -> None:
    (lease,) = bench.lease(1)
    if answer == "cancelled":
        bench.real(bench.calls.cancel([lease.id]))
    first = fail(bench, lease, retryable=answer != "dead")
    assert first[0][0] == answer
    bench.pass_time(10)
    before = bench.dump()
    assert fail(bench, lease, retryable=answer != "dead") == first
    assert bench.dump() == before


def test_a_replay_after_the_next_lease_answers_the_same_until_that_is_settled(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    first = fail(bench, lease)
    bench.pass_time(1000)
    (again,) = bench.claim(1)
    assert fail(bench, lease) == first
    bench.real(bench.calls.ack([(again, None)]))
    before = bench.dump()
    assert statuses(bench, lease) == ["lease_lost"]
    assert bench.dump() == before


def test_the_same_lease_twice_in_a_call_fails_once(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    first, second, other = fail(bench, lease, lease, (lease.id, "other"))
    assert first == second == ("retried", at(1000))
    assert other == ("lease_lost", None)
    assert bench.counters()["retried"] == 1


def test_wrong_tokens_unknown_ids_and_completed_tasks_are_lost(bench: Workbench) -> None:
    one, two = bench.lease(2)
    bench.real(bench.calls.ack([(two, None)]))
    before = bench.dump()
    assert statuses(bench, (one.id, "other"), ("unknown", "x"), two) == ["lease_lost"] * 3
    assert bench.dump() == before


def test_an_expired_lease_that_nobody_took_back_fails(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(60_000)
    assert statuses(bench, lease) == ["retried"]


def test_a_lease_that_was_taken_back_is_lost(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(15_000)
    bench.real(bench.calls.reap())
    before = bench.dump()
    assert statuses(bench, lease) == ["lease_lost"]
    assert bench.dump() == before


def test_an_error_may_be_8_KiB_of_any_bytes(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    error = b"\x00\xff\r\n" * 2048
    fail(bench, lease, error=error)
    assert bench.record(lease.id)["error"] == error


@pytest.mark.parametrize(("base", "tokens"), [(0, 1), (9.999, 1), (10, 0)])
def test_a_retry_within_the_longest_block_wakes_a_worker_of_its_lane(
    bench: Workbench, base: float, tokens: int
) -> None:
    (lease,) = bench.lease(1, lane="group/g", backoff=Backoff(base=base))
    assert bench.tokens("group/g") == 0
    fail(bench, lease)
    assert (bench.tokens("group/g"), bench.tokens()) == (tokens, 0)


def delay(bench: Workbench, backoff: Backoff, attempt: int, jitter: int = 500_000) -> int:
    """Milliseconds until the retry of this attempt, with a backoff of the task's own."""
    bench.fill(1, backoff=backoff, max_attempts=1000)
    for number in range(attempt):
        (lease,) = bench.claim(1)
        ((_, due),) = fail(bench, lease, jitter=jitter)
        assert due is not None
        waits = round(due * 1000) - bench.now
        assert number < attempt
        bench.pass_time(waits)
    return waits


@pytest.mark.parametrize(
    ("base", "multiplier", "cap", "delays"),
    [
        (1, 2, 300, [1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000, 256000, 300000, 300000]),
        (0.5, 1.5, 3, [500, 750, 1125, 1687, 2531, 3000]),
        (1, 1, 300, [1000, 1000, 1000]),
        (5, 2, 1, [1000, 1000]),
        (0, 2, 300, [0, 0, 0]),
        (1, 2, 0, [0, 0]),
    ],
)
def test_the_delay_grows_by_its_factor_up_to_the_cap(
    bench: Workbench, base: float, multiplier: float, cap: float, delays: list[int]
) -> None:
    backoff = Backoff(base=base, multiplier=multiplier, cap=cap, jitter=0.1)
    bench.fill(1, backoff=backoff, max_attempts=1000)
    found = []
    for _ in delays:
        (lease,) = bench.claim(1)
        ((_, due),) = fail(bench, lease)
        assert due is not None
        found.append(round(due * 1000) - bench.now)
        bench.pass_time(found[-1])
    assert found == delays


@pytest.mark.parametrize(
    ("jitter", "ppm", "waits"),
    [
        (0.1, 0, 900),
        (0.1, 250_000, 950),
        (0.1, 500_000, 1000),
        (0.1, 1_000_000, 1100),
        (0, 0, 1000),
        (0, 1_000_000, 1000),
        (1, 0, 0),
        (1, 1_000_000, 2000),
    ],
)
def test_jitter_stretches_the_delay_both_ways(bench: Workbench, jitter: float, ppm: int, waits: int) -> None:
    assert delay(bench, Backoff(jitter=jitter), 1, ppm) == waits


def test_jitter_never_passes_the_cap(bench: Workbench) -> None:
    assert delay(bench, Backoff(base=10, cap=10, jitter=1), 1, 1_000_000) == 10_000
    assert delay(bench, Backoff(base=10, cap=10, jitter=1), 1, 0) == 0


def test_the_queues_backoff_holds_where_a_task_has_none(bench: Workbench) -> None:
    bench.real(bench.calls.configure(backoff=Backoff(base=3, multiplier=10, cap=20, jitter=0.5)))
    (lease,) = bench.lease(1)
    assert fail(bench, lease, jitter=1_000_000) == [("retried", at(4500))]


@pytest.mark.parametrize("base", [0, 1])
def test_the_delay_is_a_number_after_however_many_attempts(bench: Workbench, base: int) -> None:
    bench.fill(1, backoff=Backoff(base=base, multiplier=100, cap=604_800), max_attempts=1000)
    bench.ask("HSET", ":task:t000001", "attempts", 998, "deliveries", 998)
    (lease,) = bench.claim(1)
    assert lease.attempt == 999
    assert fail(bench, lease) == [("retried", at(604_800_000 * base))]


# what a failure says besides


@pytest.mark.parametrize("delay", [0, 0.001, 7, 86_400])
def test_a_delay_of_its_own_takes_the_place_of_the_backoff(bench: Workbench, delay: float) -> None:
    (lease,) = bench.lease(1)
    assert fail(bench, lease, delay=delay, jitter=0) == [("retried", at(round(delay * 1000)))]
    assert int(bench.ask("ZSCORE", ":delayed", lease.id)) == START + delay * 1000
    assert bench.tokens() == (delay < 10)


def test_the_next_run_has_the_time_that_the_failure_says(bench: Workbench) -> None:
    plain, tied = bench.lease(2, timeout=lambda id: 5 if id.endswith("2") else None)
    assert statuses(bench, plain, tied, delay=0, timeout=20) == ["retried", "retried"]
    for lease in bench.claim(2):
        assert lease.timeout == 20
        bench.pass_time(10_000)
        assert [one.status for one in bench.run(bench.calls.heartbeat([lease])).renewals] == ["renewed"]
        bench.pass_time(10_000)
        assert [one.status for one in bench.run(bench.calls.heartbeat([lease])).renewals] == ["timed_out"]
        bench.pass_time(-20_000)
    check_queue(bench)


@pytest.mark.parametrize("end", ["dead", "cancelled"])
def test_a_task_that_runs_no_more_keeps_its_time(bench: Workbench, end: str) -> None:
    (lease,) = bench.lease(1, timeout=5)
    if end == "cancelled":
        bench.real(bench.calls.cancel([lease.id]))
    assert statuses(bench, lease, retryable=False, timeout=20) == [end]
    assert bench.record(lease.id)["timeout_ms"] == b"5000"


@pytest.mark.parametrize("retryable", [True, False])
def test_people_are_told_once(bench: Workbench, retryable: bool) -> None:
    one, two = bench.lease(2)
    call = bench.calls.fail(
        [Failure(one, reason="out_of_memory", alert=True, retryable=retryable), Failure(two, retryable=retryable)],
        [0, 0],
    )
    bench.run(call)
    bench.run(call)
    assert [(event["id"], event["payload"]) for event in bench.events("task.alert")] == [
        (one.id.encode(), b"reason=out_of_memory")
    ]


@pytest.mark.parametrize("code", [-1000, -9, 0, 137, 1000])
def test_the_exit_code_is_that_of_the_last_failure(bench: Workbench, code: int) -> None:
    (lease,) = bench.lease(1)
    fail(bench, lease, delay=0, exit_code=code)
    view = bench.view(lease.id)
    assert view
    assert view.exit_code == code
    (lease,) = bench.claim(1)
    fail(bench, lease, reason="timeout", delay=0)
    view = bench.view(lease.id)
    assert view
    assert view.exit_code is None
    (lease,) = bench.claim(1)
    fail(bench, lease, exit_code=code)
    assert bench.record(lease.id)["exit_code"] == b"%d" % code


def test_the_trace_of_a_failed_run_goes_to_the_next_one(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    fail(bench, lease, delay=0, run_trace="t" * 128)
    (lease,) = bench.claim(1)
    assert lease.record["run_trace"] == b"t" * 128
    fail(bench, lease, delay=0)
    (lease,) = bench.claim(1)
    assert lease.record["run_trace"] == b"t" * 128, "the last that is known"
    fail(bench, lease, run_trace="u")
    assert bench.record(lease.id)["run_trace"] == b"u"
    check_queue(bench)


def test_settle_says_it_all_too(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    failure = Failure(lease, delay=7, timeout=20, alert=True, exit_code=3, run_trace="00-1")
    (failed,) = bench.run(bench.calls.settle("w", "i", 0, 10**6, fails=[failure], jitters=[0])).fails
    assert failed.due == at(7000)
    record = bench.record(lease.id)
    assert (record["timeout_ms"], record["exit_code"], record["run_trace"]) == (b"20000", b"3", b"00-1")
    assert len(bench.events("task.alert")) == 1
    check_queue(bench)


@pytest.mark.parametrize(("error", "shown"), [
    (b"", b""), (b"no route", b" error=no%20route"), ("ein ü=%\n".encode(), b" error=ein%20%C3%BC%3D%25%0A"),
    (b"x" * 300, b" error=" + b"x" * 200), ("ü".encode() * 100 + b"x", b" error=" + b"%C3%BC" * 99 + b"x"),
])  # fmt: skip
def test_the_event_of_a_death_tells_the_end_of_the_error_as_one_word(
    bench: Workbench, error: bytes, shown: bytes
) -> None:
    (lease,) = bench.lease(1)
    bench.run(bench.calls.fail([Failure(lease, error, retryable=False)], [0]))
    assert [event["payload"] for event in bench.events("task.dead")] == [b"reason=error attempts=1" + shown]


@pytest.mark.parametrize(("most", "shown"), [(0, b""), (2, b" error=rr")])
def test_how_much_of_the_error_is_a_setting(bench: Workbench, most: int, shown: bytes) -> None:
    bench.real(bench.calls.configure(events_error_max=most))
    leases = bench.lease(2)
    bench.run(bench.calls.fail([Failure(lease, "err", retryable=False) for lease in leases], [0, 0]))
    assert [event["payload"] for event in bench.events("task.dead")] == [b"reason=error attempts=1" + shown] * 2


def test_a_sealed_error_is_not_told(bench: Workbench) -> None:
    class Reversed:
        def seal(self, data: bytes, context: bytes) -> bytes:
            return data[::-1]

        open = seal

    (lease,) = bench.lease(1)
    sealed = replace(bench.calls, codec=Reversed())
    bench.run(sealed.fail([Failure(lease, "err", retryable=False)], [0]))
    assert [event["payload"] for event in bench.events("task.dead")] == [b"reason=error attempts=1"]
    assert bench.record(lease.id)["error"] == b"rre"
