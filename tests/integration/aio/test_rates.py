"""Rates as their users see them: what hits are told, refusals that are known, and a server that is away."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from pyadeq import RateRule
from pyadeq.asyncio import Adeq, Rates
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import BadArgument, ConfigError, TransportError
from tests.integration.conftest import Clock


@pytest.fixture
async def rates(adeq: Adeq, base_name: str) -> Rates:
    return adeq.rates(base_name)


@pytest.fixture
async def timed_rates(url: str, base_name: str, clock: Clock) -> AsyncIterator[Rates]:
    """Rates whose time is the test's."""
    async with Adeq.from_url(url, clock=clock) as adeq:
        rates = adeq.rates(base_name)
        await rates.configure(clock="test")
        yield rates


async def test_a_hit_is_told_what_each_rule_says(timed_rates: Rates) -> None:
    await timed_rates.set("send", limit=60, period=60, burst=2)
    await timed_rates.set("all", algorithm="log", limit=3, period=60, on_error="open")
    answer = await timed_rates.hit_all([("send", "ann"), ("all", "all", 2)])
    assert answer
    assert (answer.status, answer.retry_after, answer.rid, answer.cached) == ("allowed", 0, None, False)
    assert answer.rules == (
        ("send", "ann", "allowed", 1, 0, 1, 60, 60, "closed"),
        ("all", "all", "allowed", 1, 0, 60.001, 3, 60, "open"),
    )
    answer = await timed_rates.hit_all([("send", "ann"), ("all", "all", 2)])
    assert not answer
    assert (answer.status, answer.retry_after) == ("refused", 60.001)
    assert [(one.status, one.remaining, one.retry_after) for one in answer.rules] == [
        ("allowed", 1, 0),
        ("refused", 1, 60.001),
    ]
    assert (await timed_rates.hit("send", "ann", 3)).status == "never"
    assert (await timed_rates.peek("send", "ann")).remaining == 1


async def test_time_gives_back_and_so_do_refund_and_reset(timed_rates: Rates, clock: Clock) -> None:
    await timed_rates.set("send", limit=60, period=60, burst=2)
    assert [bool(await timed_rates.hit("send", "ann")) for _ in range(3)] == [True, True, False]
    clock.tick(1)
    assert [bool(await timed_rates.hit("send", "ann")) for _ in range(2)] == [True, False]
    assert await timed_rates.refund("send", "ann") == 1
    assert await timed_rates.hit("send", "ann")
    assert await timed_rates.reset("send", "ann") == 2


async def test_rules_are_stored_read_and_removed(rates: Rates) -> None:
    assert await rates.list() == []
    stored = await rates.set("b", limit=2, algorithm="concurrency", lease=5, shadow=True)
    assert (stored.status, stored.version) == ("stored", 1)
    await rates.set("a", limit=2, period=0.5)
    assert (await rates.set("a", limit=2, period=0.5, burst=2)).status == "same"
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
    assert (await rates.list())[0] == first
    assert await rates.get("a") == first
    assert [(rule.name, rule.lease, rule.shadow) for rule in await rates.list()] == [("a", 0, False), ("b", 5, True)]
    assert await rates.remove("a") is True
    assert await rates.remove("a") is False
    assert await rates.get("a") is None
    with pytest.raises(BadArgument, match=r"rule must be the name of a rule that is stored.*got 'a'"):
        await rates.hit("a", "ann")


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
async def test_a_bad_rule_is_refused_and_nothing_stored(rates: Rates, fields: Any, text: str) -> None:
    with pytest.raises(BadArgument, match=text):
        await rates.set("a", **fields)
    assert await rates.list() == []


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
async def test_a_bad_hit_is_refused(rates: Rates, hits: Any, text: str) -> None:
    await rates.set("a", limit=1, period=60)
    with pytest.raises(BadArgument, match=text):
        await rates.hit_all(hits)


async def test_a_lease_is_renewed_and_given_back(timed_rates: Rates, clock: Clock) -> None:
    await timed_rates.set("export", algorithm="concurrency", limit=1, lease=30)
    with pytest.raises(BadArgument, match="rid must be given: it names the lease"):
        await timed_rates.hit("export", "ann")
    answer = await timed_rates.hit("export", "ann", remember=True)
    assert answer.rid
    clock.tick(20)
    assert await timed_rates.renew("export", "ann", answer.rid) == clock.now_ms / 1000 + 30
    clock.tick(20)
    assert not await timed_rates.hit("export", "ann", remember=True)
    assert await timed_rates.release("export", "ann", answer.rid) is True
    assert await timed_rates.release("export", "ann", answer.rid) is False
    assert await timed_rates.renew("export", "ann", answer.rid) is None
    assert await timed_rates.hit("export", "ann", remember=True)


async def test_a_lease_given_back_before_its_hit_does_not_begin(timed_rates: Rates) -> None:
    await timed_rates.set("export", algorithm="concurrency", limit=1, lease=30)
    assert await timed_rates.release("export", "ann", "r1") is False
    answer = await timed_rates.hit("export", "ann", rid="r1")
    assert (answer.allowed, answer.status, answer.rid) == (False, "returned", "r1")
    assert (await timed_rates.peek("export", "ann")).remaining == 1


# Refusals that the client knows


async def test_a_refusal_is_known_until_the_hit_could_pass(rates: Rates) -> None:
    await rates.set("send", limit=1, period=3600)
    assert await rates.hit("send", "ann")
    first = await rates.hit("send", "ann")
    again = await rates.hit("send", "ann")
    assert (first.cached, again.cached, again.status) == (False, True, "refused")
    assert again.retry_after < first.retry_after
    assert again.rules == first.rules
    assert not (await rates.hit("send", "bob")).cached
    assert not (await rates.hit("send", "ann", remember=True)).cached


@pytest.mark.parametrize("change", ["refund", "reset", "rule"])
async def test_what_this_client_changes_counts_at_once(rates: Rates, change: str) -> None:
    await rates.set("send", limit=1, period=3600)
    await rates.hit("send", "ann")
    assert not await rates.hit("send", "ann")
    match change:
        case "refund":
            await rates.refund("send", "ann")
        case "reset":
            await rates.reset("send", "ann")
        case _:
            await rates.set("send", limit=1, period=3600, burst=2)
    assert await rates.hit("send", "ann")


async def test_a_refusal_by_concurrency_is_never_known(rates: Rates) -> None:
    await rates.set("export", algorithm="concurrency", limit=1)
    lease = (await rates.hit("export", "ann", remember=True)).rid
    assert lease
    assert not (await rates.hit_all([("export", "ann", 0)])).cached
    assert not await rates.hit("export", "ann", remember=True)
    await rates.release("export", "ann", lease)
    assert await rates.hit("export", "ann", remember=True)


# The server is away


@pytest.fixture
async def away(binary: Any, base_name: str) -> AsyncIterator[tuple[EmbeddedServer, Rates]]:
    """A server of our own that can be stopped, with a rule that is open and one that is closed."""
    with EmbeddedServer(binary=binary) as server:
        async with Adeq.from_url(server.url, retry_for=0) as adeq:
            rates = adeq.rates(base_name)
            await rates.set("open", limit=2, period=3600, on_error="open")
            await rates.set("closed", limit=2, period=3600)
            yield server, rates


async def test_rules_say_what_holds_while_the_server_is_away(away: tuple[EmbeddedServer, Rates]) -> None:
    server, rates = away
    await rates.hit_all([("open", "ann"), ("closed", "ann")])
    server.stop()
    answers = [await rates.hit(rule, "ann") for rule in ("open", "closed")]
    assert [(one.allowed, one.status, one.rules) for one in answers] == [
        (True, "unavailable", ()),
        (False, "unavailable", ()),
    ]
    assert isinstance(answers[0].error, TransportError)
    assert not await rates.hit_all([("open", "ann"), ("closed", "ann")])
    assert not await rates.hit("unknown", "ann")
    assert await rates.hit("unknown", "ann", on_error="open")
    assert not await rates.hit("closed", "ann", on_error="open"), "the rule is known"
    with pytest.raises(TransportError):
        await rates.peek("open", "ann")


async def test_a_server_that_takes_no_writes_is_away(away: tuple[EmbeddedServer, Rates]) -> None:
    server, rates = away
    await rates.hit("open", "ann")
    async with Adeq.from_url(server.url) as other:
        await other.client.config_set("maxmemory", 1)
        assert (await rates.hit("open", "bob")).status == "unavailable"
        assert (await rates.hit("open", "bob")).allowed
        await other.client.config_set("maxmemory", 0)
        assert (await rates.hit("open", "bob")).status == "allowed"


# Partitions


async def test_subjects_are_spread_over_partitions_and_each_counts_once(rates: Rates) -> None:
    parted = rates.partitioned(4)
    assert parted is rates.partitioned(4)
    await parted.set("send", limit=2, period=3600)
    await parted.set("all", limit=9, period=3600)
    users = [f"user:{number}" for number in range(20)]
    for user in users:
        assert (await parted.hit_all([("send", user), ("all", user, 3)])).rules[1].remaining == 6
        assert await parted.hit("send", user)
        assert not await parted.hit("send", user)
    homes = {base for base in parted.bases for user in users if await exists(parted, f"{base}:g:send|{user}")}
    assert len(homes) > 1
    assert await parted.refund("send", users[0]) == 1
    assert await parted.reset("send", users[0]) == 2
    assert [rule.name for rule in await parted.list()] == ["all", "send"]
    assert await rates.list() == []


async def exists(rates: Rates, key: str) -> bool:
    found: Any = rates._runner
    return bool(await found.client.exists(key))


async def test_a_call_of_two_subjects_is_refused_before_it_is_sent(rates: Rates) -> None:
    parted = rates.partitioned(4)
    with pytest.raises(BadArgument, match=r"hits: \['ann', 'bob'\] is not accepted; allowed: one subject in a call"):
        await parted.hit_all([("no such rule", "ann"), ("send", "bob")])
    with pytest.raises(BadArgument, match="rule must be the name of a rule"):
        await parted.hit("send", "ann")


async def test_leases_are_in_the_partition_of_their_subject(rates: Rates) -> None:
    parted = rates.partitioned(3)
    await parted.set("export", algorithm="concurrency", limit=1)
    for user in ("ann", "bob", "cleo"):
        lease = (await parted.hit("export", user, remember=True)).rid
        assert lease
        assert await parted.renew("export", user, lease)
        assert await parted.release("export", user, lease)
    assert await parted.remove("export")
    assert await parted.get("export") is None


@pytest.mark.parametrize("partitions", [0, 1025, True, "4"])
async def test_a_bad_number_of_partitions_is_refused(rates: Rates, partitions: Any) -> None:
    with pytest.raises(BadArgument, match=r"partitions: .* is not accepted; allowed: an integer from 1 to 1024"):
        rates.partitioned(partitions)


async def test_partitions_have_no_partitions(rates: Rates) -> None:
    with pytest.raises(ConfigError, match="these rates have partitions already"):
        rates.partitioned(2).partitioned(4)
