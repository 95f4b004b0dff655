# Generated from tests/integration/aio/test_rates.py by pyadeq/_unasync.py; do not edit.
"""Rates as their users see them: what hits are told, refusals that are known, and a server that is away."""

from collections.abc import Iterator
from typing import Any

import pytest

from pyadeq import RateRule
from pyadeq import Adeq, Rates
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import BadArgument, ConfigError, TransportError
from tests.integration.conftest import Clock


@pytest.fixture
def rates(adeq: Adeq, base_name: str) -> Rates:
    return adeq.rates(base_name)


@pytest.fixture
def timed_rates(url: str, base_name: str, clock: Clock) -> Iterator[Rates]:
    """Rates whose time is the test's."""
    with Adeq.from_url(url, clock=clock) as adeq:
        rates = adeq.rates(base_name)
        rates.configure(clock="test")
        yield rates


def test_a_hit_is_told_what_each_rule_says(timed_rates: Rates) -> None:
    timed_rates.set("send", limit=60, period=60, burst=2)
    timed_rates.set("all", algorithm="log", limit=3, period=60, on_error="open")
    answer = timed_rates.hit_all([("send", "ann"), ("all", "all", 2)])
    assert answer
    assert (answer.status, answer.retry_after, answer.rid, answer.cached) == ("allowed", 0, None, False)
    assert answer.rules == (
        ("send", "ann", "allowed", 1, 0, 1, 60, 60, "closed"),
        ("all", "all", "allowed", 1, 0, 60.001, 3, 60, "open"),
    )
    answer = timed_rates.hit_all([("send", "ann"), ("all", "all", 2)])
    assert not answer
    assert (answer.status, answer.retry_after) == ("refused", 60.001)
    assert [(one.status, one.remaining, one.retry_after) for one in answer.rules] == [
        ("allowed", 1, 0),
        ("refused", 1, 60.001),
    ]
    assert (timed_rates.hit("send", "ann", 3)).status == "never"
    assert (timed_rates.peek("send", "ann")).remaining == 1


def test_time_gives_back_and_so_do_refund_and_reset(timed_rates: Rates, clock: Clock) -> None:
    timed_rates.set("send", limit=60, period=60, burst=2)
    assert [bool(timed_rates.hit("send", "ann")) for _ in range(3)] == [True, True, False]
    clock.tick(1)
    assert [bool(timed_rates.hit("send", "ann")) for _ in range(2)] == [True, False]
    assert timed_rates.refund("send", "ann") == 1
    assert timed_rates.hit("send", "ann")
    assert timed_rates.reset("send", "ann") == 2


def test_rules_are_stored_read_and_removed(rates: Rates) -> None:
    assert rates.list() == []
    stored = rates.set("b", limit=2, algorithm="concurrency", lease=5, shadow=True)
    assert (stored.status, stored.version) == ("stored", 1)
    rates.set("a", limit=2, period=0.5)
    assert (rates.set("a", limit=2, period=0.5, burst=2)).status == "same"
    first = RateRule(
        name="a",
        algorithm="gcra",
        limit=2,
        period=0.5,
        burst=2,
        lease=0,
        on_error="closed",
        shadow=False,
        version=2,
    )
    assert (rates.list())[0] == first
    assert rates.get("a") == first
    assert [(rule.name, rule.lease, rule.shadow) for rule in rates.list()] == [("a", 0, False), ("b", 5, True)]
    assert rates.remove("a") is True
    assert rates.remove("a") is False
    assert rates.get("a") is None
    with pytest.raises(BadArgument, match=r"rule must be the name of a rule that is stored.*got 'a'"):
        rates.hit("a", "ann")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"limit": 0, "period": 1}, "limit: 0 is not accepted; allowed: an integer from 1"),
        ({"limit": 1, "period": 0}, "period: 0 is not accepted; allowed: 0.001"),
        ({"limit": 1}, "period_ms must be given"),
        ({"limit": 5001, "period": 1, "algorithm": "log"}, "limit must be at most 5000 for a log"),
        ({"limit": 1, "period": 1, "algorithm": "fixed"}, "algorithm: 'fixed' is not accepted"),
    ],
)
def test_a_bad_rule_is_refused_and_nothing_stored(rates: Rates, fields: Any, text: str) -> None:
    with pytest.raises(BadArgument, match=text):
        rates.set("a", **fields)
    assert rates.list() == []


@pytest.mark.parametrize(
    ("hits", "text"),
    [
        ([("a|b", "ann")], "rule: 'a|b' is not accepted"),
        ([("a", "x|y")], "subject: 'x|y' is not accepted"),
        ([("a", "ann", -1)], "cost: -1 is not accepted"),
        ([("a", "ann"), ("a", "ann")], "another one than in item.1."),
        ([("a",)], "hits: .* is not accepted; allowed: tuples"),
        ([], "0 items is not accepted; allowed: 1 to 8"),
    ],
)
def test_a_bad_hit_is_refused(rates: Rates, hits: Any, text: str) -> None:
    rates.set("a", limit=1, period=60)
    with pytest.raises(BadArgument, match=text):
        rates.hit_all(hits)


def test_a_lease_is_renewed_and_given_back(timed_rates: Rates, clock: Clock) -> None:
    timed_rates.set("export", algorithm="concurrency", limit=1, lease=30)
    with pytest.raises(BadArgument, match="rid must be given: it names the lease"):
        timed_rates.hit("export", "ann")
    answer = timed_rates.hit("export", "ann", remember=True)
    assert answer.rid
    clock.tick(20)
    assert timed_rates.renew("export", "ann", answer.rid) == clock.now_ms / 1000 + 30
    clock.tick(20)
    assert not timed_rates.hit("export", "ann", remember=True)
    assert timed_rates.release("export", "ann", answer.rid) is True
    assert timed_rates.release("export", "ann", answer.rid) is False
    assert timed_rates.renew("export", "ann", answer.rid) is None
    assert timed_rates.hit("export", "ann", remember=True)


def test_a_lease_given_back_before_its_hit_does_not_begin(timed_rates: Rates) -> None:
    timed_rates.set("export", algorithm="concurrency", limit=1, lease=30)
    assert timed_rates.release("export", "ann", "r1") is False
    answer = timed_rates.hit("export", "ann", rid="r1")
    assert (answer.allowed, answer.status, answer.rid) == (False, "returned", "r1")
    assert (timed_rates.peek("export", "ann")).remaining == 1


# Refusals that the client knows


def test_a_refusal_is_known_until_the_hit_could_pass(rates: Rates) -> None:
    rates.set("send", limit=1, period=3600)
    assert rates.hit("send", "ann")
    first = rates.hit("send", "ann")
    again = rates.hit("send", "ann")
    assert (first.cached, again.cached, again.status) == (False, True, "refused")
    assert again.retry_after < first.retry_after
    assert again.rules == first.rules
    assert not (rates.hit("send", "bob")).cached
    assert not (rates.hit("send", "ann", remember=True)).cached


@pytest.mark.parametrize("change", ["refund", "reset", "rule"])
def test_what_this_client_changes_counts_at_once(rates: Rates, change: str) -> None:
    rates.set("send", limit=1, period=3600)
    rates.hit("send", "ann")
    assert not rates.hit("send", "ann")
    match change:
        case "refund":
            rates.refund("send", "ann")
        case "reset":
            rates.reset("send", "ann")
        case _:
            rates.set("send", limit=1, period=3600, burst=2)
    assert rates.hit("send", "ann")


def test_a_refusal_by_concurrency_is_never_known(rates: Rates) -> None:
    rates.set("export", algorithm="concurrency", limit=1)
    lease = (rates.hit("export", "ann", remember=True)).rid
    assert lease
    assert not (rates.hit_all([("export", "ann", 0)])).cached
    assert not rates.hit("export", "ann", remember=True)
    rates.release("export", "ann", lease)
    assert rates.hit("export", "ann", remember=True)


# The server is away


@pytest.fixture
def away(binary: Any, base_name: str) -> Iterator[tuple[EmbeddedServer, Rates]]:
    """A server of our own that can be stopped, with a rule that is open and one that is closed."""
    with EmbeddedServer(binary=binary) as server:
        with Adeq.from_url(server.url, retry_for=0) as adeq:
            rates = adeq.rates(base_name)
            rates.set("open", limit=2, period=3600, on_error="open")
            rates.set("closed", limit=2, period=3600)
            yield server, rates


def test_rules_say_what_holds_while_the_server_is_away(away: tuple[EmbeddedServer, Rates]) -> None:
    server, rates = away
    rates.hit_all([("open", "ann"), ("closed", "ann")])
    server.stop()
    answers = [rates.hit(rule, "ann") for rule in ("open", "closed")]
    assert [(one.allowed, one.status, one.rules) for one in answers] == [
        (True, "unavailable", ()),
        (False, "unavailable", ()),
    ]
    assert isinstance(answers[0].error, TransportError)
    assert not rates.hit_all([("open", "ann"), ("closed", "ann")])
    assert not rates.hit("unknown", "ann")
    assert rates.hit("unknown", "ann", on_error="open")
    assert not rates.hit("closed", "ann", on_error="open"), "the rule is known"
    with pytest.raises(TransportError):
        rates.peek("open", "ann")


def test_a_server_that_takes_no_writes_is_away(away: tuple[EmbeddedServer, Rates]) -> None:
    server, rates = away
    rates.hit("open", "ann")
    with Adeq.from_url(server.url) as other:
        other.client.config_set("maxmemory", 1)
        assert (rates.hit("open", "bob")).status == "unavailable"
        assert (rates.hit("open", "bob")).allowed
        other.client.config_set("maxmemory", 0)
        assert (rates.hit("open", "bob")).status == "allowed"


# Partitions


def test_subjects_are_spread_over_partitions_and_each_counts_once(rates: Rates) -> None:
    parted = rates.partitioned(4)
    assert parted is rates.partitioned(4)
    parted.set("send", limit=2, period=3600)
    parted.set("all", limit=9, period=3600)
    users = [f"user:{number}" for number in range(20)]
    for user in users:
        assert (parted.hit_all([("send", user), ("all", user, 3)])).rules[1].remaining == 6
        assert parted.hit("send", user)
        assert not parted.hit("send", user)
    homes = {base for base in parted.bases for user in users if exists(parted, f"{base}:g:send|{user}")}
    assert len(homes) > 1
    assert parted.refund("send", users[0]) == 1
    assert parted.reset("send", users[0]) == 2
    assert [rule.name for rule in parted.list()] == ["all", "send"]
    assert rates.list() == []


def exists(rates: Rates, key: str) -> bool:
    found: Any = rates._runner
    return bool(found.client.exists(key))


def test_a_call_of_two_subjects_is_refused_before_it_is_sent(rates: Rates) -> None:
    parted = rates.partitioned(4)
    with pytest.raises(BadArgument, match=r"hits: \['ann', 'bob'\] is not accepted; allowed: one subject in a call"):
        parted.hit_all([("no such rule", "ann"), ("send", "bob")])
    with pytest.raises(BadArgument, match="rule must be the name of a rule"):
        parted.hit("send", "ann")


def test_leases_are_in_the_partition_of_their_subject(rates: Rates) -> None:
    parted = rates.partitioned(3)
    parted.set("export", algorithm="concurrency", limit=1)
    for user in ("ann", "bob", "cleo"):
        lease = (parted.hit("export", user, remember=True)).rid
        assert lease
        assert parted.renew("export", user, lease)
        assert parted.release("export", user, lease)
    assert parted.remove("export")
    assert parted.get("export") is None


@pytest.mark.parametrize("partitions", [0, 1025, True, "4"])
def test_a_bad_number_of_partitions_is_refused(rates: Rates, partitions: Any) -> None:
    with pytest.raises(BadArgument, match=r"partitions: .* is not accepted; allowed: an integer from 1 to 1024"):
        rates.partitioned(partitions)


def test_partitions_have_no_partitions(rates: Rates) -> None:
    with pytest.raises(ConfigError, match="these rates have partitions already"):
        rates.partitioned(2).partitioned(4)
