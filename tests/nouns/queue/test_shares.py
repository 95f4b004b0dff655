"""Fair shares: users take turns, whatever each has in line."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from pyadeq.models import Lease, Task
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import Workbench
from tests.nouns.watched import Refused

LEASE = 15_000  # ms
NUMBERS = count(1)


@pytest.fixture
def bench(bench: Workbench) -> Workbench:
    bench.run(bench.calls.configure(fair=True))
    return bench


def enqueue(bench: Workbench, users: str, **task: Any) -> list[str]:
    """A task of each user, who is one letter, `-` for nobody; ids are the letter and a number, which rises."""
    owners: list[dict[str, Any]] = [{} if user == "-" else {"user": user} for user in users]
    items = [
        (f"{user}{next(NUMBERS):06}", Task(payload=b"x", **own | task)) for user, own in zip(users, owners, strict=True)
    ]
    bench.run(bench.calls.enqueue(items, f"enqueue/{next(NUMBERS)}"))
    return [id for id, _ in items]


def take(bench: Workbench, most: int = 1000, *lanes: str) -> list[Lease]:
    return bench.claim(most, lanes=lanes or ("any",))


def turns(bench: Workbench, most: int = 1000, *lanes: str) -> str:
    """Whose tasks start now, in order."""
    return "".join(lease.id[0] for lease in take(bench, most, *lanes))


def places(bench: Workbench, lane: str = "any") -> dict[str, int]:
    flat = bench.ask("ZRANGE", f":ready:{lane}", 0, -1, "WITHSCORES")
    return {id.decode(): int(score) for id, score in zip(flat[::2], flat[1::2], strict=True)}


def weigh(bench: Workbench, rid: str = "w", /, **percents: int) -> None:
    bench.run(bench.calls.set_weights(list(percents.items()), rid))


def rounds(order: str) -> list[str]:
    """A row of turns cut where the first comes again, each part sorted: in a round each user has one turn."""
    size = len(set(order))
    return ["".join(sorted(order[at : at + size])) for at in range(0, len(order), size)]


# turns


def test_users_take_turns_whoever_came_first(bench: Workbench) -> None:
    enqueue(bench, "aaaaaaaa")
    enqueue(bench, "bbb")
    enqueue(bench, "cc")
    order = turns(bench)
    assert rounds(order[:6]) == ["abc", "abc"]
    assert rounds(order[6:8]) == ["ab"]
    assert order[8:] == "aaaaa"
    check_queue(bench)


def test_each_has_its_own_in_the_order_of_coming(bench: Workbench) -> None:
    came = enqueue(bench, "aabacbca")
    for lease in bench.claim(1), bench.claim(2):
        came += enqueue(bench, "cab")
        bench.run(bench.calls.ack([(one, None) for one in lease]))
        for one in lease:
            came.remove(one.id)
    took = [lease.id for lease in take(bench)]
    for user in "abc":
        assert [id for id in took if id[0] == user] == [id for id in came if id[0] == user]
    check_queue(bench)


def test_a_lane_that_is_far_ahead_holds_up_nobody_in_another(bench: Workbench) -> None:
    enqueue(bench, "a" * 50, lane="group/slow")
    enqueue(bench, "c" * 200, lane="group/fast")
    take(bench, 200, "group/fast")
    enqueue(bench, "bbb", lane="group/slow")
    order = turns(bench, 8, "group/slow")
    assert order.count("b") == 3
    check_queue(bench)


@pytest.mark.parametrize("most", [1, 3, 8])
def test_turns_go_on_over_claims(bench: Workbench, most: int) -> None:
    enqueue(bench, "a" * 20)
    order = ""
    while len(order) < 24:
        if len(order) == 8:
            enqueue(bench, "b" * 8)
        order += turns(bench, min(most, 8 - len(order) % 8))
    assert order[:8] == "a" * 8
    assert all(part in ("ab", "b", "a") for part in rounds(order[8:]))
    assert order[8:].count("b") == 8
    assert "bb" not in order
    assert "aa" not in order[10:23]
    check_queue(bench)


# newcomers


def test_who_was_idle_has_saved_up_nothing(bench: Workbench) -> None:
    enqueue(bench, "ab")
    take(bench)
    enqueue(bench, "a" * 50)
    take(bench, 40)
    enqueue(bench, "b" * 10)
    order = turns(bench, 20)
    assert rounds(order) == ["ab"] * 10
    check_queue(bench)


def test_who_had_more_before_waits_no_longer_for_it(bench: Workbench) -> None:
    """What a user has started counts only while others wait."""
    enqueue(bench, "a" * 50)
    take(bench)
    enqueue(bench, "aaaa")
    enqueue(bench, "bbbb")
    order = turns(bench)
    assert order.count("a") == order.count("b") == 4
    assert "aa" not in order
    assert "bb" not in order
    check_queue(bench)


def test_users_are_forgotten_when_others_have_gone_on(bench: Workbench) -> None:
    users = [f"u{at}" for at in range(150)]
    bench.run(bench.calls.enqueue([(f"of-{user}", Task(payload=b"x", user=user)) for user in users], "r"))
    take(bench)
    enqueue(bench, "aaa")
    take(bench)
    assert bench.ask("ZCARD", ":shares:any") > 150
    for _ in range(3):
        bench.pass_time(1_000)
        take(bench)
    assert bench.ask("ZCARD", ":shares:any") <= 2
    check_queue(bench)


def test_who_is_given_back_to_an_empty_lane_goes_before_newcomers(bench: Workbench) -> None:
    given = take_back(bench, lambda leases: bench.run(bench.calls.release(leases)))
    assert turns(bench, given) == "a" * given


def test_who_is_reaped_in_an_empty_lane_goes_before_newcomers(bench: Workbench) -> None:
    def reap(_: list[Lease]) -> None:
        bench.pass_time(LEASE)
        bench.run(bench.calls.reap())

    given = take_back(bench, reap)
    assert turns(bench, given) == "a" * given


def take_back(bench: Workbench, end: Callable[[list[Lease]], object]) -> int:
    """A user has had 50 tasks, two more come back to the empty lane, and, days later, another user comes with many."""
    enqueue(bench, "a" * 52)
    take(bench, 50)
    leases = take(bench, 2)
    end(leases)
    assert bench.ask("PTTL", ":shares:any") == -1
    enqueue(bench, "b" * 10)
    return len(leases)


# weights


def test_a_weight_holds_for_tasks_from_then_on(bench: Workbench) -> None:
    enqueue(bench, "bbbb")
    before = places(bench)
    weigh(bench, b=400)
    assert places(bench) == before
    new = enqueue(bench, "bbb")
    found = [places(bench)[id] for id in new]
    old = list(before.values())
    assert found[1] - found[0] == found[2] - found[1] == (old[1] - old[0]) / 4


def test_weights_are_set_and_taken_away(bench: Workbench) -> None:
    weigh(bench, "one", a=200, b=50)
    assert bench.run(bench.calls.weights()) == ({"a": 2.0, "b": 0.5}, "")
    assert bench.run(bench.calls.weights(["b", "c"])) == ({"b": 0.5, "c": 1.0}, "")
    weigh(bench, "two", b=0, c=0)
    assert bench.run(bench.calls.weights()) == ({"a": 2.0}, "")
    events = [(event["id"], event["payload"]) for event in bench.events("weight.set")]
    assert events == [
        (b"a", b"weight_pct=200"), (b"b", b"weight_pct=50"), (b"b", b"weight_pct=0"), (b"c", b"weight_pct=0"),
    ]  # fmt: skip
    check_queue(bench)


@pytest.mark.parametrize("number", [1, 130, 700])
def test_pages_hold_every_weight(bench: Workbench, number: int) -> None:
    weights = {f"u{at}": 200 for at in range(number)}
    weigh(bench, **weights)
    found: dict[str, float] = {}
    cursor, pages = "", 0
    while True:
        page, cursor = bench.run(bench.calls.weights(cursor=cursor))
        found |= page
        pages += 1
        assert pages <= number
        if not cursor:
            break
    assert found == dict.fromkeys(weights, 2.0)


@pytest.mark.parametrize("cursor", ["x", "-1", "1 ", "1.0", "9" * 20])
def test_a_cursor_that_no_page_answered_is_refused(bench: Workbench, cursor: str) -> None:
    with pytest.raises(Refused, match=r"^ADEQ_ARG cursor must be "):
        bench.raw_run("queue.weights.v1", cursor, bench.now, 0)


# places


def test_what_is_given_back_has_its_old_place(bench: Workbench) -> None:
    enqueue(bench, "aaa")
    enqueue(bench, "bbb")
    before = places(bench)
    leases = take(bench, 4)
    enqueue(bench, "c")
    bench.run(bench.calls.release(leases[:2]))
    assert {id: before[id] for id in (leases[0].id, leases[1].id)}.items() <= places(bench).items()
    bench.pass_time(LEASE)
    bench.run(bench.calls.reap())
    assert before.items() <= places(bench).items()
    check_queue(bench)


def test_a_call_that_comes_again_takes_no_place(bench: Workbench) -> None:
    call = bench.calls.enqueue([(f"a{at}", Task(payload=b"x", user="a")) for at in range(5)], "r")
    bench.run(call)
    before, shares = places(bench), bench.ask("ZRANGE", ":shares:any", 0, -1, "WITHSCORES")
    bench.run(call)
    assert (places(bench), bench.ask("ZRANGE", ":shares:any", 0, -1, "WITHSCORES")) == (before, shares)


def test_those_in_the_line_of_a_limit_start_by_turns(bench: Workbench) -> None:
    bench.limit("all", concurrency=1)
    enqueue(bench, "aaaa")
    (lease,) = take(bench, 1)
    enqueue(bench, "bbb")
    order = lease.id[0]
    for _ in range(6):
        assert take(bench) == []
        bench.run(bench.calls.ack([(lease, None)]))
        check_queue(bench)
        (lease,) = take(bench, 1)
        order += lease.id[0]
    assert order.count("a") == 4
    assert order.count("b") == 3
    assert "bb" not in order
    check_queue(bench)


def test_fair_shares_that_are_on_are_not_begun_again(bench: Workbench) -> None:
    enqueue(bench, "aaa")
    bench.run(bench.calls.configure(fair=True))
    bench.run(bench.calls.configure(max_attempts=3))
    enqueue(bench, "b")
    assert rounds(turns(bench)[:2]) == ["ab"]


@pytest.mark.parametrize("fair", [True, False])
def test_whether_shares_are_fair_is_a_setting(bench: Workbench, fair: bool) -> None:
    assert bench.run(bench.calls.configure(fair=fair)).fair is fair
    assert bench.run(bench.calls.configure()).fair is fair


# what is left of an empty lane


def test_shares_of_tasks_from_before_go_with_the_lane(bench: Workbench) -> None:
    """A claim notes how far it came, where no place was dealt yet."""
    bench.run(bench.calls.configure(fair=False))
    enqueue(bench, "aab")
    bench.run(bench.calls.configure(fair=True))
    take(bench, 1)
    assert bench.ask("TTL", ":shares:any") == -1
    bench.run(bench.calls.configure(fair=False))
    take(bench)
    assert 0 < bench.ask("TTL", ":shares:any") <= 86_400
    check_queue(bench)


def test_with_limits_the_shares_of_an_empty_lane_stay_for_a_month(bench: Workbench) -> None:
    """As long as a task may wait for a limit."""
    bench.limit("user:x", concurrency=1)
    bench.run(bench.calls.cancel(enqueue(bench, "a")))
    assert 86_400 < bench.ask("TTL", ":shares:any") <= 30 * 86_400
    check_queue(bench)


def test_what_comes_after_such_shares_goes_last(bench: Workbench) -> None:
    bench.run(bench.calls.configure(fair=False))
    enqueue(bench, "ab")
    bench.run(bench.calls.configure(fair=True))
    bench.run(bench.calls.configure(fair=False))
    enqueue(bench, "c")
    bench.run(bench.calls.configure(fair=True))
    enqueue(bench, "d")
    assert turns(bench) == "abcd"
    check_queue(bench)


@pytest.mark.parametrize("task", [{"delay": 60}, {"after": ["r000000"]}], ids=["delayed", "blocked"])
def test_shares_that_a_repair_makes_go_with_the_lane(bench: Workbench, task: dict[str, Any]) -> None:
    """The task gets a place though it waits elsewhere, because its own is not known any more."""
    bench.run(bench.calls.enqueue([("r000000", Task(payload=b"x", lane="group/g"))], "r"))
    (id,) = enqueue(bench, "a", **task)
    for name in ("delayed", "blocked", "dependents:r000000"):
        bench.ask("ZREM", f":{name}", id)
    (mended,) = bench.run(bench.calls.repair([id])).tasks
    assert mended.state == ("delayed" if "delay" in task else "blocked")
    assert 0 < bench.ask("TTL", ":shares:any") <= 86_400
    check_queue(bench)


def test_shares_that_are_lost_are_made_anew_and_go_with_the_lane(bench: Workbench) -> None:
    """As after their time, or on a server that evicts: whatever a call writes late has a time to live."""
    bench.limit("key:k", concurrency=1)
    for fair in (True, False):
        bench.run(bench.calls.configure(fair=fair))
        ids = [*enqueue(bench, "aab"), *enqueue(bench, "ab", limits=["k"]), *enqueue(bench, "c", delay=1)]
        while bench.ask("EXISTS", ":ready:any", ":delayed", ":blocked", ":leases"):
            bench.ask("DEL", ":shares:any")
            leases = take(bench, 1)
            check_queue(bench)
            bench.ask("DEL", ":shares:any")
            bench.run(bench.calls.ack([(lease, None) for lease in leases]))
            check_queue(bench)
            bench.pass_time(1000)
        assert bench.ask("ZCARD", ":finished") == len(ids) * (1 if fair else 2)
