"""First posts and rounds are bounded, and nothing is lost: many groups, late processes, full stores, odd clocks."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pyadeq import EventGap, Failure, Task
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.ext.outgoing.posts import Forwarder, Posts
from pyadeq.ext.outgoing.posts.endpoints import QUEUE, new_endpoint
from pyadeq.ext.outgoing.posts.happened import all_in
from tests.integration.outgoing.posting import MINUTE, Posting, counted, posting, said
from tests.integration.outgoing.receivers import receiving, status

pytestmark = pytest.mark.any_engine
BOARD = "https://board.example"


@pytest.fixture
async def world(url: str, base_name: str) -> AsyncIterator[Posting]:
    async with posting(url, base_name) as made:
        yield made


async def test_many_reasons_make_few_posts(world: Posting) -> None:
    with receiving() as receiver:
        world.add(receiver, board=BOARD)
        for reason in range(40):
            world.fail(*[f"{reason}-{n}" for n in range(1 + (reason >= 35) * reason)], reason=f"r{reason:02}")
        await asyncio.gather(world.forward(), world.forward(forwarder=Forwarder(world.aio)))
        await world.minute(receiver)
    firsts = {one["reason"] for one in said(receiver, "first")}
    assert len(firsts) == len(said(receiver, "first")) == 10, "two processes claim ten numbers"
    large, small = [f"r{n}" for n in range(39, 34, -1)], [f"r{n:02}" for n in range(35) if f"r{n:02}" not in firsts]
    digests = said(receiver, "digest")
    assert [one["reason"] for one in digests] == [*large, *small[:5]]
    assert digests[-1]["title"].startswith("Task "), "one task is shown with all facts"
    (others,) = said(receiver, "others")
    number = len(small) - 5
    assert others["title"] == f"{number} other groups with {number} tasks"
    assert others["facts"]["Largest"].startswith(
        f"1 task in queue mail: {small[5]}; 1 task in queue mail: {small[6]}; "
    )
    assert others["facts"]["Largest"].endswith(f"; and {number - 5} more")
    assert others["links"] == {"show": f"{BOARD}/queues/mail/dead"}
    assert sum(map(counted, digests)) + number + 10 == 40 + sum(range(35, 40)), "each task is in one post"


@pytest.mark.slow
async def test_ten_thousand_reasons(world: Posting) -> None:
    queue = world.client.queue("mail")
    queue.configure(clock="test")
    with receiving() as receiver:
        world.add(receiver)
        for begin in range(0, 10_000, 200):
            world.now += 10
            queue.enqueue_many([Task(id=f"t{begin + n}") for n in range(200)])
            leases = queue.claim(limit=200)
            queue.fail_many([Failure(one, reason=f"r{one.id}", retryable=False) for one in leases])
        await asyncio.gather(world.forward(), world.forward(forwarder=Forwarder(world.aio)))
        await world.minute(receiver)
    assert len(receiver.seen) == 21
    (others,) = said(receiver, "others")
    assert others["title"] == "9,980 other groups with 9,980 tasks"


async def test_two_endpoints_each_have_their_posts(world: Posting) -> None:
    with receiving() as one, receiving() as two:
        world.add(one, "one")
        world.add(two, "two")
        world.fail("a", "b")
        await world.minute(one, two)
        Posts(world.client).remove("one")
        world.fail("c")
        await world.minute(one, two)
    for receiver, digests in ((one, ["b"]), (two, ["b", "c"])):
        assert [post["id"] for post in said(receiver, "first")] == ["a"]
        assert [post["title"].split()[1] for post in said(receiver, "digest")] == digests


async def test_an_endpoint_that_is_removed_in_a_round_leaves_nothing(world: Posting) -> None:
    def answer(handler: Any) -> None:
        Posts(world.client).remove("ops")
        status(500)(handler)

    with receiving(answer) as receiver:
        world.add(receiver)
        world.fail("a", "b")
        await world.forward()
        world.now += MINUTE
        await world.send(receiver)
        assert world.client.config("_posts").list() == {}
        world.now += MINUTE
        assert await world.send(receiver) == ["removed"]
        assert world.client.config("_posts").list() == {}
    with receiving() as receiver:
        world.now -= MINUTE  # the tasks of the former endpoint have the ids of these periods
        world.add(receiver)
        world.fail("c", "d")
        await world.minute(receiver)
        assert "c" in said(receiver, "digest")[0]["facts"]["Tasks"]


async def test_a_late_round_tells_all_since_the_last_one(world: Posting) -> None:
    with receiving() as receiver:
        world.add(receiver)
        world.fail("a", "b")
        await world.minute(receiver)
        for n in range(5):  # the service is away
            world.fail(f"t{n}", reason=f"r{n}")
            world.now += MINUTE
        await world.minute(receiver)
        assert len(said(receiver, "first")) == 1, "late events have no first post"
        assert [one["title"].split()[1] for one in said(receiver, "digest")] == ["b", "t0", "t1", "t2", "t3", "t4"]
        assert world.waiting() == []
        world.fail("c")
        await world.minute(receiver)
        assert said(receiver, "first")[-1]["id"] == "c"


async def test_a_round_that_fails_goes_on_where_it_ended(world: Posting) -> None:
    codes = [204, 204, 204, 500, 204, 204]

    def answer(handler: Any) -> None:
        status(codes.pop(0))(handler)

    with receiving(answer) as receiver:
        world.add(receiver)
        for reason in ("r1", "r2"):
            world.fail(*[f"{reason}-{n}" for n in range(3)], reason=reason)
        await world.minute(receiver)
        assert len(receiver.seen) == 4
        world.fail("late", reason="r1")
        world.now += MINUTE
        await world.minute(receiver)
    told = [(one["reason"], counted(one), one["until"]) for one in said(receiver, "digest")]
    assert told[1] == told[2], "the one that failed is sent again"
    assert [one[:2] for one in told] == [("r1", 2), ("r2", 2), ("r2", 2), ("r1", 1)]


async def test_a_dead_round_is_told_by_the_next_one(world: Posting) -> None:
    codes = [204, 302, *[204] * 3]

    def answer(handler: Any) -> None:
        status(codes.pop(0))(handler)

    with receiving(answer) as receiver:
        world.add(receiver)
        world.fail("a", "b")
        await world.forward()
        await world.send(receiver)
        world.now += MINUTE
        assert await world.send() == ["refused"], "this process may not send there"
        assert len(receiver.seen) == 1
        world.fail("c")
        codes.remove(302)
        await world.minute(receiver)
        (digest,) = said(receiver, "digest")
        assert digest["title"] == "2 tasks more in queue mail are dead: failed"
        world.client.queue(QUEUE).dead.retry_all()
        assert await world.send(receiver) == [{"status": "nothing to say"}]


async def test_a_full_config_is_cleaned_or_told(world: Posting) -> None:
    config = world.client.config("_posts")
    with receiving() as receiver:
        world.add(receiver)
        for start in range(0, 300, 100):
            config.set_many({f"told:ops:{start + n}": {} for n in range(100)})
        config.configure(names_max=301)
        world.fail("a", "b")
        await world.minute(receiver)
        assert config.list().keys() == {"ops", "told:ops"}, "what is about no endpoint is forgotten"
        assert "Note" not in said(receiver, "digest")[0]["facts"]
        config.remove("told:ops")
        config.configure(names_max=1)
        world.fail("c", "d")
        await world.minute(receiver)
    assert "The config _posts is full" in said(receiver, "digest")[-1]["facts"]["Note"]


async def test_a_gap_is_told(world: Posting, caplog: pytest.LogCaptureFixture) -> None:
    with receiving() as receiver:
        world.add(receiver)
        world.client.queue("mail").configure(clock="test", events_max=10)
        await world.forward()
        for n in range(150):
            world.fail(f"t{n}")
        with caplog.at_level(logging.WARNING):
            await world.minute(receiver)
        (lost,) = said(receiver, "lost")
        assert lost["title"].endswith(
            "events of queue mail were lost before they could be read; dead tasks are still in digests"
        )
        assert counted(lost) == lost["count"] > 100
        assert sum(map(counted, said(receiver, "digest"))) + len(said(receiver, "first")) == 150
        endpoints = await world.forwarder.endpoints()
        batch: Any = (await world.plain.events("queue", "mail").read("posts"))._replace(
            events=(), gap=EventGap(7, "1-0", "2-0", None)
        )
        for n in range(20):
            await world.forwarder.messages_of(f"queue:q{n}", batch, endpoints)
        await world.forwarder.messages_of("queue:q0", batch, endpoints)
        await world.send(receiver)
    titles = [one["title"] for one in said(receiver, "lost")[1:]]
    assert len(titles) == 11
    assert titles[0].startswith("Some events of queue q0 were lost")
    assert titles[-1].startswith("Some events of other queues and domains were lost")


@pytest.mark.parametrize(
    "jump", [-3_600_000, *(pytest.param(jump, marks=pytest.mark.slow) for jump in (-70_000, -5_000, 3_600_000))]
)
async def test_the_clock_jumps(world: Posting, jump: int, caplog: pytest.LogCaptureFixture) -> None:
    with receiving() as receiver:
        world.now += 2 * 3_600_000
        world.add(receiver)
        world.fail("a", "b")
        await world.minute(receiver)
        world.now += jump
        world.fail("c", "d")
        await world.minute(receiver)
        world.fail("e", "f")
        await world.minute(receiver)
        await world.minute(receiver)
    told = {one["id"] for one in said(receiver, "first")}
    for one in said(receiver, "digest"):
        told |= set(one["facts"]["Tasks"].split(", ") if "Tasks" in one["facts"] else [one["title"].split()[1]])
    assert told == set("abcdef")


async def test_partitions_are_merged_by_time(url: str, base_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyadeq.ext.outgoing.posts.happened.MOST", 8)
    async with AsyncAdeq.from_url(url, prefix=base_name) as aio:
        queue = aio.partitioned("mail")
        await queue.repartition(4)
        for n in range(12):
            await queue.enqueue(n, id=f"t{n:02}")
            (lease,) = await queue.claim(limit=1)
            await queue.fail(lease, reason="failed", retryable=False)
        endpoint = new_endpoint("json", "https://1.1.1.1", now=0.0)
        found = await all_in(aio, endpoint, 0, round(time.time() * 1000) + MINUTE)
    died = {one.id: one.at for one in found}
    assert list(died) == sorted(died, key=lambda id: (died[id], id))
    assert len(died) == 8
    assert set(died) >= {f"t{n:02}" for n in range(4)}, "the oldest of all partitions"
