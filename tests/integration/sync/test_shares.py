# Generated from tests/integration/aio/test_shares.py by pyadeq/_unasync.py; do not edit.
"""Fair shares: users take turns, each according to its weight, whatever they have in line."""

from collections import Counter
from typing import Any

import pytest

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
    assert plain.shares.list() == {}
    plain.shares.set("bob", 2)
    plain.shares.set("ann", 0.01)
    plain.shares.set("cid", 33.333)
    plain.shares.set("dora", 100)
    assert plain.shares.list() == {"ann": 0.01, "bob": 2.0, "cid": 33.33, "dora": 100.0}
    assert [plain.shares.get(user) for user in ("bob", "nobody")] == [2.0, 1.0]
    plain.shares.set("bob", 1)
    plain.shares.set("nobody", 1)
    assert plain.shares.get("bob") == 1.0
    assert "bob" not in plain.shares.list()


def test_what_is_rounded_to_one_is_one(plain: Queue) -> None:
    plain.shares.set("ann", 1.004)
    assert plain.shares.list() == {}


def test_hundreds_of_weights_are_listed_by_user(plain: Queue) -> None:
    for n in reversed(range(1200)):
        plain.shares.set(f"u{n:04}", n % 99 + 1.5 if n < 500 else 0.5)
    weights = plain.shares.list()
    assert list(weights.items()) == [(f"u{n:04}", n % 99 + 1.5 if n < 500 else 0.5) for n in range(1200)]


@pytest.mark.parametrize("weight", [0, -1, 0.009, 100.1, float("nan"), float("inf"), "2", None])
def test_a_weight_that_is_none_is_refused(plain: Queue, weight: Any) -> None:
    with pytest.raises(BadArgument, match=f"weight: {weight!r} is not accepted; allowed: 0.01 to 100"):
        plain.shares.set("ann", weight)
    assert plain.shares.list() == {}


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
    assert queue.shares.list() == {user: 2.0}
    assert Counter(turns(queue, 6)) == {"u": 4, "a": 2}


# Turns


@pytest.mark.parametrize(("weight", "tasks"), [(3, 75), (0.25, 20), (100, 99), (0.01, 1)])
def test_weights_are_how_many_tasks_start_for_one_of_another(queue: Queue, weight: float, tasks: int) -> None:
    queue.shares.set("ann", weight)
    fill(queue, "ann", 200)
    fill(queue, "bob", 200)
    assert (turns(queue, 100)).count("a") == pytest.approx(tasks, abs=1)


def test_a_task_that_falls_back_takes_its_turn_in_the_other_lane(queue: Queue, clock: Clock) -> None:
    fill(queue, "cid", 500, lane="group/fast")
    take(queue, lanes=["group/fast"])
    fill(queue, "ann", 100)
    take(queue, 2)
    fill(queue, "bob", 3, lane="group/fast", fallback="any", fallback_after=1)
    clock.tick(1)
    order = turns(queue, 8)
    assert order.count("b") == 3


# Places


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
