"""Limits: how many tasks may run at a time, and how many may start in a time; and the lines before them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Lease, Task
from pyadeq.models.limit import Limit
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import BAND, START, Workbench
from tests.nouns.watched import Refused

NOW = START / 1000
LOOK = 5_000  # ms: no line of a limit with room is looked at later than that
LEASE = 15_000  # ms


def holding(bench: Workbench, key: str = "user:u") -> list[str]:
    return [id.decode() for id in bench.ask("ZRANGE", f":holding:{key}", 0, -1)]


def waiting(bench: Workbench, key: str = "user:u") -> list[str]:
    return [id.decode() for id in bench.ask("ZRANGE", f":waiting:{key}", 0, -1)]


def states(bench: Workbench, *ids: str) -> list[str | None]:
    return [bench.state(id) for id in ids]


def take(bench: Workbench, most: int = 10, *lanes: str) -> list[Lease]:
    return bench.claim(most, lanes=lanes or ("any",))


def started(bench: Workbench, most: int = 10, *lanes: str) -> list[str]:
    return [lease.id for lease in take(bench, most, *lanes)]


# The ways in which a lease ends; what they make of the task is no matter here.


def ack(bench: Workbench, lease: Lease) -> None:
    assert bench.run(bench.calls.ack([(lease, None)])) == ["completed"]


def fail(bench: Workbench, lease: Lease, *, retryable: bool = True) -> None:
    bench.run(bench.calls.fail([Failure(lease, retryable=retryable, delay=60)], [0]))


def release(bench: Workbench, lease: Lease) -> None:
    assert bench.run(bench.calls.release([lease])) == ["released"]


def settle(bench: Workbench, lease: Lease, **ends: Any) -> None:
    bench.run(bench.calls.settle("w", "i", 1, 1, limit=0, **ends))


def reap(bench: Workbench, _: Lease) -> None:
    bench.pass_time(LEASE)
    assert bench.run(bench.calls.reap()) == 1


def cancel(bench: Workbench, lease: Lease) -> None:
    bench.run(bench.calls.cancel([lease.id]))
    assert bench.run(bench.calls.release([lease])) == ["cancelled"]


ENDS: dict[str, Callable[[Workbench, Lease], object]] = {
    "ack": ack,
    "retry": fail,
    "dead": lambda bench, lease: fail(bench, lease, retryable=False),
    "release": release,
    "snooze": lambda bench, lease: bench.run(bench.calls.snooze([(lease, 60)])),
    "settle an ack": lambda bench, lease: settle(bench, lease, acks=[(lease, None)]),
    "settle a failure": lambda bench, lease: settle(bench, lease, fails=[Failure(lease, delay=60)], jitters=[0]),
    "reap": reap,
    "cancel": cancel,
    "deregister": lambda bench, lease: bench.run(bench.calls.deregister("w", "i", leases=[lease])),
}


# concurrency


@pytest.mark.parametrize("end", ENDS)
def test_a_task_counts_from_its_claim_to_the_end_of_its_lease(bench: Workbench, end: str) -> None:
    bench.limit(concurrency=2)
    one, two, *others = bench.fill(4, user="u")
    first, second = take(bench)
    assert (holding(bench), waiting(bench)) == ([one, two], others)
    assert states(bench, *others) == ["blocked", "blocked"]
    assert take(bench) == []
    check_queue(bench)
    reaped = [first.id, second.id]
    if end == "reap":  # both are lost then
        bench.run(bench.calls.heartbeat([second], lease=60))
    ENDS[end](bench, first)
    assert holding(bench) == [two]
    assert set(bench.ready()) - set(reaped) == {others[0]}
    assert waiting(bench) == others[1:]
    check_queue(bench)
    bench.worker("other")
    assert len(bench.run(bench.calls.claim("other", "i", 0, 1, limit=10)).leases) == 1
    assert len(holding(bench)) == 2
    check_queue(bench)


def test_a_lease_that_is_renewed_counts_on(bench: Workbench) -> None:
    bench.limit(concurrency=1)
    bench.fill(2, user="u")
    (lease,) = take(bench)
    for _ in range(5):
        bench.pass_time(10_000)
        bench.run(bench.calls.heartbeat([lease]))
        assert take(bench) == []
    ack(bench, lease)
    assert len(take(bench)) == 1


def test_a_lease_that_changes_counts_on(bench: Workbench) -> None:
    """Others wait for it, it is to be cancelled, it makes progress."""
    bench.limit(concurrency=1)
    id, other = bench.fill(2, user="u")
    (lease,) = take(bench)
    bench.run(bench.calls.enqueue([("after", Task(payload=b"x", after=[id]))], "r"))
    bench.run(bench.calls.cancel([id]))
    bench.run(bench.calls.progress([(lease, {"ppm": 1})], "p"))
    assert bench.ask("HGET", ":running", id).startswith(lease.token.encode())
    assert b" ties limits=user:u cancel|" in bench.ask("HGET", ":running", id)
    check_queue(bench)
    assert (holding(bench), take(bench)) == ([id], [])
    bench.run(bench.calls.release([lease]))
    assert started(bench) == [other]
    check_queue(bench)


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_never_more_than_so_many_run_whoever_claims(bench: Workbench, workers: int) -> None:
    bench.limit(concurrency=5)
    ids = bench.fill(40, user="u")
    held: list[Lease] = []
    done: list[str] = []
    for step in range(100):
        name = f"w{step % workers}"
        bench.worker(name)
        held += bench.run(bench.calls.claim(name, "i", 0, step + 1, limit=3)).leases
        assert len(held) <= 5
        assert sorted(holding(bench)) == sorted(lease.id for lease in held)
        for lease in held[: step % 3]:
            ack(bench, lease)
            done.append(lease.id)
            held.remove(lease)
    assert done == ids
    check_queue(bench)


def test_a_limit_that_is_lower_now_lets_none_start_until_fewer_run(bench: Workbench) -> None:
    bench.limit(concurrency=3)
    bench.fill(5, user="u")
    leases = take(bench)
    bench.limit(concurrency=1)
    for lease in leases[:2]:
        ack(bench, lease)
        assert take(bench) == []
    ack(bench, leases[2])
    assert len(take(bench)) == 1
    check_queue(bench)


@pytest.mark.parametrize("rule", [{"concurrency": 10}, {}], ids=["higher", "gone"])
def test_a_line_whose_limit_is_higher_or_gone_opens_within_5_seconds(bench: Workbench, rule: dict[str, Any]) -> None:
    bench.limit(concurrency=1)
    _, *others = bench.fill(4, user="u")
    take(bench)
    bench.limit(**rule)
    bench.pass_time(LOOK)
    assert started(bench) == others
    assert bench.ask("EXISTS", ":waiting:user:u", ":limit:lines") == 0
    check_queue(bench)


def test_a_line_of_thousands_opens_by_hundreds(bench: Workbench) -> None:
    bench.limit(concurrency=1)
    bench.fill(251, user="u")
    for _ in range(3):
        bench.claim(100)
    assert len(waiting(bench)) == 250
    bench.limit()
    bench.pass_time(LOOK)
    bench.worker("sweeper")
    left, times = [], []
    for number in range(1, 5):
        claimed = bench.run(bench.calls.claim("sweeper", "i", 0, number, limit=60, lanes=["group/of-nobody"]))
        left.append(len(waiting(bench)))
        times.append(claimed.next_due)
    assert left == [150, 50, 0, 0]
    assert times[0] == times[1] == bench.now / 1000  # there is more to be done at once
    check_queue(bench)


# which limits hold


@pytest.mark.parametrize(
    ("full", "key"),
    [("all", "all"), ("user:u", "user:u"), ("tag:s", "tag:s"), ("tag:t", "tag:t"), ("key:k", "key:k")],
)
def test_a_task_waits_while_one_of_its_limits_is_full(bench: Workbench, full: str, key: str) -> None:
    own: dict[str, Any] = {"user": "u", "tags": ["s", "t"], "limits": ["k"]}
    for each in ("all", "user:*", "tag:*", "key:*"):
        bench.limit(each, concurrency=9)
    bench.limit(full, concurrency=1)
    _, second = bench.fill(2, **own)
    (lease,) = take(bench)
    view = bench.view(second)
    assert view
    assert (view.state, view.limited_by, view.limits) == ("blocked", key, ("k",))
    assert waiting(bench, key) == [second]
    assert [(event["id"], event["payload"]) for event in bench.events("task.limited")] == [
        (second.encode(), b"limit=" + key.encode())
    ]
    check_queue(bench)
    ack(bench, lease)
    view = bench.view(second)
    assert view
    assert (view.state, view.limited_by) == ("ready", None)
    assert [event["id"] for event in bench.events("task.unblocked")] == [second.encode()]
    assert started(bench) == [second]


def test_a_task_that_is_let_go_by_one_limit_may_wait_for_another(bench: Workbench) -> None:
    bench.limit(concurrency=1)
    bench.limit("tag:t", concurrency=1)
    (first,) = bench.lease(1, user="u")
    (second,) = bench.lease(1, tags=["t"])
    (id,) = bench.fill(1, user="u", tags=["t"])
    assert take(bench) == []
    (own,) = [key for key in ("user:u", "tag:t") if waiting(bench, key)]
    (other,) = {"user:u", "tag:t"} - {own}
    ends = {"user:u": first, "tag:t": second}
    ack(bench, ends[own])
    assert bench.ready() == [id]
    assert take(bench) == []
    assert (waiting(bench, own), waiting(bench, other)) == ([], [id])
    check_queue(bench)
    ack(bench, ends[other])
    assert started(bench) == [id]
    check_queue(bench)


def test_the_limit_of_all_is_no_limit_of_each(bench: Workbench) -> None:
    bench.limit("all", concurrency=3)
    ids = bench.fill(2, user="u") + bench.fill(2)
    assert started(bench) == ids[:3]
    assert holding(bench, "all") == ids[:3]
    assert bench.record(ids[3])["limited_by"] == b"all"


# lines


def test_who_comes_to_a_line_joins_it_at_once(bench: Workbench) -> None:
    bench.limit(concurrency=1)
    (lease,) = bench.lease(1, user="u")
    (before,) = bench.fill(1, user="u")
    assert bench.ready() == [before]  # there is no line yet
    assert take(bench) == []
    items = [("new", Task(payload=b"x", user="u", lane="group/g")), ("other", Task(payload=b"x"))]
    bench.run(bench.calls.enqueue(items, "r"))
    assert waiting(bench) == [before, "new"]
    assert bench.ready() == ["other"]
    assert bench.record("new")["limited_by"] == b"user:u"
    assert bench.events("task.limited")[-1]["id"] == b"new"
    assert bench.tokens("group/g") == 0
    check_queue(bench)
    ack(bench, lease)
    (lease,) = take(bench, 1)
    assert lease.id == before
    ack(bench, lease)
    assert (bench.ready("group/g"), bench.tokens("group/g")) == (["new"], 1)
    check_queue(bench)


def test_who_comes_to_a_line_later_does_not_join_it_before(bench: Workbench) -> None:
    bench.limit(concurrency=1)
    bench.lease(1, user="u")
    bench.fill(1, user="u")
    take(bench)
    (delayed,) = bench.fill(1, user="u", delay=3)
    (follower,) = bench.fill(1, user="u", after=bench.fill(1, lane="group/g"))
    assert states(bench, delayed, follower) == ["delayed", "blocked"]
    assert "limited_by" not in bench.record(follower)
    bench.pass_time(3_000)
    assert take(bench) == []
    assert bench.record(delayed)["limited_by"] == b"user:u"
    check_queue(bench)


@pytest.mark.parametrize("number", [1, 7, 130])
def test_those_in_line_who_have_gone_hold_up_nobody(bench: Workbench, number: int) -> None:
    bench.limit(concurrency=1)
    (lease,) = bench.lease(1, user="u")
    gone = bench.fill(number, user="u")
    (id,) = bench.fill(1, user="u")
    for _ in range(2):
        assert take(bench, 100) == []
    bench.run(bench.calls.cancel(gone))
    ack(bench, lease)
    bench.pass_time(1)
    take(bench, 1)  # of more than 100, the others are looked at
    assert holding(bench) == [id] or started(bench) == [id]
    assert bench.ask("EXISTS", ":waiting:user:u") == 0
    check_queue(bench)


def test_a_task_that_comes_again_under_its_id_is_not_of_the_line(bench: Workbench) -> None:
    bench.limit(concurrency=1)
    (lease,) = bench.lease(1, user="u")
    (id,) = bench.fill(1, user="u")
    assert take(bench) == []
    bench.run(bench.calls.purge())
    bench.pass_time(10_000)
    bench.run(bench.calls.heartbeat([lease], lease=600))
    bench.pass_time(61_000)
    bench.run(bench.calls.enqueue([("first", Task(payload=b"x", lane="group/g"))], "one"))
    bench.run(bench.calls.enqueue([(id, Task(payload=b"x", after=["first"]))], "two"))
    ack(bench, lease)
    assert take(bench) == []
    assert bench.state(id) == "blocked"
    assert "limited_by" not in bench.record(id)
    check_queue(bench)


def test_a_line_opens_in_a_pause_and_nobody_starts(bench: Workbench) -> None:
    bench.limit(concurrency=1)
    (lease,) = bench.lease(1, user="u")
    (id,) = bench.fill(1, user="u")
    take(bench)
    bench.run(bench.calls.pause())
    ack(bench, lease)
    assert take(bench) == []
    bench.run(bench.calls.resume())
    assert started(bench) == [id]


def test_a_slot_of_a_worker_that_died_comes_back_with_its_lease(bench: Workbench) -> None:
    bench.limit(concurrency=1)
    bench.lease(1, user="u")
    (id,) = bench.fill(1, user="u", priority=0)
    assert take(bench) == []
    bench.pass_time(LEASE)
    assert started(bench) == [id]
    check_queue(bench)


# tasks with deadlines


def test_a_task_may_expire_in_line(bench: Workbench) -> None:
    bench.limit(concurrency=1)
    bench.lease(1, user="u")
    (id,) = bench.fill(1, user="u", expires_at=NOW + 2)
    assert take(bench) == []
    check_queue(bench)
    bench.pass_time(2_000)
    assert take(bench) == []
    assert (bench.state(id), bench.record(id)["reason"]) == ("dead", b"expired")
    check_queue(bench)


def test_a_task_that_has_run_does_not_expire_in_line(bench: Workbench) -> None:
    (lease,) = bench.lease(1, user="u", expires_at=NOW + 2)
    bench.limit(concurrency=1)
    bench.lease(1, user="u")
    release(bench, lease)
    assert take(bench) == []
    bench.pass_time(2_000)
    take(bench)
    assert bench.state(lease.id) == "blocked"
    check_queue(bench)


def test_the_wait_for_a_worker_begins_when_it_may_start(bench: Workbench) -> None:
    bench.limit(concurrency=1)
    (lease,) = bench.lease(1, user="u")
    own: dict[str, Any] = {"fallback": ["group/other"], "fallback_after": 2}
    one, two = bench.fill(1, user="u", **own) + bench.fill(1, user="u", priority=6, **own)
    assert take(bench) == []
    (three,) = bench.fill(1, user="u", priority=7, **own)  # joins the line at once
    bench.pass_time(3_000)
    assert take(bench) == []
    assert states(bench, one, two, three) == ["blocked"] * 3
    assert bench.ask("EXISTS", ":deadlines") == 0
    check_queue(bench)
    ack(bench, lease)
    assert int(bench.ask("ZSCORE", ":deadlines", one)) == bench.now + 2_000
    bench.pass_time(2_000)
    bench.run(bench.calls.expire())
    assert bench.ready("group/other") == [one]
    check_queue(bench)


# rates


@pytest.mark.parametrize("claims", [1, 2, 7, 10])
@pytest.mark.parametrize("starts", [1, 3, 7, 9, 60, 999])
def test_without_a_burst_as_many_start_at_once_as_in_a_period(bench: Workbench, starts: int, claims: int) -> None:
    bench.limit(starts=starts, period_ms=1_000, policy="reject")
    ids = bench.fill(starts + 1, user="u")
    taken: list[str] = []
    while len(taken) < starts:
        found = started(bench, min(claims, starts - len(taken)))
        assert found
        taken += found
    assert taken == ids[:-1]
    assert take(bench) == []
    assert bench.state(ids[-1]) == "dead"


def test_ends_are_nothing_to_a_rate(bench: Workbench) -> None:
    bench.limit(starts=1, period_ms=1_000)
    bench.fill(2, user="u")
    (lease,) = take(bench)
    assert take(bench) == []
    ack(bench, lease)
    assert take(bench) == []
    bench.pass_time(1_000)
    assert len(take(bench)) == 1


def test_each_start_counts_also_a_second_one(bench: Workbench) -> None:
    bench.limit(starts=1, period_ms=1_000)
    bench.fill(1, user="u")
    (lease,) = take(bench)
    release(bench, lease)
    assert take(bench) == []
    bench.pass_time(1_000)
    assert len(take(bench)) == 1


def test_a_rate_that_is_slow_lets_the_next_start_at_its_time(bench: Workbench) -> None:
    bench.limit(starts=1, period_ms=3_600_000)
    bench.fill(2, user="u")
    assert len(take(bench)) == 1
    bench.pass_time(3_599_999)
    assert take(bench) == []
    bench.pass_time(1)
    assert len(take(bench)) == 1


# policies


def test_a_limit_may_reject_what_is_too_much(bench: Workbench) -> None:
    bench.limit(concurrency=1, policy="reject")
    first, second = bench.fill(2, user="u", unique=lambda id: id)
    (lease,) = take(bench)
    assert (bench.state(second), bench.record(second)["reason"]) == ("dead", b"limited")
    assert (holding(bench), waiting(bench)) == ([first], [])
    assert [event["payload"] for event in bench.events("task.dead")] == [b"reason=limited"]
    assert bench.ask("HEXISTS", ":once", f"unique:{second}") == 0
    check_queue(bench)
    ack(bench, lease)
    assert [one.status for one in bench.run(bench.calls.retry([second]))] == ["retried"]
    assert started(bench) == [second]
    check_queue(bench)


def test_a_limit_may_cancel_the_oldest(bench: Workbench) -> None:
    bench.limit(concurrency=2, policy="cancel_oldest")
    one, two, three = bench.fill(3, user="u")
    first, second = take(bench)
    assert (bench.state(three), waiting(bench)) == ("blocked", [three])
    assert b" cancel|" in bench.ask("HGET", ":running", one)
    assert b" cancel|" not in bench.ask("HGET", ":running", two)
    assert bench.ask("LLEN", ":control:w") == 1  # its worker is told to ask
    assert bench.run(bench.calls.heartbeat([first, second])).renewals[0].status == "cancelling"
    assert take(bench) == []  # never more than two
    check_queue(bench)
    assert bench.run(bench.calls.release([first])) == ["cancelled"]
    assert started(bench) == [three]
    check_queue(bench)


def test_who_waits_for_what_a_limit_ends_hears_of_it(bench: Workbench) -> None:
    bench.limit("user:*", concurrency=1, policy="reject")
    bench.limit("user:v", concurrency=1, policy="cancel_newest")
    for user in "uv":
        bench.lease(1, user=user)
    for user in "uv":
        (id,) = bench.fill(1, user=user)
        bench.run(bench.calls.enqueue([(f"after-{user}", Task(payload=b"x", after=[id], after_when="failed"))], user))
    assert started(bench) == []
    assert sorted(bench.ready()) == ["after-u", "after-v"]
    check_queue(bench)


# set_limits and limits


def test_a_limit_is_set_and_set_to_something_else_and_taken_away(bench: Workbench) -> None:
    assert bench.limit(concurrency=2) == "set"
    assert bench.limit(concurrency=2, policy="queue") == "unchanged"
    assert bench.limit(concurrency=2, policy="reject") == "set"
    assert bench.limit("tag:t") == "unchanged"
    assert bench.limit() == "removed"
    assert bench.limit() == "unchanged"
    assert bench.ask("EXISTS", ":limits") == 0
    names = [event["event"] for event in bench.events() if event["event"].startswith(b"limit.")]
    assert names == [b"limit.set", b"limit.set", b"limit.removed"]
    assert bench.events("limit.set")[0]["id"] == b"user:u"


def test_items_of_a_call_count_one_after_the_other(bench: Workbench) -> None:
    rules = [("all", {"concurrency": 1}), ("all", {"concurrency": 1}), ("all", {}), ("all", {})]
    assert bench.run(bench.calls.set_limits(rules, "r")) == ["set", "unchanged", "removed", "unchanged"]


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"starts": 1}, "period_ms must be given with starts, and only so, got nothing"),
        ({"period_ms": 1}, "period_ms must be given with starts, and only so, got 1"),
        ({"concurrency": 1, "period_ms": 1}, "period_ms must be given with starts, and only so, got 1"),
        ({"concurrency": 1, "burst": 2}, "burst must be given with starts only, got 2"),
        ({"burst": 2}, "burst must be given with starts only, got 2"),
        ({"starts": 1, "period_ms": 1, "policy": "cancel_oldest"}, "policy must be another one"),
        ({"policy": "cancel_oldest"}, "policy must be another one"),
        ({"policy": "reject"}, "policy must be given with concurrency or starts, got 'reject'"),
    ],
)
def test_a_rule_that_says_too_little_is_refused_by_name(bench: Workbench, rule: dict[str, Any], told: str) -> None:
    before = bench.dump()
    with pytest.raises(Refused, match=rf"^ADEQ_ARG item\[2\]\.{told}"):
        bench.run(bench.calls.set_limits([("all", {"concurrency": 1}), ("user:u", rule)], "r"))
    assert bench.dump() == before


def test_the_limits_that_are_set_are_shown(bench: Workbench) -> None:
    bench.limit("all", concurrency=3, policy="reject")
    bench.limit("user:*", starts=30, period_ms=60_000)
    bench.limit("key:k", concurrency=1, starts=4, period_ms=1_000, burst=2, policy="cancel_oldest")
    found, cursor, uses = bench.run(bench.calls.limits())
    assert (cursor, uses) == ("", [])
    assert [one.model_copy(update={"digest": ""}) for one in sorted(found, key=lambda one: one.key)] == [
        Limit(key="all", concurrency=3, policy="reject"),
        Limit(key="key:k", concurrency=1, rate=4.0, burst=2, policy="cancel_oldest"),
        Limit(key="user:*", rate=0.5, burst=30),
    ]


@pytest.mark.parametrize("number", [1, 130, 700])
def test_pages_hold_every_limit(bench: Workbench, number: int) -> None:
    keys = [f"user:u{at}" for at in range(number)]
    bench.run(bench.calls.set_limits([(key, {"concurrency": 1}) for key in keys], "r"))
    found: set[str] = set()
    cursor, pages = "", 0
    while True:
        page, cursor, _ = bench.run(bench.calls.limits(cursor=cursor))
        found |= {one.key for one in page}
        pages += 1
        assert pages <= number
        if not cursor:
            break
    assert found == set(keys)


@pytest.mark.parametrize("cursor", ["x", "-1", "1 ", "1.0", "9" * 20])
def test_a_cursor_that_no_page_answered_is_refused(bench: Workbench, cursor: str) -> None:
    with pytest.raises(Refused, match=r"^ADEQ_ARG cursor must be "):
        bench.raw_run("queue.limits.v1", cursor, bench.now, 0)


# what there is


def test_a_queue_without_limits_knows_nothing_of_them(bench: Workbench) -> None:
    (lease,) = bench.lease(1, user="u", tags=["t"], limits=["k"])
    assert bench.record(lease.id)["limits"] == b"k"
    assert b"limits=" not in bench.ask("HGET", ":running", lease.id)
    ack(bench, lease)
    found = {name.split(":")[1] for name in bench.dump()}
    assert not found & {"limits", "holding", "waiting", "limit", "rates", "shares", "weights"}


def test_nothing_is_left_of_lines_and_holders(bench: Workbench) -> None:
    bench.limit(concurrency=1, starts=100, period_ms=1_000)
    ids = bench.fill(5, user="u")
    for id in ids:
        (lease,) = take(bench)
        assert lease.id == id
        ack(bench, lease)
    bench.pass_time(LOOK)
    take(bench)
    found = {name.split(":")[1] for name in bench.dump()}
    assert not found & {"holding", "waiting", "limit", "rates"}


def test_places_in_line_are_those_of_the_lanes(bench: Workbench) -> None:
    bench.limit(concurrency=1)
    bench.lease(1, user="u")
    (id,) = bench.fill(1, user="u", priority=3)
    take(bench)
    for name in (":blocked", ":waiting:user:u"):
        assert int(bench.ask("ZSCORE", name, id)) == 3 * BAND + 2
