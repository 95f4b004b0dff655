# Generated from tests/integration/aio/test_shares.py by pyadeq/_unasync.py; do not edit.
"""Fair shares: users take turns, each according to its weight, whatever they have in line."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
import redis

from pyadeq import Lease, Task
from pyadeq import Queue
from pyadeq.errors import BadArgument
from tests.integration.conftest import Clock


@pytest.fixture
def plain(timed: Queue) -> Queue:
    timed.configure(lease=3600)
    return timed


@pytest.fixture
def queue(plain: Queue) -> Queue:
    """One with fair shares."""
    plain.configure(fair=True)
    return plain


def fill(queue: Queue, user: str | None, count: int, **options: Any) -> list[str]:
    """So many tasks of a user; their ids."""
    return [one.id for one in queue.enqueue_many([Task(payload=n, user=user, **options) for n in range(count)])]


def take(queue: Queue, limit: int = 1000, **options: Any) -> list[Lease]:
    return queue.claim("w1", limit, **options)


def turns(queue: Queue, limit: int = 1000, **options: Any) -> str:
    """The users of the next tasks, by their first letters."""
    return "".join((lease.user or "-")[0] for lease in take(queue, limit, **options))


# Settings


def test_fair_shares_are_a_setting(plain: Queue) -> None:
    assert (plain.configure()).fair is False
    assert (plain.configure(fair=True)).fair is True
    assert (plain.configure()).fair is True
    assert (plain.configure(fair=False)).fair is False


@pytest.mark.parametrize("fair", ["yes", 1])
def test_fair_is_true_or_false(plain: Queue, fair: Any) -> None:
    with pytest.raises(BadArgument, match=f"fair: {fair!r} is not accepted; allowed: True or False"):
        plain.configure(fair=fair)


def test_weights_are_set_and_taken_away(plain: Queue) -> None:
    assert plain.shares.all() == {}
    plain.shares.set("bob", 2)
    plain.shares.set("ann", 0.01)
    plain.shares.set("cid", 33.333)
    plain.shares.set("dora", 100)
    assert plain.shares.all() == {"ann": 0.01, "bob": 2.0, "cid": 33.33, "dora": 100.0}
    assert [plain.shares.get(user) for user in ("bob", "nobody")] == [2.0, 1.0]
    plain.shares.set("bob", 1)
    plain.shares.set("nobody", 1)
    assert plain.shares.get("bob") == 1.0
    assert "bob" not in plain.shares.all()


def test_what_is_rounded_to_one_is_one(plain: Queue) -> None:
    plain.shares.set("ann", 1.004)
    assert plain.shares.all() == {}


def test_hundreds_of_weights_are_listed_by_user(plain: Queue) -> None:
    for n in reversed(range(1200)):
        plain.shares.set(f"u{n:04}", n % 99 + 1.5 if n < 500 else 0.5)
    weights = plain.shares.all()
    assert list(weights.items()) == [(f"u{n:04}", n % 99 + 1.5 if n < 500 else 0.5) for n in range(1200)]


@pytest.mark.parametrize("weight", [0, -1, 0.009, 100.1, float("nan"), float("inf"), "2", None])
def test_a_weight_that_is_none_is_refused(plain: Queue, weight: Any) -> None:
    with pytest.raises(BadArgument, match=f"weight: {weight!r} is not accepted; allowed: 0.01 to 100"):
        plain.shares.set("ann", weight)
    assert plain.shares.all() == {}


@pytest.mark.parametrize("user", ["", "a b", "a,b", "u" * 201, "ü" * 101, "ü\u3000"])
def test_a_user_that_is_none_is_refused(plain: Queue, user: str) -> None:
    with pytest.raises(BadArgument, match=r"user: .* is not accepted; allowed: 1 to 200 bytes of UTF-8"):
        plain.shares.set(user, 2)
    with pytest.raises(BadArgument, match=r"user: .* is not accepted; allowed: 1 to 200 bytes of UTF-8"):
        plain.shares.get(user)


def test_a_user_may_be_as_long_as_an_id(queue: Queue) -> None:
    user = "u" * 200
    queue.shares.set(user, 2)
    fill(queue, user, 6)
    fill(queue, "ann", 3)
    assert queue.shares.all() == {user: 2.0}
    assert Counter(turns(queue, 6)) == {"u": 4, "a": 2}


# Turns


def test_without_fair_shares_the_first_come_first(plain: Queue) -> None:
    plain.shares.set("bob", 10)
    fill(plain, "ann", 5)
    fill(plain, "bob", 5)
    assert turns(plain) == "aaaaabbbbb"


def test_users_take_turns(queue: Queue) -> None:
    fill(queue, "ann", 4)
    fill(queue, "bob", 2)
    fill(queue, None, 3)
    fill(queue, "cid", 1)
    order = turns(queue)
    rounds = ["".join(sorted(order[first:end])) for first, end in ((0, 4), (4, 7), (7, 9), (9, 10))]
    assert rounds == ["-abc", "-ab", "-a", "a"]


def test_each_user_s_tasks_stay_in_their_order(queue: Queue) -> None:
    ids: dict[str, list[str]] = {"ann": [], "bob": [], "cid": []}
    for count in (1, 7, 2):
        for user in ids:
            ids[user] += fill(queue, user, count)
    seen: dict[str, list[str]] = {user: [] for user in ids}
    while leases := take(queue, 7):
        for lease in leases:
            seen[lease.user or ""].append(lease.id)
    assert seen == ids


def test_who_has_much_in_line_does_not_delay_who_has_little(queue: Queue) -> None:
    fill(queue, "ann", 500)
    assert turns(queue, 100) == "a" * 100
    fill(queue, "bob", 10)
    assert (turns(queue, 20)).count("b") >= 9
    assert (turns(queue, 4)).count("b") <= 1
    fill(queue, "cid", 5)
    fill(queue, "bob", 5)
    order = turns(queue, 18)
    assert (order.count("b"), order.count("c")) == (5, 5)


def test_a_user_who_comes_back_has_saved_nothing_up(queue: Queue) -> None:
    fill(queue, "bob", 1)
    fill(queue, "ann", 500)
    take(queue, 300)
    fill(queue, "bob", 200)
    order = turns(queue, 100)
    assert 48 <= order.count("b") <= 52
    assert all(one != two for one, two in pairwise(order[2:]))


@pytest.mark.parametrize(("weight", "tasks"), [(3, 75), (0.25, 20), (100, 99), (0.01, 1)])
def test_weights_are_how_many_tasks_start_for_one_of_another(queue: Queue, weight: float, tasks: int) -> None:
    queue.shares.set("ann", weight)
    fill(queue, "ann", 200)
    fill(queue, "bob", 200)
    assert (turns(queue, 100)).count("a") == pytest.approx(tasks, abs=1)


def test_a_weight_holds_for_what_is_enqueued_from_now_on(queue: Queue) -> None:
    fill(queue, "ann", 10)
    fill(queue, "bob", 100)
    queue.shares.set("ann", 4)
    assert (turns(queue, 20)).count("a") == 10
    fill(queue, "ann", 50)
    assert (turns(queue, 50)).count("a") == pytest.approx(40, abs=1)


def test_alone_a_user_has_all_whatever_its_weight(queue: Queue) -> None:
    queue.shares.set("ann", 0.01)
    fill(queue, "ann", 50)
    assert turns(queue) == "a" * 50
    fill(queue, "bob", 5)
    fill(queue, "ann", 5)
    assert sorted(turns(queue)) == sorted("aaaaabbbbb")


def test_each_priority_has_turns_of_its_own(queue: Queue) -> None:
    fill(queue, "ann", 6, priority=5)
    fill(queue, "bob", 2, priority=5)
    fill(queue, "ann", 2, priority=0)
    fill(queue, "bob", 2, priority=0)
    fill(queue, "cid", 1, priority=9)
    order = turns(queue)
    assert sorted(order[:4]) == list("aabb")
    assert order[:2] in ("ab", "ba")
    assert sorted(order[4:8]) == list("aabb")
    assert order[8:] == "aaaac"


def test_one_call_may_hold_tasks_of_many_users(queue: Queue) -> None:
    queue.enqueue_many([Task(payload=n, user=f"{'abc'[n // 30]}") for n in range(90)])
    order = turns(queue)
    assert all(sorted(order[at : at + 3]) == list("abc") for at in range(0, 90, 3))


def test_turns_are_taken_in_each_lane(queue: Queue) -> None:
    fill(queue, "ann", 100, lane="group/other")
    fill(queue, "ann", 10, lane="group/here")
    turns(queue, lanes=["group/other"])
    fill(queue, "bob", 5, lane="group/here")
    order = turns(queue, 10, lanes=["group/here"])
    assert order.count("b") >= 4


def test_a_lane_that_is_far_ahead_does_not_hold_up_who_comes_to_another(queue: Queue) -> None:
    """Somebody has much in a slow lane; meanwhile others did much in a fast one."""
    fill(queue, "ann", 200, lane="group/slow")
    fill(queue, "cid", 500, lane="group/fast")
    assert len(take(queue, lanes=["group/fast"])) == 500
    fill(queue, "bob", 5, lane="group/slow")
    order = turns(queue, 20, lanes=["group/slow"])
    assert order.count("b") == 5


def test_a_task_that_falls_back_takes_its_turn_in_the_other_lane(queue: Queue, clock: Clock) -> None:
    fill(queue, "cid", 500, lane="group/fast")
    take(queue, lanes=["group/fast"])
    fill(queue, "ann", 100)
    take(queue, 2)
    fill(queue, "bob", 3, lane="group/fast", fallback="any", fallback_after=1)
    clock.tick(1)
    order = turns(queue, 8)
    assert order.count("b") == 3


def test_a_lane_that_nobody_uses_any_more_leaves_nothing_for_ever(queue: Queue, client: redis.Redis) -> None:
    key = f"{queue.base}:shares:group/g"
    fill(queue, "ann", 2, lane="group/g")
    assert turns(queue, 1, lanes=["group/g"]) == "a"
    assert client.ttl(key) == -1
    assert turns(queue, lanes=["group/g"]) == "a"
    assert 0 < client.ttl(key) <= 86_400
    fill(queue, "ann", 1, lane="group/g")
    assert client.ttl(key) == -1


# Places


def test_what_is_released_or_taken_back_returns_to_its_place(queue: Queue, clock: Clock) -> None:
    fill(queue, "ann", 20)
    fill(queue, "bob", 20)
    first = take(queue, 6)
    queue.release_many(first)
    again = take(queue, 6)
    assert [lease.id for lease in again] == [lease.id for lease in first]
    clock.tick(3600)
    assert [lease.id for lease in take(queue, 6)] == [lease.id for lease in first]


@pytest.mark.parametrize("how", ["delayed", "retried", "unblocked"])
def test_what_gets_ready_later_takes_its_turn_then(queue: Queue, clock: Clock, how: str) -> None:
    match how:
        case "delayed":
            fill(queue, "bob", 5, delay=10)
        case "retried":
            ids = fill(queue, "bob", 5)
            for lease in take(queue):
                queue.fail(lease, "no use", retryable=False)
        case "unblocked":
            before = queue.enqueue("before", priority=0)
            fill(queue, "bob", 5, after=before)
    fill(queue, "ann", 500)
    leases = take(queue, 200)
    match how:
        case "delayed":
            clock.tick(10)
        case "retried":
            assert {one.status for one in queue.retry_many(ids)} == {"retried"}
        case "unblocked":
            queue.ack(leases[0])
            leases = leases[1:]
    assert {lease.user for lease in leases} == {"ann"}
    order = turns(queue, 14)
    assert 4 <= order.count("b") <= 5
    assert "bb" not in order[1:]


def test_fair_shares_may_be_switched_on_with_tasks_in_line(plain: Queue) -> None:
    fill(plain, "ann", 50)
    plain.configure(fair=True)
    fill(plain, "ann", 50)
    fill(plain, "bob", 10)
    assert turns(plain, 50) == "a" * 50
    assert turns(plain, 20) in ("ab" * 10, "ba" * 10)


def test_fair_shares_may_be_switched_off_again(queue: Queue) -> None:
    fill(queue, "ann", 50)
    fill(queue, "bob", 50)
    queue.configure(fair=False)
    late = fill(queue, "cid", 50)
    order = turns(queue, 150)
    assert order[:100].count("c") == 0, "who comes later stands behind them"
    assert len(late) == 50


def test_shares_and_limits_go_together(queue: Queue) -> None:
    queue.limits.set("user:*", concurrency=3)
    fill(queue, "ann", 300)
    fill(queue, "bob", 20)
    fill(queue, "cid", 2)
    ran = ""
    for _ in range(4):
        leases = take(queue, 20)
        order = "".join((lease.user or "-")[0] for lease in leases)
        assert order.count("a") == 3
        ran += order
        queue.ack_many([(lease, None) for lease in leases])
    assert Counter(ran) == {"a": 12, "b": 12, "c": 2}


def test_a_slot_that_is_free_goes_to_whose_turn_it_is(queue: Queue) -> None:
    queue.limits.set("all", concurrency=2)
    fill(queue, "ann", 300)
    leases = take(queue, 2)
    take(queue, 2)
    fill(queue, "bob", 5)
    ran = ""
    for _ in range(6):
        queue.ack_many([(lease, None) for lease in leases])
        leases = take(queue, 2)
        ran += "".join((lease.user or "-")[0] for lease in leases)
    assert len(ran) == 12
    assert ran.count("b") == 5
