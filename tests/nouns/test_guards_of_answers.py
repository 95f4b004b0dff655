"""What is told: of clocks that do not fit, of who called, of requests and schedules, and when to come again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.nouns.benches import BENCHES
from tests.nouns.lock.workbench import LockBench
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.script_bench import MakeAny
from tests.nouns.watched import Refused

MIB = 2**20
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize("noun", BENCHES)
def test_a_clock_that_does_not_fit_says_which_does(make_any: MakeAny, noun: str) -> None:
    bench = make_any(noun, "server")
    bench.now = START
    with pytest.raises(Refused, match=r"now_ms must be 0: this base was not created with clock=test$"):
        bench.run(bench.calls.migrate())
    bench = make_any(noun)
    bench.now = 0
    with pytest.raises(Refused, match=r"now_ms must be sent: this base was created with clock=test$"):
        bench.run(bench.calls.migrate())
    bench.now = START


def test_a_clock_is_chosen_with_the_time_that_goes_with_it(make_any: MakeAny) -> None:
    bench = make_any("lock", "server")
    bench.now = START
    with pytest.raises(Refused, match="now_ms goes with clock=test, and only with it"):
        bench.run(bench.calls.configure(clock="server"))


@pytest.mark.parametrize("source", ["", "svc"])
@pytest.mark.parametrize("trace", ["", TRACE])
def test_an_event_says_who_called_and_has_its_details(lock_bench: LockBench, source: str, trace: str) -> None:
    calls = replace(lock_bench.calls, source=source, trace=lambda: trace or None)
    lock_bench.run(calls.acquire("q", "r", "o", issued_ms=lock_bench.now))
    lock_bench.run(calls.acquire("p", "s", "o", mode="shared", issued_ms=lock_bench.now))
    for event in lock_bench.events("lock.acquired"):
        assert (event.get("source", b""), event.get("trace", b"")) == (source.encode(), trace.encode())
        assert event["payload"].startswith(b"owner=o ")


def test_nothing_is_trimmed_where_as_many_are_kept_as_may_be(bench: Workbench) -> None:
    bench.real(bench.calls.configure(finished_max=2))
    for lease in bench.lease(2):
        bench.run(bench.calls.ack([(lease, b"")]))
    looks = [words for words in bench.watched.last.commands if words[0] == b"ZCARD" and words[1].endswith(b":finished")]
    assert len(looks) == 1


@pytest.mark.parametrize("source", ["", "svc"])
@pytest.mark.parametrize("trace", ["", TRACE])
def test_an_event_without_details_says_who_called(bench: Workbench, source: str, trace: str) -> None:
    calls = replace(bench.calls, source=source, trace=lambda: trace or None)
    bench.run(calls.pause())
    (event,) = bench.events("queue.paused")
    assert (event.get("source", b""), event.get("trace", b"")) == (source.encode(), trace.encode())
    assert b"" not in event.values()


def test_who_holds_has_no_place_and_who_waits_has_one(lock_bench: LockBench) -> None:
    lock_bench.hold("r", "o", rid="holds")
    lock_bench.wait("r", "p", rid="waits")
    shown = {one.rid: one for one in lock_bench.run(lock_bench.calls.list()).requests}
    assert {rid: (one.state, one.place) for rid, one in shown.items()} == {
        "holds": ("held", None),
        "waits": ("waiting", 1),
    }
    lock_bench.release("holds")
    (heir,) = lock_bench.run(lock_bench.calls.list()).requests
    assert (heir.state, heir.place) == ("granted", None)


def test_an_exclusive_request_waits_behind_a_shared_one(lock_bench: LockBench) -> None:
    lock_bench.hold("k", "holder")
    assert lock_bench.run(lock_bench.acquire_many("both", "p", ["r=shared", "k"], wait=60)).status == "queued"
    assert lock_bench.run(lock_bench.acquire("q", "r", "o", wait=60)).status == "queued"
    assert lock_bench.run(lock_bench.acquire("s", "r", "z", "shared", wait=60)).status == "queued"
    assert lock_bench.line("r") == ["both", "q", "s"]


def test_a_key_with_a_limit_of_its_own_is_shown_with_it(bench: Workbench) -> None:
    bench.limit("user:*", concurrency=2)
    bench.limit("user:u", concurrency=1)
    _, _, found = bench.run(bench.calls.limits(["user:u", "user:v"]))
    assert [(one.key, one.limit and one.limit.key) for one in found] == [("user:u", "user:u"), ("user:v", "user:*")]


@pytest.mark.parametrize(
    ("due", "in_line", "next_ms"),
    [(1_000, True, 1_000), (60_000, True, 5_000), (None, True, 5_000), (2_000, False, 2_000)],
)
def test_a_claim_says_when_there_is_something_to_do(
    bench: Workbench, due: int | None, in_line: bool, next_ms: int
) -> None:
    bench.limit(concurrency=1)
    bench.lease(1, user="u")
    if in_line:
        bench.fill(1, user="u")
    if due:
        bench.fill(1, delay=due / 1000)
    claimed = bench.run(bench.calls.claim("w", "i", 1, 1, limit=10))
    assert claimed.next_due is not None
    assert (claimed.leases, round(claimed.next_due * 1000)) == ([], bench.now + next_ms)


@pytest.mark.parametrize(("ahead_ms", "starts"), [(1_000, 0), (1_001, 0), (1_002, 1)])
def test_a_rate_that_is_further_ahead_than_its_rule_allows_is_of_another_rule(
    bench: Workbench, ahead_ms: int, starts: int
) -> None:
    bench.limit(starts=1, period_ms=1_000, burst=1)
    bench.fill(2, user="u")
    bench.worker()
    bench.ask("ZADD", ":rates", bench.now + ahead_ms, "user:u")
    assert len(bench.run(bench.calls.claim("w", "i", 0, 1, limit=10)).leases) == starts


def test_a_rate_that_lets_none_start_for_long_is_not_made_up_for(bench: Workbench) -> None:
    """Its starts are counted from now on, however far ahead the last one is."""
    bench.limit(starts=1, period_ms=1_000, burst=1)
    bench.fill(10, user="u")
    bench.worker()
    begun = [len(bench.run(bench.calls.claim("w", "i", 0, number, limit=10)).leases) for number in range(1, 4)]
    assert begun == [1, 0, 0]
    bench.pass_time(1_000)
    assert len(bench.run(bench.calls.claim("w", "i", 0, 4, limit=10)).leases) == 1


def test_a_page_of_schedules_stops_before_4_MiB(bench: Workbench) -> None:
    for number in range(6):
        bench.schedule(f"s{number}", payload=b"x" * MIB)
    bench.pass_time(60_000)
    page, cursor, _ = bench.run(bench.calls.schedules(due=True))
    assert [(one.name, len(one.data or b"")) for one in page] == [(f"s{at}", MIB) for at in range(3)]
    rest, end, _ = bench.run(bench.calls.schedules(due=True, cursor=cursor))
    assert ([one.name for one in rest], end) == (["s3", "s4", "s5"], "")
    whole, end, _ = bench.run(bench.calls.schedules())
    assert ([len(one.data or b"") for one in whole], end) == ([0] * 6, "")


def test_a_schedule_that_is_named_comes_alone_with_its_payload(bench: Workbench) -> None:
    for name in ("s", "t"):
        bench.schedule(name, payload=b"data")
    ((found,), cursor, _) = bench.run(bench.calls.schedules(name="s", limit=1))
    assert (found.name, found.data, cursor) == ("s", b"data", "")
