"""Corners of limits: how each way to end frees a slot, what becomes of lines, and who goes by which policy."""

from __future__ import annotations

from itertools import count, pairwise
from typing import Any

import pytest

from pyadeq import models
from pyadeq._core.queue.items import Failure
from tests.property.driver import Driver
from tests.property.model_limits import Job, Picture, Rule, by_score
from tests.property.test_queue_limits import rule_pairs, task

LOOK = 5000  # ms; after so many a line is looked at again, if its limit has room
MEND = 60_000  # ms; after so many, if it has not
LEASE = 15_000
WAYS = ("ack", "fail", "dead", "settle", "release", "snooze", "deregister", "reap", "cancel")
numbers = count(1)


def limit(queue: Driver, key: str, rule: Rule | None) -> str:
    (status,) = queue.run(queue.calls.set_limits([(key, rule_pairs(rule))], f"rid-{next(numbers)}"))
    return str(status)


def enqueue(queue: Driver, *jobs: Job | str, **traits: Any) -> None:
    """Ids stand for tasks of nobody."""
    made = [Job(job) if isinstance(job, str) else job for job in jobs]
    tasks = [(job.id, task(job).model_copy(update=traits)) for job in made]
    for start in range(0, len(tasks), 1000):
        queue.run(queue.calls.enqueue(tasks[start : start + 1000], f"rid-{next(numbers)}"))


def ask(queue: Driver, most: int = 20, *lanes: str, **more: Any) -> models.Claimed:
    call = queue.calls.claim("w", "i1", 0, next(numbers), limit=most, lanes=lanes or ("any",), **more)
    return queue.run(call)  # type: ignore[no-any-return]


def claim(queue: Driver, most: int = 20, *lanes: str) -> dict[str, models.Lease]:
    return {lease.id: lease for lease in ask(queue, most, *lanes).leases}


def ack(queue: Driver, *leases: models.Lease) -> None:
    assert set(queue.run(queue.calls.ack([(lease, None) for lease in leases]))) == {"completed"}


def cancel(queue: Driver, *ids: str) -> None:
    queue.run(queue.calls.cancel(ids, f"rid-{next(numbers)}"))


def wait(queue: Driver, ms: int = LOOK) -> None:
    queue.model.now += ms


def states(queue: Driver, *ids: str) -> list[str]:
    return [view.state if view else "gone" for view in queue.run(queue.calls.get(ids))]


def looked_up(queue: Driver, id: str) -> models.TaskView:
    (view,) = queue.run(queue.calls.get([id]))
    assert view
    return view  # type: ignore[no-any-return]


def line(queue: Driver, key: str) -> list[str]:
    return by_score(Picture(queue.read()).lines.get(key, {}))


def held(queue: Driver, key: str) -> set[str]:
    return set(Picture(queue.read()).zset(f"holding:{key}"))


def of(user: str, *ids: str, **more: Any) -> list[Job]:
    return [Job(id, user=user, **more) for id in ids]


# Who counts


def test_no_more_run_than_may(queue: Driver) -> None:
    limit(queue, "all", Rule(2))
    enqueue(queue, *"abcde")
    leases = claim(queue)
    assert [*leases] == ["a", "b"]
    assert line(queue, "all") == ["c", "d", "e"]
    assert held(queue, "all") == {"a", "b"}
    enqueue(queue, "f")  # behind those who wait, at once
    assert line(queue, "all") == ["c", "d", "e", "f"]
    ack(queue, leases["a"])
    assert states(queue, "c", "d") == ["ready", "blocked"]
    assert looked_up(queue, "c").limited_by is None
    assert looked_up(queue, "d").limited_by == "all"
    assert [*claim(queue)] == ["c"]
    assert [*claim(queue)] == []


@pytest.mark.parametrize("way", WAYS)
def test_every_end_frees_a_slot(queue: Driver, way: str) -> None:
    limit(queue, "user:*", Rule(1))
    enqueue(queue, *of("a", "r", "s", "t", "u"))
    lease = claim(queue)["r"]
    assert states(queue, "s", "t") == ["blocked", "blocked"]
    match way:
        case "ack":
            ack(queue, lease)
        case "fail" | "dead":
            queue.run(queue.calls.fail([Failure(lease, "x", retryable=way == "fail")], [0]))
        case "settle":
            call = queue.calls.settle("w", "i1", 0, next(numbers), acks=[(lease, None)], limit=0)
            queue.run(call)
        case "release":
            queue.run(queue.calls.release([lease]))
        case "snooze":
            queue.run(queue.calls.snooze([(lease, 5)]))
        case "deregister":
            queue.run(queue.calls.deregister("w", "i1", leases=[lease]))
        case "reap":
            wait(queue, LEASE)
            queue.run(queue.calls.reap())
        case "cancel":
            cancel(queue, "r")
            assert states(queue, "s") == ["blocked"]  # it runs until its worker says so
            queue.run(queue.calls.fail([Failure(lease, "x")], [0]))
    assert held(queue, "user:a") == set()
    assert states(queue, "s", "t") == ["ready", "blocked"]
    queue.run(queue.calls.register("w", "i2"))
    again = queue.run(queue.calls.claim("w", "i2", 0, 1))
    assert [lease.id for lease in again.leases] == ["r" if way in ("release", "deregister", "reap") else "s"]
    assert "ready" not in states(queue, "s", "t")


def test_two_that_end_in_one_call_free_two(queue: Driver) -> None:
    limit(queue, "all", Rule(2))
    enqueue(queue, *"abcdef")
    leases = claim(queue)
    settled = queue.run(
        queue.calls.settle(
            "w", "i1", 0, next(numbers), acks=[(leases["a"], None)],
            fails=[Failure(leases["b"], "x", retryable=False)], jitters=[0], limit=5,
        )
    )  # fmt: skip
    assert [lease.id for lease in settled.claimed.leases] == ["c", "d"]


def test_a_rule_of_its_own_goes_before_that_of_all(queue: Driver) -> None:
    limit(queue, "user:*", Rule(1))
    limit(queue, "user:b", Rule(2))
    enqueue(queue, *of("a", "a1", "a2"), *of("b", "b1", "b2", "b3"), "n1", "n2")
    assert [*claim(queue)] == ["a1", "b1", "b2", "n1", "n2"]
    assert (line(queue, "user:a"), line(queue, "user:b")) == (["a2"], ["b3"])
    assert limit(queue, "user:b", None) == "removed"
    assert limit(queue, "user:b", None) == "unchanged"
    wait(queue)
    assert [*claim(queue)] == []  # that of all holds for b now, whose two count
    assert line(queue, "user:b") == ["b3"]


def test_a_task_counts_for_each_of_its_keys_once(queue: Driver) -> None:
    for key in ("all", "user:*", "tag:*", "key:*"):
        limit(queue, key, Rule(5, 1, 1000, 5))
    job = Job("t", user="u", tags=("x", "y", "x"), words=("k", "x", "k"))
    enqueue(queue, job)
    lease = claim(queue)["t"]
    keys = ["all", "user:u", "tag:x", "tag:y", "key:k", "key:x"]
    assert [held(queue, key) for key in keys] == [{"t"}] * 6
    assert Picture(queue.read()).zset("rates") == dict.fromkeys(keys, queue.model.now + 1000)
    assert {name for name in queue.read() if name.startswith("holding:")} == {f"holding:{key}" for key in keys}
    ack(queue, lease)
    assert not [name for name in queue.read() if name.startswith("holding:")]


def test_what_runs_does_not_count_for_a_new_limit(queue: Driver) -> None:
    enqueue(queue, *"abcde")
    before = claim(queue, 2)
    limit(queue, "all", Rule(1))
    after = claim(queue)
    assert [*after] == ["c"]
    ack(queue, *before.values())
    assert [*claim(queue)] == []
    limit(queue, "all", Rule(2))  # it still counts for another one
    wait(queue)
    assert [*claim(queue)] == ["d"]
    limit(queue, "all", Rule(1))
    ack(queue, after["c"])
    assert [*claim(queue)] == []


def test_a_claim_that_is_sent_again_counts_once(queue: Driver) -> None:
    limit(queue, "all", Rule(2, 2, 1000, 2))
    enqueue(queue, *"abc")
    call = queue.calls.claim("w", "i1", 0, next(numbers))
    first = queue.run(call)
    rates = Picture(queue.read()).zset("rates")
    assert queue.run(call).leases == first.leases
    assert [lease.id for lease in first.leases] == ["a", "b"]
    assert Picture(queue.read()).zset("rates") == rates
    assert held(queue, "all") == {"a", "b"}


def test_a_limit_is_set_by_one_call_once(queue: Driver) -> None:
    call = queue.calls.set_limits([("all", rule_pairs(Rule(1)))], "rid")
    assert queue.run(call) == ["set"]
    assert limit(queue, "all", None) == "removed"
    assert queue.run(call) == ["set"]
    assert "limits" not in queue.read()
    assert limit(queue, "all", Rule(1)) == "set"
    assert limit(queue, "all", Rule(1)) == "unchanged"


def test_how_a_key_stands(queue: Driver) -> None:
    limit(queue, "user:*", Rule(2, 4, 2000, 2))
    enqueue(queue, *of("a", "a1", "a2", "a3"))
    for running, after in ((1, 0.0), (2, 0.5)):
        claim(queue, 1)
        _, _, (use, other) = queue.run(queue.calls.limits(["user:a", "tag:t"]))
        assert use.limit
        assert (use.limit.concurrency, use.limit.rate, use.limit.burst) == (2, 2, 2)
        assert (use.running, use.next_start) == (running, queue.model.now / 1000 + after)
        assert (other.running, other.waiting, other.limit) == (0, 0, None)
    claim(queue)
    assert queue.run(queue.calls.limits(["user:a"]))[2][0].waiting == 1
    rules, cursor, _ = queue.run(queue.calls.limits())
    assert ([rule.key for rule in rules], cursor) == (["user:*"], "")


def test_a_lost_holder_is_forgotten(queue: Driver) -> None:
    limit(queue, "all", Rule(1))
    enqueue(queue, *"abc")
    claim(queue, 1)
    claim(queue)
    queue.client.hdel(f"{queue.base}:running", "a")
    queue.client.zrem(f"{queue.base}:leases", "a")
    wait(queue, MEND - 1)
    queue.run(queue.calls.register("w", "i1"))
    assert [*claim(queue)] == []
    wait(queue, 1000)
    claim(queue, 20, "group/g")  # it mends the line
    assert [*claim(queue)] == ["b"]


def lose(queue: Driver, *ids: str) -> None:
    """As an evicting server loses leases."""
    queue.client.hdel(f"{queue.base}:running", *ids)
    queue.client.zrem(f"{queue.base}:leases", *ids)


def test_a_lost_holder_behind_a_hundred_is_forgotten(queue: Driver) -> None:
    limit(queue, "all", Rule(150))
    enqueue(queue, *(f"t{at:03}" for at in range(151)))
    assert len(queue.run(queue.calls.claim("w", "i1", 0, next(numbers), limit=150, lease=3600)).leases) == 150
    assert claim(queue) == {}
    lose(queue, "t149")
    found = []
    for _ in range(3):
        wait(queue, MEND + 1000)
        queue.run(queue.calls.register("w", "i1"))
        claim(queue, 20, "group/g")  # it mends the line
        found += [lease.id for lease in ask(queue, lease=3600).leases]
    assert found == ["t150"]


@pytest.mark.parametrize("policy", ["reject", "cancel_newest"])
def test_a_lost_holder_ends_nobody(queue: Driver, policy: str) -> None:
    limit(queue, "all", Rule(2, policy=policy))
    enqueue(queue, "a")
    assert [*claim(queue)] == ["a"]
    lose(queue, "a")
    enqueue(queue, *"bcde")
    assert [*claim(queue)] == ["b", "c"]
    assert states(queue, "d", "e") == ["dead" if policy == "reject" else "cancelled"] * 2
    assert held(queue, "all") == {"b", "c"}
    enqueue(queue, "f")
    assert claim(queue) == {}
    assert held(queue, "all") == {"b", "c"}


def test_lines_of_a_changed_kind_have_their_turn(queue: Driver) -> None:
    """Though a hundred others are due at each claim."""
    limit(queue, "user:*", Rule(1))
    enqueue(queue, *of("last", "a", "b"))
    assert [*claim(queue)] == ["a"]
    limit(queue, "user:*", Rule(2))
    queue.client.zadd(f"{queue.base}:limit:lines", {f"key:{at}": queue.model.now for at in range(100)})
    assert [*claim(queue)] == ["b"]


def test_an_empty_line_of_a_full_limit_is_forgotten(queue: Driver) -> None:
    limit(queue, "all", Rule(1))
    enqueue(queue, "a")
    claim(queue)
    queue.client.zadd(f"{queue.base}:limit:lines", {"all": queue.model.now})
    claim(queue)
    assert "limit:lines" not in queue.read()


# Rates


def test_starts_are_even_after_a_burst(queue: Driver) -> None:
    limit(queue, "tag:x", Rule(None, 10, 1000, 3))
    enqueue(queue, *(Job(f"t{at:02}", tags=("x",)) for at in range(10)), "free")
    times: list[int] = []
    began = queue.model.now
    for _ in range(80):
        found = claim(queue)
        times += [queue.model.now - began for id in found if id != "free"]
        assert ("free" in found) == (queue.model.now == began)
        wait(queue, 10)
    assert times == [0, 0, 0, 100, 200, 300, 400, 500, 600, 700]


def test_a_rate_that_was_not_used_lets_no_more_than_a_burst_start(queue: Driver) -> None:
    limit(queue, "all", Rule(None, 10, 1000, 3))
    enqueue(queue, *(f"t{at:02}" for at in range(12)))
    assert len(claim(queue)) == 3
    wait(queue, 250)
    assert len(claim(queue)) == 2
    wait(queue, 10_000)
    assert len(claim(queue)) == 3
    wait(queue, 99)
    assert len(claim(queue)) == 0
    wait(queue, 1)
    assert len(claim(queue)) == 1


def test_a_rate_is_kept_over_a_long_time(queue: Driver) -> None:
    """Three a second are no whole milliseconds."""
    limit(queue, "all", Rule(None, 3, 1000, 1))
    enqueue(queue, *(f"t{at:03}" for at in range(100)))
    times: list[int] = []
    while len(times) < 61:
        claimed = ask(queue)
        times += [queue.model.now] * len(claimed.leases)
        assert claimed.next_due is not None
        queue.model.now = round(claimed.next_due * 1000)
    assert 19_990 <= times[60] - times[0] <= 20_020
    assert all(later - time in (333, 334) for time, later in pairwise(times))


def test_who_asks_is_told_when_the_next_may_start(queue: Driver) -> None:
    limit(queue, "all", Rule(None, 2, 1000, 1))
    enqueue(queue, *"abc")
    assert ask(queue).next_due == queue.model.now / 1000 + 0.5
    wait(queue, 500)
    assert [lease.id for lease in ask(queue).leases] == ["b"]
    enqueue(queue, "d")
    assert line(queue, "all") == ["c", "d"]


def test_a_rate_that_is_changed_holds_at_once(queue: Driver) -> None:
    limit(queue, "all", Rule(None, 10, 1_000_000, 10))
    enqueue(queue, *(f"t{at:02}" for at in range(14)))
    assert len(claim(queue)) == 10
    limit(queue, "all", Rule(None, 10, 1000, 1))
    wait(queue)
    assert len(claim(queue)) == 1
    wait(queue, 99)
    assert len(claim(queue)) == 0
    wait(queue, 1)
    assert len(claim(queue)) == 1


def test_a_rate_that_is_over_is_forgotten(queue: Driver) -> None:
    limit(queue, "key:*", Rule(None, 1, 3000, 1))
    enqueue(queue, Job("a", words=("k",)), Job("b", words=("m",)))
    claim(queue, 1)
    wait(queue, 2000)
    claim(queue, 1)
    wait(queue, 999)
    claim(queue)
    assert set(Picture(queue.read()).zset("rates")) == {"key:k", "key:m"}
    wait(queue, 1001)
    claim(queue)
    assert set(Picture(queue.read()).zset("rates")) == {"key:m"}


def test_a_rate_beside_a_concurrency(queue: Driver) -> None:
    limit(queue, "all", Rule(2, 10, 1000, 5))
    enqueue(queue, *(f"t{at}" for at in range(9)))
    leases = claim(queue)
    assert len(leases) == 2
    ack(queue, *leases.values())
    leases = claim(queue)
    assert len(leases) == 2
    ack(queue, *leases.values())
    leases = claim(queue)
    assert len(leases) == 1  # the fifth at once
    wait(queue, 100)
    assert len(claim(queue)) == 1
    wait(queue, 100)
    assert len(claim(queue)) == 0


# Lines


def test_lines_go_by_place(queue: Driver) -> None:
    limit(queue, "all", Rule(1))
    enqueue(queue, "r")
    lease = claim(queue)["r"]
    enqueue(queue, "a", Job("b", priority=9), Job("c", priority=0), "d", Job("e", lane="group/g", priority=0))
    claim(queue, 20, "any", "group/g")
    order = ["c", "e", "a", "d", "b"]
    assert line(queue, "all") == order
    for id in order:
        ack(queue, lease)
        lease = claim(queue, 20, "any", "group/g")[id]


def test_whom_a_new_rule_lets_go(queue: Driver) -> None:
    limit(queue, "all", Rule(1))
    enqueue(queue, *(f"t{at:03}" for at in range(320)))
    for _ in range(4):
        assert len(claim(queue, 20)) <= 1
    assert len(line(queue, "all")) == 319
    limit(queue, "all", None)
    wait(queue, LOOK)
    found = []
    for number in (100, 100, 100, 19):
        found += [*claim(queue, 1000)]
        assert len(found) % 100 == number % 100
    assert found == [f"t{at:03}" for at in range(1, 320)]
    assert not [name for name in queue.read() if name.startswith(("waiting:", "limit:lines", "blocked"))]


@pytest.mark.parametrize("key", ["user:a", "user:*"])
@pytest.mark.parametrize("rule", [Rule(3), None])
def test_a_changed_limit_holds_for_the_next_claim(queue: Driver, key: str, rule: Rule | None) -> None:
    """Also for those in line, and twice in a millisecond."""
    limit(queue, key, Rule(1))
    enqueue(queue, *of("a", *"abcdef"))
    claim(queue)
    limit(queue, key, Rule(2))
    limit(queue, key, rule)
    assert [*claim(queue)] == (["b", "c"] if rule else [*"bcdef"])
    assert line(queue, "user:a") == ([*"def"] if rule else [])
    assert limit(queue, key, rule) == "unchanged"


def test_many_lines_are_looked_at_by_many_claims(queue: Driver) -> None:
    """Where a limit of all users changes. Each says that there is more."""
    limit(queue, "user:*", Rule(1))
    enqueue(queue, *(Job(f"{user:03}.{at}", user=f"u{user:03}") for at in range(3) for user in range(250)))
    assert len(claim(queue, 750)) == 250
    assert len(Picture(queue.read()).lines) == 250
    limit(queue, "user:*", Rule(2))
    given = []
    for more in (True, True, True, True, False):
        claimed = ask(queue, 1000)
        given += [lease.id for lease in claimed.leases]
        assert len(claimed.leases) == 50
        assert (claimed.next_due == queue.model.now / 1000) == more
    assert given == [f"{user:03}.1" for user in range(250)]
    assert [*claim(queue)] == []


def test_a_line_that_has_room_is_looked_at_again_after_5_s(queue: Driver) -> None:
    """Those who were let go are not taken, so others may go."""
    limit(queue, "all", Rule(1))
    enqueue(queue, "r", Job("g", lane="group/g"), *"ab")
    lease = claim(queue)["r"]
    claim(queue, 20, "group/g")
    ack(queue, lease)
    claimed = ask(queue)
    assert (claimed.leases, claimed.next_due) == ([], queue.model.now / 1000 + 5)
    wait(queue, LOOK - 1)
    assert [*claim(queue)] == []
    wait(queue, 1)
    assert [*claim(queue)] == ["a"]


def test_lines_of_slow_rates_are_looked_at_together(queue: Driver) -> None:
    """However many there are, and whenever each began, who waits for tasks asks each 5 s."""
    limit(queue, "user:*", Rule(None, 1, 3_600_000, 1))
    for at in range(40):
        wait(queue, 173)
        enqueue(queue, *of(f"u{at}", f"a{at}", f"b{at}"))
        (lease,) = ask(queue, lease=86_400).leases
        assert lease.id == f"a{at}"
    asked, until = 0, queue.model.now + 20_000
    while queue.model.now < until:
        claimed = ask(queue)
        assert claimed.leases == []
        due = round((claimed.next_due or 0) * 1000)
        assert queue.model.now < due <= queue.model.now + LOOK
        queue.model.now, asked = due, asked + 1
    assert asked <= 6
    wait(queue, 3_600_000 - 40_000)
    starts: list[str] = []
    while len(starts) < 40:
        claimed = ask(queue)
        starts += [lease.id for lease in claimed.leases]
        queue.model.now = max(queue.model.now, round((claimed.next_due or 0) * 1000))
    assert starts == [f"b{at}" for at in range(40)]


@pytest.mark.parametrize("lined", [True, False], ids=["held back", "in line before"])
def test_a_claim_under_a_rate_leaves_a_token_for_another_worker(queue: Driver, lined: bool) -> None:
    """Its own worker may be busy when the next one may start."""
    limit(queue, "key:k", Rule(None, 1, 200, 1))
    enqueue(queue, *(Job(id, words=("k",)) for id in "abc"))
    assert [*claim(queue, 20, "any", "group/g")] == ["a"]
    assert {"wake:any", "wake:group/g"} & queue.read().keys() == {"wake:any"}  # where such tasks are
    if not lined:
        queue.client.delete(f"{queue.base}:wake:any")
        wait(queue, 200)
        assert [*claim(queue, 20, "any", "group/g")] == ["b"]
        assert "wake:group/g" not in queue.read()
        assert 0 < queue.read()["wake:any"].ttl <= 60_000
    enqueue(queue, "free")
    queue.client.delete(f"{queue.base}:wake:any")
    assert [*claim(queue)] == ["free"]
    assert "wake:any" not in queue.read()  # it says nothing new


@pytest.mark.parametrize("policy", ["reject", "cancel_newest", "expired"])
def test_who_does_not_use_its_turn_leaves_it_to_the_next(queue: Driver, policy: str) -> None:
    limit(queue, "key:a", Rule(1))
    if policy != "expired":
        limit(queue, "key:b", Rule(1, policy=policy))
    enqueue(queue, Job("a0", words=("a",)), Job("b0", words=("b",)))
    leases = claim(queue)
    expires = queue.model.now + 1000 if policy == "expired" else None
    enqueue(queue, Job("t", words=("a", "b"), expires=expires), Job("a1", words=("a",)))
    assert claim(queue) == {}
    ack(queue, leases["a0"])
    assert states(queue, "t", "a1") == ["ready", "blocked"]
    if policy == "expired":
        queue.client.zrem(f"{queue.base}:deadlines", "t")  # or the sweep of the claim finds it before
        wait(queue, 1000)
    assert claim(queue) == {}
    assert [*claim(queue)] == ["a1"]


def test_nobody_looks_at_the_lines_of_full_limits(queue: Driver) -> None:
    """Who waits for tasks asks each 5 s, however many lines there are, and looks at few of them."""
    limit(queue, "user:*", Rule(1))
    enqueue(queue, *(Job(f"{at}.{user}", user=f"u{user}") for at in range(2) for user in range(120)))
    call = queue.calls.claim("w", "i1", 0, next(numbers), limit=1000, lease=3600)
    assert len(queue.run(call).leases) == 120
    before = Picture(queue.read()).due_lines
    for _ in range(11):
        claimed = ask(queue)
        assert claimed.next_due == queue.model.now / 1000 + 5
        wait(queue, LOOK)
    assert Picture(queue.read()).due_lines == before
    for _ in range(3):
        wait(queue, LOOK)
        assert ask(queue).leases == []
    assert sum(Picture(queue.read()).due_lines[key] != at for key, at in before.items()) == 50
    assert ask(queue).next_due == queue.model.now / 1000 + 5


def test_one_call_lets_so_many_go(queue: Driver) -> None:
    """Of 400 lines that one call opens, it sees to some, and the next claims to the others; all have their turn."""
    limit(queue, "key:*", Rule(1))
    enqueue(queue, *(Job(f"a{at:02}", words=tuple(f"k{at:02}.{n}" for n in range(8))) for at in range(50)))
    leases = claim(queue, 1000)
    words = [f"k{at:02}.{n}" for at in range(50) for n in range(8)]
    enqueue(queue, *(Job(f"b{word}.{n}", words=(word,)) for n in range(3) for word in words))
    while Picture(queue.read()).ready:
        assert [*claim(queue, 1000)] == []
    ack(queue, *leases.values())  # 100, and 2 for each that ends: half of them to look, half of them to let go
    assert len(Picture(queue.read()).all_ready()) == 100
    given = []
    for number in (150, 50, 50, 50, 50, 50, 0):
        claimed = ask(queue, 1000)
        given += [lease.id for lease in claimed.leases]
        assert len(claimed.leases) == number
        assert (claimed.next_due == queue.model.now / 1000) == (len(given) < 400)
    assert given == [f"b{word}.0" for word in words]


def test_a_short_line_is_not_held_up_by_long_ones(queue: Driver) -> None:
    limit(queue, "user:*", Rule(1))
    enqueue(queue, *(Job(f"{user}1", user=user) for user in "abcde"))
    leases = claim(queue)
    enqueue(
        queue, *(Job(f"{user}{at:03}", user=user) for user in "abcde" for at in range(2, 205 if user != "e" else 3))
    )
    while Picture(queue.read()).ready:
        assert [*claim(queue, 1000)] == []
    limit(queue, "user:*", None)
    ack(queue, *leases.values())  # 100 of the first, and no more than 110 in all
    assert states(queue, "a101", "b009", "b101", "e002") == ["ready", "ready", "blocked", "blocked"]
    for _ in range(3):  # each line has its turn, 100 of it at most
        wait(queue, 1)
        claim(queue, 60, "group/nobody")
    assert states(queue, "c101", "d101", "d102", "e002") == ["ready", "ready", "blocked", "ready"]
    for _ in range(10):
        claim(queue, 60)
    assert Picture(queue.read()).lines == {}


def test_a_claim_looks_beyond_a_hundred_that_may_not_start(queue: Driver) -> None:
    limit(queue, "user:*", Rule(1))
    enqueue(queue, *of("a", *(f"a{at:03}" for at in range(150))), *of("b", "b"))
    assert [*claim(queue, 1)] == ["a000"]
    assert [*claim(queue, 1)] == []
    assert len(line(queue, "user:a")) == 101
    assert [*claim(queue, 1)] == ["b"]
    assert len(line(queue, "user:a")) == 149


def waiting(queue: Driver, key: str = "all") -> int:
    _, _, (use,) = queue.run(queue.calls.limits([key]))
    return int(use.waiting)


@pytest.mark.parametrize("way", ["cancel", "tree", "purge", "expire"])
def test_who_ends_in_line_leaves_it(queue: Driver, way: str) -> None:
    limit(queue, "all", Rule(1))
    enqueue(queue, "r", "t")
    leases = claim(queue)
    enqueue(queue, "c", parent="t", **({"expires_at": queue.model.now / 1000 + 1} if way == "expire" else {}))
    assert (line(queue, "all"), waiting(queue)) == (["t", "c"], 2)
    match way:
        case "cancel":
            cancel(queue, "c")
        case "tree":
            queue.run(queue.calls.cancel(["t"], f"rid-{next(numbers)}", tree=True))
        case "purge":
            queue.run(queue.calls.purge(f"rid-{next(numbers)}"))
        case "expire":
            wait(queue, 1000)
            queue.run(queue.calls.expire())
    found = queue.read()
    assert waiting(queue) == len(line(queue, "all")) == (1 if way in ("cancel", "expire") else 0)
    assert ("limit:lines" in found) == ("waiting:all" in found) == (waiting(queue) == 1)
    assert way == "purge" or looked_up(queue, "c").limited_by is None
    if way == "expire":
        queue.run(queue.calls.retry(["c"], f"rid-{next(numbers)}"))
        assert looked_up(queue, "c").limited_by is None
    ack(queue, leases["r"])
    assert [*claim(queue)] == {"cancel": ["t"], "expire": ["t"]}.get(way, [])


def test_what_older_versions_left_in_lines_holds_nobody_up(queue: Driver) -> None:
    """Tasks that ended in a line stayed in it."""
    limit(queue, "all", Rule(1))
    enqueue(queue, *"abcdef")
    lease = claim(queue)["a"]
    left: Any = queue.client.zrange(f"{queue.base}:waiting:all", 0, 2, withscores=True)
    cancel(queue, "b", "c", "d")
    queue.client.zadd(f"{queue.base}:waiting:all", dict(left))
    queue.client.hset(f"{queue.base}:task:b", "limited_by", "all")
    assert waiting(queue) == 5
    ack(queue, lease)
    call = queue.calls.claim("w", "i1", 0, next(numbers), lease=600)
    assert [lease.id for lease in queue.run(call).leases] == ["e"]
    assert waiting(queue) == 1
    wait(queue)
    assert [*claim(queue)] == []
    there: Any = queue.client.zrange(f"{queue.base}:waiting:all", 0, 0, withscores=True)
    queue.client.zadd(f"{queue.base}:waiting:key:k", dict(there))
    queue.client.zadd(f"{queue.base}:limit:lines", {"key:k": -(2**47)})
    assert [*claim(queue)] == []
    assert states(queue, "f") == ["blocked"]  # it is in the line of another limit
    assert Picture(queue.read()).due_lines.keys() == {"all"}
    queue.client.zadd(f"{queue.base}:waiting:all", {"b": 1})
    wait(queue, MEND)
    queue.run(queue.calls.register("w", "i1"))
    claim(queue, 20, "group/g")
    assert "b" not in Picture(queue.read()).zset("waiting:all")


def test_a_dead_task_of_an_older_version_is_in_no_line(queue: Driver) -> None:
    enqueue(queue, "a")
    queue.run(queue.calls.fail([Failure(claim(queue)["a"], "x", retryable=False)], [0]))
    queue.client.hset(f"{queue.base}:task:a", "limited_by", "all")
    queue.run(queue.calls.retry(["a"], f"rid-{next(numbers)}"))
    assert "limited_by" not in Picture(queue.read()).record("a")


def test_large_tasks_that_may_not_start_hold_up_no_other(queue: Driver) -> None:
    """The 4 MiB of a reply are of what is leased."""
    limit(queue, "user:a", Rule(1))
    enqueue(queue, *of("a", *(f"a{at}" for at in range(6))), payload=b"x" * 900_000)
    enqueue(queue, *"bcdefg", payload=b"x" * 900_000)
    assert [*claim(queue, 1)] == ["a0"]
    assert [*claim(queue, 10)] == ["b", "c", "d", "e"]
    assert len(line(queue, "user:a")) == 5
    assert [*claim(queue, 10)] == ["f", "g"]


def test_who_was_cancelled_in_line_holds_nobody_up(queue: Driver) -> None:
    limit(queue, "all", Rule(1))
    enqueue(queue, *"abcdef")
    lease = claim(queue)["a"]
    cancel(queue, "b", "c", "d")
    ack(queue, lease)
    leases = claim(queue)
    assert [*leases] == ["e"]
    cancel(queue, "f")
    ack(queue, leases["e"])
    assert not [name for name in queue.read() if name.startswith(("waiting:", "limit:lines"))]
    enqueue(queue, "g")
    assert [*claim(queue)] == ["g"]


def test_a_lane_without_workers_holds_up_no_other(queue: Driver) -> None:
    limit(queue, "all", Rule(1))
    enqueue(queue, "r")
    lease = claim(queue)["r"]
    enqueue(queue, *(Job(f"g{at}", lane="group/g") for at in range(30)), "t")
    claim(queue, 20, "any", "group/g")
    ack(queue, lease)
    assert [*claim(queue)] == []
    wait(queue)
    assert [*claim(queue)] == ["t"]


@pytest.mark.parametrize("most", [1, 10, 60])
def test_a_long_line_of_a_lane_without_workers_goes_at_one_pace(queue: Driver, most: int) -> None:
    """100 in 5 s may go, though a call of few lets few go at once."""
    limit(queue, "user:u", Rule(5))
    enqueue(queue, *(Job(f"r{at}", user="u") for at in range(5)))
    leases = claim(queue, 5)
    enqueue(queue, *(Job(f"g{at:03}", user="u", lane="group/g") for at in range(500)), Job("t", user="u"))
    while len(Picture(queue.read()).lines.get("user:u", ())) < 501:
        claim(queue, 1000, "any", "group/g")
    for lease in leases.values():
        ack(queue, lease)
    since, asked = queue.model.now, 0
    while not (claimed := ask(queue, most)).leases:
        asked += 1
        assert claimed.next_due
        wait(queue, max(0, round(claimed.next_due * 1000) - queue.model.now))
    assert [lease.id for lease in claimed.leases] == ["t"]
    assert queue.model.now - since <= 6 * LOOK
    assert asked <= 20


def test_one_limit_holds_up_no_other(queue: Driver) -> None:
    """Who goes from a line, and cannot start for another limit, leaves the slot to the next."""
    limit(queue, "all", Rule(2))
    limit(queue, "user:a", Rule(1))
    enqueue(queue, *of("a", "a1"), "r")
    leases = claim(queue)
    enqueue(queue, *of("a", *(f"a{at}" for at in range(2, 90))), "t")
    claim(queue)
    assert len(line(queue, "all")) == 89
    ack(queue, leases["r"])
    assert [*claim(queue)] == []
    assert line(queue, "user:a") == ["a2"]
    assert states(queue, "a3", "a4") == ["ready", "blocked"]  # at once, for the slot is free
    wait(queue)
    assert [*claim(queue, 100)] == ["t"]
    assert line(queue, "all") == []
    assert len(line(queue, "user:a")) == 88


def test_a_task_in_a_line_does_not_wait_for_others(queue: Driver) -> None:
    """It is blocked as those are, but neither a child nor the end of another task is for it any more."""
    limit(queue, "user:u", Rule(1))
    enqueue(queue, Job("r", user="u"), "x", "y", Job("c1"), Job("q", user="u", after=("x", "y")))
    queue.run(queue.calls.enqueue([("p", models.Task(user="u", gather=1))], f"rid-{next(numbers)}"))
    queue.run(queue.calls.enqueue([("c2", models.Task(parent="p"))], f"rid-{next(numbers)}"))
    leases = claim(queue)
    ack(queue, leases["x"], leases["c2"])
    assert [*claim(queue)] == []
    assert line(queue, "user:u") == ["q", "p"]
    queue.run(queue.calls.enqueue([("c3", models.Task(parent="p"))], f"rid-{next(numbers)}"))
    assert "gathered" not in Picture(queue.read()).record("c3")
    ack(queue, leases["y"])
    assert states(queue, "q", "p") == ["blocked", "blocked"]
    queue.run(queue.calls.fail([Failure(claim(queue)["c3"], "x", retryable=False)], [0]))
    assert line(queue, "user:u") == ["q", "p"]
    assert states(queue, "q", "p") == ["blocked", "blocked"]
    ack(queue, leases["r"])
    assert [*claim(queue)] == ["q"]


def test_a_task_in_a_line_expires_and_goes_to_no_other_lane(queue: Driver) -> None:
    limit(queue, "all", Rule(1))
    enqueue(queue, "r")
    lease = claim(queue)["r"]
    now = queue.model.now / 1000
    enqueue(queue, "late", expires_at=now + 2)
    enqueue(queue, Job("t", lane="group/g"), fallback="any", fallback_after=3)
    assert [*claim(queue, 20, "any", "group/g")] == []
    assert line(queue, "all") == ["late", "t"]
    wait(queue, 2000)
    claim(queue)
    assert states(queue, "late", "t") == ["dead", "blocked"]
    assert looked_up(queue, "late").reason == "expired"
    wait(queue, 8000)
    assert [*claim(queue)] == []
    assert looked_up(queue, "t").lane == "group/g"
    ack(queue, lease)
    wait(queue, 2999)
    assert [*claim(queue)] == []
    wait(queue, 1)
    assert [*claim(queue)] == ["t"]


# Policies


def test_who_may_not_start_is_rejected(queue: Driver) -> None:
    limit(queue, "tag:x", Rule(1, policy="reject"))
    enqueue(queue, *(Job(id, tags=("x",)) for id in "abc"), "free")
    assert [*claim(queue)] == ["a", "free"]
    assert states(queue, "b", "c") == ["dead", "dead"]
    assert looked_up(queue, "b").reason == "limited"
    enqueue(queue, Job("d", tags=("x",)))
    assert states(queue, "d") == ["ready"]


def test_the_newest_is_cancelled(queue: Driver) -> None:
    limit(queue, "all", Rule(2, policy="cancel_newest"))
    enqueue(queue, *"abcd")
    assert [*claim(queue)] == ["a", "b"]
    assert states(queue, "a", "b", "c", "d") == ["running", "running", "cancelled", "cancelled"]
    assert queue.run(queue.calls.stats()).counters["cancelled"] == 2


def test_the_oldest_is_cancelled(queue: Driver) -> None:
    """One that runs for each in line; then who is first in line, for there is one that is newer."""
    limit(queue, "all", Rule(2, policy="cancel_oldest"))
    enqueue(queue, "a", "b")
    leases = claim(queue, 1) | claim(queue, 1)
    for id, told in (("c", {"a"}), ("d", {"a", "b"}), ("e", {"a", "b"})):
        enqueue(queue, id)
        assert [*claim(queue)] == []
        picture = Picture(queue.read())
        assert {one for one in picture.running if picture.cancelling(one)} == told
    assert states(queue, "c") == ["cancelled"]
    assert line(queue, "all") == ["d", "e"]
    queue.run(queue.calls.fail([Failure(leases["b"], "x")], [0]))
    assert states(queue, "b") == ["cancelled"]
    assert [*claim(queue)] == ["d"]
    queue.run(queue.calls.release([leases["a"]]))
    assert [*claim(queue)] == ["e"]


def test_none_goes_for_one_that_was_cancelled_in_line(queue: Driver) -> None:
    limit(queue, "all", Rule(2, policy="cancel_oldest"))
    enqueue(queue, "a", "b")
    claim(queue)
    enqueue(queue, "c")
    claim(queue)
    cancel(queue, "c")
    enqueue(queue, "d")
    claim(queue)
    picture = Picture(queue.read())
    assert {one for one in picture.running if picture.cancelling(one)} == {"a"}
    assert line(queue, "all") == ["d"]


def test_the_oldest_of_a_claim_is_cancelled(queue: Driver) -> None:
    limit(queue, "all", Rule(1, policy="cancel_oldest"))
    enqueue(queue, *"abcde")
    leases = claim(queue)
    assert [*leases] == ["a"]
    assert Picture(queue.read()).cancelling("a")
    assert states(queue, *"abcde") == ["running", "cancelled", "cancelled", "cancelled", "blocked"]
    assert [len(names) for names in Picture(queue.read()).places().values()] == [1] * 5
    ack(queue, leases["a"])
    assert [*claim(queue)] == ["e"]


def test_who_waits_is_not_rejected_where_there_is_no_room(queue: Driver) -> None:
    """A policy is for those that come to start; who is in line goes as before."""
    limit(queue, "all", Rule(2))
    enqueue(queue, *"abcdefg")
    leases = claim(queue)
    limit(queue, "all", Rule(3, policy="reject"))
    ack(queue, leases["a"])
    assert [*claim(queue)] == ["c", "d"]
    assert states(queue, "e", "f", "g") == ["blocked"] * 3
    limit(queue, "all", Rule(4, policy="reject"))
    wait(queue)
    assert [*claim(queue)] == ["e"]
    assert states(queue, "f", "g") == ["blocked"] * 2
    enqueue(queue, "h")
    assert states(queue, "h") == ["ready"]


def test_who_waits_goes_one_by_one_where_others_are_rejected(queue: Driver) -> None:
    limit(queue, "all", Rule(1))
    enqueue(queue, "r", Job("g", lane="group/g"), *"ab")
    lease = claim(queue)["r"]
    claim(queue, 20, "group/g")
    limit(queue, "all", Rule(1, policy="reject"))
    assert [*claim(queue)] == []
    ack(queue, lease)
    assert states(queue, *"gab") == ["ready", "blocked", "blocked"]
    wait(queue)
    assert [*claim(queue)] == ["a"]
    assert states(queue, *"gab") == ["ready", "running", "blocked"]


def test_a_lane_without_workers_holds_up_no_other_by_a_rate(queue: Driver) -> None:
    limit(queue, "all", Rule(None, 1, 1000, 1))
    enqueue(queue, "r", *(Job(f"g{at}", lane="group/g") for at in range(30)), "t")
    assert [*claim(queue, 1)] == ["r"]
    claim(queue, 20, "group/g", "any")
    wait(queue, 5999)
    assert [*claim(queue)] == []
    wait(queue, 5001)
    assert [*claim(queue)] == ["t"]
