"""How long ended tasks are kept, and what a replay hears once they are gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyadeq._core.kernel.call import Call
from pyadeq._core.queue.items import Failure
from pyadeq.models import Task
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.test_cancel import put
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.scenario import TIES

WEEK, MONTH = 604_800_000, 2_592_000_000


def trim(bench: Workbench, limit: int = 1000) -> int:
    """How many tasks it removed; there is no more if that was not the limit."""
    removed, more = bench.run(bench.calls.trim(limit))
    assert removed < limit or more
    return removed


def ended(bench: Workbench, name: str) -> list[str]:
    return [id.decode() for id in bench.ask("ZRANGE", f":{name}", 0, -1)]


def finish(bench: Workbench, number: int, **task: Any) -> list[str]:
    leases = bench.lease(number, **task)
    bench.real(bench.calls.ack([(lease, None) for lease in leases]))
    return [lease.id for lease in leases]


# by age


@pytest.mark.parametrize(
    ("state", "ms", "kept"),
    [
        ("completed", WEEK - 1, True),
        ("completed", WEEK, False),
        ("cancelled", WEEK - 1, True),
        ("cancelled", WEEK, False),
        ("dead", MONTH - 1, True),
        ("dead", MONTH, False),
    ],
)
def test_ended_tasks_are_kept_for_a_time(bench: Workbench, state: str, ms: int, kept: bool) -> None:
    id = put(bench, state)
    bench.pass_time(ms)
    assert trim(bench) == (not kept)
    assert bench.state(id) == (state if kept else None)
    assert bench.ask("EXISTS", f":task:{id}", f":payload:{id}") == 2 * kept
    assert bench.counters().get("dropped" if state == "dead" else "trimmed", 0) == (not kept)
    assert len(bench.events("task.removed")) == (not kept and state == "dead")
    check_queue(bench)


@pytest.mark.parametrize("ms", [0, 1, 60_000])
def test_the_times_are_settings(bench: Workbench, ms: int) -> None:
    bench.real(bench.calls.configure(finished_keep=ms / 1000, dead_keep=ms / 1000))
    finish(bench, 1)
    bench.die(1)
    if ms:
        bench.pass_time(ms - 1)
        assert trim(bench) == 0
        bench.pass_time(1)
    assert trim(bench) == 2


def test_the_time_counts_from_the_end_and_not_from_the_enqueue(bench: Workbench) -> None:
    bench.real(bench.calls.configure(finished_keep=60))
    (lease,) = bench.lease(1)
    bench.pass_time(10_000)
    bench.real(bench.calls.ack([(lease, None)]))
    bench.pass_time(59_999)
    assert trim(bench) == 0


@pytest.mark.parametrize("state", ["ready", "delayed", "blocked", "running", "stalled"])
def test_waiting_and_running_tasks_are_never_trimmed(bench: Workbench, state: str) -> None:
    bench.real(bench.calls.configure(finished_keep=0, finished_max=0, dead_keep=0, dead_max=0))
    id = put(bench, state)
    bench.pass_time(10 * MONTH)
    before = bench.dump()
    assert trim(bench) == 0
    assert bench.dump() == before
    assert bench.view(id)


def test_workers_trim_some_at_each_claim_while_there_are_more(bench: Workbench) -> None:
    finish(bench, 350)
    bench.die(350)
    bench.pass_time(MONTH)
    left = [700]
    while left[-1]:
        bench.claim(1)
        left.append(len(ended(bench, "finished")) + len(ended(bench, "dead")))
        assert 0 < left[-2] - left[-1] <= 200


@pytest.mark.parametrize(("ms", "kept"), [(999, 1), (1_000, 0)])
def test_each_slot_looks_once_a_second(bench: Workbench, ms: int, kept: int) -> None:
    bench.real(bench.calls.configure(finished_keep=0.1))
    finish(bench, 1)
    bench.pass_time(ms)
    bench.claim(1)
    assert len(ended(bench, "finished")) == kept


# by number


@pytest.mark.parametrize("most", [0, 1, 3])
def test_at_most_so_many_are_kept_and_the_oldest_go(bench: Workbench, most: int) -> None:
    bench.real(bench.calls.configure(finished_max=most, dead_max=most))
    done, dead = [], []
    for _ in range(3):
        bench.pass_time(1)
        for lease in bench.lease(2):
            bench.run(bench.calls.ack([(lease, b"r")]))
            done.append(lease.id)
        for lease in bench.lease(2):
            bench.run(bench.calls.fail([Failure(lease, retryable=False)], [0]))
            dead.append(lease.id)
        assert ended(bench, "finished") == done[len(done) - min(most, len(done)) :]
        assert ended(bench, "dead") == dead[len(dead) - min(most, len(dead)) :]
    assert (bench.counters().get("trimmed"), bench.counters()["dropped"]) == (6 - most, 6 - most)
    assert [event["id"].decode() for event in bench.events("task.removed")] == dead[: 6 - most]
    check_queue(bench)


@pytest.mark.parametrize("verb", ["release", "snooze", "fail", "reap", "cancel", "settle", "claim", "expire", "crash"])
def test_every_way_to_end_keeps_to_the_number(bench: Workbench, verb: str) -> None:
    bench.real(bench.calls.configure(finished_max=0, dead_max=0, max_crashes=1))
    (lease,) = bench.lease(1, **TIES)
    waiting, expiring = bench.fill(1, **TIES), bench.fill(1, expires_at=bench.now / 1000 + 1)
    if verb in ("release", "snooze", "fail", "reap"):
        bench.real(bench.calls.cancel([lease.id]))
    if verb in ("claim", "expire"):
        bench.pass_time(1_000)
    if verb in ("reap", "crash"):
        bench.pass_time(15_000)
    calls: dict[str, Callable[[], Call[Any]]] = {
        "release": lambda: bench.calls.release([lease]),
        "snooze": lambda: bench.calls.snooze([(lease, 1)]),
        "fail": lambda: bench.calls.fail([Failure(lease)], [0]),
        "reap": bench.calls.reap,
        "crash": bench.calls.reap,
        "cancel": lambda: bench.calls.cancel(waiting),
        "settle": lambda: bench.calls.settle("w", "i", 0, 99, fails=[Failure(lease, retryable=False)], jitters=[0]),
        "claim": lambda: bench.calls.claim("w", "i", 0, 99, limit=10),
        "expire": bench.calls.expire,
    }
    bench.run(calls[verb]())
    assert (ended(bench, "finished"), ended(bench, "dead")) == ([], [])
    gone = {"cancel": waiting, "claim": expiring, "expire": expiring}.get(verb, [lease.id])
    assert [bench.state(id) for id in gone] == [None]
    check_queue(bench)


def test_a_smaller_number_takes_effect_with_the_next_end_a_hundred_at_a_time(bench: Workbench) -> None:
    finish(bench, 300)
    bench.real(bench.calls.configure(finished_max=10))
    assert len(ended(bench, "finished")) == 300
    finish(bench, 1)
    assert len(ended(bench, "finished")) == 200
    assert trim(bench, 50) == 50
    assert trim(bench) == 140
    assert trim(bench) == 0
    assert len(ended(bench, "finished")) == 10


def test_single_ends_are_deleted_in_portions(bench: Workbench) -> None:
    bench.real(bench.calls.configure(finished_max=100))
    finish(bench, 100)
    sizes = []
    for _ in range(8):
        finish(bench, 1)
        sizes.append(len(ended(bench, "finished")))
    assert sizes == [101, 102, 103, 104, 105, 100, 101, 102]
    bench.pass_time(1_000)
    bench.claim(1)
    assert len(ended(bench, "finished")) == 100


def test_a_deleted_task_leaves_only_its_stub(bench: Workbench) -> None:
    bench.real(bench.calls.configure(finished_max=0))
    (lease,) = bench.lease(1)
    bench.real(bench.calls.progress([(lease, {"line": "half"})], "p"))
    bench.real(bench.calls.fail([Failure(lease, delay=0)], [0]))
    (again,) = bench.claim(1)
    names = [f":{name}:{lease.id}" for name in ("task", "payload", "result", "log", "ended_runs")]
    assert bench.ask("EXISTS", *names) == 4
    bench.real(bench.calls.ack([(again, b"r")]))
    assert [bench.ask("EXISTS", name) for name in names] == [1, 0, 0, 0, 0]
    assert bench.record(lease.id).keys() == {"gone", "rid", "settled"}


def test_trim_takes_its_limit_of_each(bench: Workbench) -> None:
    finish(bench, 5)
    bench.die(5)
    bench.pass_time(MONTH)
    assert [trim(bench, 3), trim(bench, 3), trim(bench, 3)] == [6, 4, 0]


def test_trim_forgets_keys_whose_time_is_over(bench: Workbench) -> None:
    bench.fill(3, idempotency_key=lambda id: id)
    bench.pass_time(86_399_999)
    assert bench.run(bench.calls.trim()) == (0, False)
    assert bench.ask("HLEN", ":once") == 3
    bench.pass_time(1)
    assert [bench.run(bench.calls.trim(2)) for _ in range(2)] == [(0, True), (0, False)]
    assert bench.ask("EXISTS", ":once", ":once:due") == 0


# the replay window

ENDS = ["count", "age", "purge"]


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


@pytest.mark.parametrize(
    ("verb", "how"),
    [(verb, how) for verb in ("enqueue", "ack", "fail", "cancel") for how in ENDS]
    + [("fail", "abandon"), ("enqueue", "abandon"), ("release", "purge"), ("snooze", "purge")],
)
def test_a_call_that_is_sent_again_is_answered_as_before(bench: Workbench, verb: str, how: str) -> None:

    def enqueue() -> Call[Any]:
        return bench.calls.enqueue([("a", Task(payload=b"x", unique="u", user="u"))], "r")

    first = bench.run(enqueue())
    (lease,) = bench.claim(1)
    calls: dict[str, Callable[[], Call[Any]]] = {
        "enqueue": enqueue,
        "ack": lambda: bench.calls.ack([(lease, b"result")]),
        "fail": lambda: bench.calls.fail([Failure(lease, retryable=False)], [0]),
        "release": lambda: bench.calls.release([lease]),
        "snooze": lambda: bench.calls.snooze([(lease, 30)]),
        "cancel": lambda: bench.calls.cancel(["a"], "r2"),
    }
    if verb == "enqueue":
        bench.real(calls["fail" if how == "abandon" else "ack"]())
    if verb == "cancel":
        bench.real(bench.calls.release([lease]))
    if verb != "enqueue":
        first = bench.run(calls[verb]())
    bench.pass_time(30_000)
    removed(bench, how, "a")
    assert 0 < bench.ask("PTTL", ":task:a") <= (60_000 if how in ("purge", "abandon") else 30_000)
    bench.ask("PERSIST", ":task:a")
    before = bench.dump()
    assert bench.run(calls[verb]()) == first
    place = before[":config"][1].pop("place")
    after = bench.dump()
    assert int(after[":config"][1].pop("place")) == int(place) + (verb == "enqueue")
    assert after == before


@pytest.mark.parametrize("how", ["count", "age"])
def test_outside_the_window_nothing_is_left(bench: Workbench, how: str) -> None:
    (id,) = finish(bench, 1, **TIES)
    bench.pass_time(60_000)
    removed(bench, how, id)
    assert bench.ask("EXISTS", f":task:{id}") == 0
    check_queue(bench)


def test_the_stub_of_an_ack_in_the_call_that_trims_it(bench: Workbench) -> None:
    bench.real(bench.calls.configure(finished_max=0))
    one, two = bench.lease(2)
    call = bench.calls.ack([(one, b"r"), (two, b"r"), (one, b"r")])
    assert bench.run(call) == ["completed"] * 3
    assert bench.run(call) == ["completed"] * 3
    assert bench.counters()["completed"] == 2
    assert bench.run(bench.calls.ack([((one.id, "other"), b"")])) == ["lease_lost"]


def test_stubs_are_no_tasks(bench: Workbench) -> None:
    (id,) = bench.die(1, user="u")
    removed(bench, "abandon", id)
    before = bench.dump()
    assert bench.run(bench.calls.get([id])) == [None]
    assert bench.run(bench.calls.list(user="u")).tasks == []
    assert bench.run(bench.calls.cancel([id])) == ["not_found"]
    assert bench.run(bench.calls.heartbeat([(id, "i.0.1/1")])).renewals[0].status == "lease_lost"
    assert bench.run(bench.calls.stats()).dead == 0
    assert bench.dump() == before


def test_a_stub_counts_toward_no_bound(bench: Workbench) -> None:
    bench.real(bench.calls.configure(finished_max=2))
    finish(bench, 5)
    assert trim(bench) == 0
    assert len(ended(bench, "finished")) == 2


def test_an_id_over_a_stub_is_a_new_task_and_the_old_settlement_stays_known(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    fail = bench.calls.fail([Failure(lease, retryable=False)], [0])
    first = bench.run(fail)
    removed(bench, "abandon", lease.id)
    items = [(lease.id, Task(payload=b"y")), (lease.id, Task(payload=b"z"))]
    assert [one.status for one in bench.run(bench.calls.enqueue(items, "new"))] == ["created", "exists"]
    assert bench.run(fail) == first
    assert bench.state(lease.id) == "ready"
    (later,) = bench.claim(1)
    assert (later.data, later.attempt, later.delivery, later.fence) == (b"y", 1, 1, 2)
    assert bench.run(bench.calls.ack([(later, None)])) == ["completed"]
    check_queue(bench)


def test_as_many_go_as_one_call_may_end(bench: Workbench) -> None:
    """999 are completed, and 999 others cancelled by a limit when their turn comes; each of them is five keys."""
    bench.real(bench.calls.configure(finished_max=0))
    bench.limit("key:x", concurrency=1, policy="cancel_newest")
    bench.lease(1, limits=["x"])
    leases = bench.lease(999)
    bench.fill(999, limits=["x"])
    acks = [(lease, None) for lease in leases]
    settled = bench.real(bench.calls.settle("w", "i", 0, 10**6, acks=acks, limit=999))
    assert settled.acks == ["completed"] * 999
    stats = bench.real(bench.calls.stats())
    assert (stats.finished, stats.ready, stats.counters["trimmed"]) == (0, 0, 2 * 999)


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
