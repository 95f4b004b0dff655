"""Workers of two versions of a program on one queue: what the older ones do not know, they leave to the newer ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pyadeq import Task
from pyadeq.asyncio import Adeq, Queue, Tasks, TaskView, Worker
from pyadeq.errors import ConfigError
from pyadeq.models.queue import Tier
from pyadeq.testing import Clock
from tests.integration.conftest import Proxy
from tests.integration.running import at_work, working
from tests.integration.worker import crunching
from tests.waiting import LONGEST_RETRY, eventually


class Version:
    """A version of the program: the kinds that it knows, and what it has run."""

    def __init__(self, *kinds: str) -> None:
        self.ran: list[int] = []
        self.tasks = Tasks()
        for kind in kinds:
            self.tasks.task(name=kind)(self.run)

    async def run(self, n: int = 0) -> None:
        self.ran.append(n)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def queue(url: str, base_name: str, clock: Clock) -> AsyncIterator[Queue]:
    """On a clock that stands still. A worker that starts looks at once for what is due."""
    async with Adeq.from_url(url, clock=clock) as adeq:
        queue = adeq.queue(base_name)
        await queue.configure(clock="test")
        yield queue


async def get(queue: Queue, id: str) -> TaskView:
    task = await queue.get(id)
    assert task
    return task


async def in_state(queue: Queue, id: str, state: str) -> TaskView:
    async def reached() -> bool:
        return (await get(queue, id)).state == state

    await eventually(reached)
    return await get(queue, id)


async def meet(queue: Queue, version: Version, id: str, **options: Any) -> TaskView:
    """A worker of this version meets the task, which is not running then."""
    before = (await get(queue, id)).deliveries

    async def met() -> bool:
        task = await get(queue, id)
        return task.deliveries > before and task.state != "running"

    async with working(queue, version.tasks, **options):
        await eventually(met)
    return await get(queue, id)


async def test_a_new_kind_waits_for_a_worker_that_knows_it(queue: Queue, clock: Clock) -> None:
    old, new = Version("mail"), Version("mail", "fax")
    await queue.enqueue_many([Task(kind="fax", id="fax", payload={"n": 1}), Task(kind="mail", id="mail", payload={})])
    async with working(queue, old.tasks) as worker:
        await in_state(queue, "mail", "completed")
        await in_state(queue, "fax", "delayed")
        await eventually(lambda: worker.health().put_aside)
    task = await get(queue, "fax")
    assert (task.attempts, task.crashes, task.deliveries, task.error) == (0, 0, 1, None)
    assert task.progress_text == "put aside: the worker does not know the kind 'fax'; attempt 1"
    clock.advance(3)
    task = await meet(queue, new, "fax")
    assert (task.state, task.attempts, new.ran) == ("completed", 1, [1])
    assert (worker.health().put_aside, worker.health().failed) == (1, 0)


async def test_it_is_dead_after_ten_minutes_even_if_each_worker_meets_it_once(queue: Queue, clock: Clock) -> None:
    old, waits = Version(), []
    await queue.enqueue(kind="fax", id="fax")
    clock.advance(3600)  # in a long backlog: the time begins when a worker meets the task
    began = clock.now
    while (task := await meet(queue, old, "fax")).state != "dead":
        assert task.due is not None
        waits.append(task.due - clock.now)
        clock.advance(waits[-1])
    assert 600 <= clock.now - began < 610
    assert (task.reason, task.attempts) == ("unknown_kind", 1)
    assert "kind: 'fax' is not known here; known: none" in str(task.error)
    assert 10 <= len(waits) <= 25
    assert min(waits[:-1]) >= 1.8
    assert max(waits) <= 66
    assert waits[4] > 2 * waits[0], "the pauses grow"


async def test_it_is_dead_after_ten_minutes_even_if_workers_do_not_know_different_things(
    queue: Queue, clock: Clock
) -> None:
    await queue.enqueue(kind="fax", id="fax", headers={"_version": 2})
    began = clock.now
    for number in range(100):
        task = await meet(queue, Version("fax") if number % 2 else Version(), "fax")
        if task.state == "dead":
            break
        assert task.due is not None
        clock.advance(task.due - clock.now)
    assert task.state == "dead"
    assert 600 <= clock.now - began < 610


async def test_the_time_begins_anew_after_a_run(queue: Queue, clock: Clock) -> None:
    """As in a rollback: newer workers return the task, and the older ones meet it again."""
    old = Version()
    await queue.enqueue(kind="fax", id="fax")
    await meet(queue, old, "fax")
    clock.advance(700)
    (lease,) = await queue.claim()
    await queue.release(lease)
    task = await meet(queue, old, "fax")
    assert (task.state, task.attempts) == ("delayed", 0)
    clock.advance(700)
    assert (await meet(queue, old, "fax")).state == "dead"


async def test_a_newer_version_of_the_arguments_waits_too(queue: Queue, clock: Clock) -> None:
    old, new, ran = Version("mail"), Tasks(), []

    @new.task(name="mail", version=2, headers={"by": "ann"})
    async def mail(to: list[str]) -> None:
        ran.append(to)

    await queue.bind(mail).options(id="new").enqueue(["ann"])
    await queue.enqueue_many([mail.options(id="item").item(["bob"])])
    assert (await get(queue, "new")).headers == {"by": "ann", "_version": 2}
    task = await meet(queue, old, "new")
    assert (task.state, task.progress_text) == (
        "delayed",
        "put aside: the worker does not know version 2 of the kind 'mail'; attempt 1",
    )
    clock.advance(3)
    async with working(queue, new):
        assert (await in_state(queue, "new", "completed")).attempts == 1
        await in_state(queue, "item", "completed")
    assert sorted(ran) == [["ann"], ["bob"]]
    await queue.bind(mail).options(id="third").enqueue(["dan"])
    assert (await meet(queue, old, "third", unknown_for=0)).reason == "unknown_version"
    await queue.enqueue({"to": ["cleo"]}, kind="mail", id="older", headers={"_version": "no number"})
    async with working(queue, new):
        await in_state(queue, "older", "completed")
    assert ran[2:] == [["cleo"]]


async def test_without_patience_it_is_dead_at_once(queue: Queue) -> None:
    await queue.enqueue(kind="fax", id="fax")
    assert (await meet(queue, Version(), "fax", unknown_for=0)).reason == "unknown_kind"
    with pytest.raises(ConfigError, match="unknown_for: -1 is not accepted; allowed: 0 s"):
        Worker(queue, Version().tasks, unknown_for=-1)


async def test_many_unknown_tasks_do_not_starve_the_known_ones(queue: Queue) -> None:
    """The unknown ones are first, and have the better priority."""
    await queue.enqueue_many([Task(kind="fax", priority=1) for _ in range(500)])
    await queue.enqueue_many([Task(kind="mail", payload={"n": n}) for n in range(20)])
    old = Version("mail")
    async with working(queue, old.tasks) as worker:
        await eventually(lambda: len(old.ran) == 20 and worker.health().put_aside == 500)
        assert worker.health().running == 0
    stats = await queue.stats()
    assert (stats.delayed, stats.finished, stats.dead) == (500, 20, 0)


async def test_lost_replies_put_nothing_aside_twice(queue: Queue, clock: Clock, proxy: Proxy) -> None:
    await queue.enqueue_many([Task(kind="fax", id=f"t{n}") for n in range(40)])
    proxy.lose_every = 10
    async with Adeq.from_url(proxy.url, clock=clock, retry_for=LONGEST_RETRY) as adeq:
        worker = Worker(adeq.queue(queue.name), Version().tasks, concurrency=2)
        async with at_work(worker):
            await eventually(lambda: worker.health().put_aside == 40)
    assert proxy.lost
    assert {(task.state, task.deliveries) async for task in queue.iterate("delayed")} == {("delayed", 1)}
    assert (await queue.stats()).counters["snoozed"] == 40


async def test_a_network_that_fails_delays_it(queue: Queue, clock: Clock, proxy: Proxy, caplog: Any) -> None:
    async def cut(lease: Any, call_next: Any) -> Any:
        proxy.deaf = True
        return await call_next(lease)

    await queue.enqueue(kind="fax", id="fax")
    async with Adeq.from_url(proxy.url, clock=clock, retry_for=0.2) as adeq:
        worker = Worker(adeq.queue(queue.name), Version().tasks, middleware=[cut])
        async with at_work(worker):
            await eventually(lambda: "are not put aside yet" in caplog.text)
            assert (await get(queue, "fax")).state == "running"
            proxy.deaf = False
            await eventually(lambda: worker.health().put_aside)
    assert (await get(queue, "fax")).state == "delayed"


async def test_a_worker_that_stops_puts_aside_what_it_has(queue: Queue) -> None:
    """The task is unknown only when the worker is stopping already."""
    began, go_on = asyncio.Event(), asyncio.Event()

    async def wait(lease: Any, call_next: Any) -> Any:
        began.set()
        await go_on.wait()
        return await call_next(lease)

    await queue.enqueue(kind="fax", id="fax")
    async with working(queue, Version().tasks, middleware=[wait]) as worker:
        await began.wait()
        worker.stop()
        go_on.set()
    task = await get(queue, "fax")
    assert (task.state, task.attempts) == ("delayed", 0)


async def test_in_partitions(adeq: Adeq, base_name: str) -> None:
    queue = adeq.partitioned(base_name)
    await queue.repartition(4)
    await queue.enqueue_many([Task(kind="fax") for _ in range(20)])
    worker = Worker(queue, Version().tasks)
    async with at_work(worker):
        await eventually(lambda: worker.health().put_aside >= 20)
    stats = await queue.stats()
    assert (stats.delayed + stats.ready, stats.dead) == (20, 0)


@pytest.mark.parametrize("tier", ["confidential", "restricted"])
async def test_unknown_arguments_of_a_hidden_payload_are_not_named(
    queue: Queue, caplog: pytest.LogCaptureFixture, tier: Tier
) -> None:
    version = Version("mail")
    await queue.enqueue({"hunter": 1, "password": 2}, kind="mail", id="m", tier=tier)
    async with working(queue, version.tasks) as worker:
        await in_state(queue, "m", "completed")
        assert worker.health().ignored_arguments == 2
    told = [one.getMessage() for one in caplog.records if "ignored" in one.getMessage()]
    assert told == ["kind 'mail': arguments are not known here, and are ignored: …, …"]


async def test_unknown_arguments_are_ignored_and_counted(queue: Queue, caplog: pytest.LogCaptureFixture) -> None:
    tasks, ran = Tasks(), []

    @tasks.task
    async def mail(to: str) -> None:
        ran.append(to)

    @tasks.task(strict=True)
    async def post(to: str) -> None: ...

    tasks.include(crunching.tasks)
    more = {"copies": 2, "not a name": "hunter2"}
    for n in range(3):
        await queue.enqueue({"to": f"ann{n}", **more}, kind="mail")
    await queue.enqueue({"pair": {"a": 1, "b": 2}, "unit": "g"}, kind="add", id="there")
    await queue.enqueue({"to": "bob", **more}, kind="post", id="strict")
    async with working(queue, tasks) as worker:
        assert (await in_state(queue, "strict", "dead")).reason == "bad_input"
        assert (await in_state(queue, "there", "completed")).result["a"] == 3
        await eventually(lambda: len(ran) == 3 and worker.health().ignored_arguments == 7)
    told = [one.getMessage() for one in caplog.records if "are ignored" in one.getMessage()]
    assert sorted(told) == [
        "kind 'add': arguments are not known here, and are ignored: unit",
        "kind 'mail': arguments are not known here, and are ignored: copies, …",
    ]


@pytest.fixture
async def adeq(url: str) -> AsyncIterator[Adeq]:
    async with Adeq.from_url(url) as adeq:
        yield adeq


async def test_older_arguments_are_upgraded_step_by_step(queue: Queue) -> None:
    first, second, third = Tasks(), Tasks(), Tasks()

    @first.task(name="send")
    def one(address: str) -> None: ...

    @second.task(name="send", version=2)
    def two(to: list[str]) -> None: ...

    @third.task(version=3)
    async def send(to: list[str], *, loud: bool) -> list[str]:
        return [one.upper() for one in to] if loud else to

    @send.upgrade(1)
    def to_list(old: dict[str, Any]) -> dict[str, Any]:
        return {"to": [old["address"]]}

    @send.upgrade(2)
    def quiet(old: dict[str, Any]) -> dict[str, Any]:
        return {**old, "loud": False}

    with pytest.raises(ConfigError, match="version 3 is not accepted; allowed: versions before 3"):
        send.upgrade(3)
    with pytest.raises(ConfigError, match="version 2 has a function already"):
        send.upgrade(2)
    await queue.bind(one).options(id="1").enqueue("ann")
    await queue.bind(two).options(id="2").enqueue(["bob"])
    await queue.bind(send).options(id="3").enqueue(["cleo"], loud=True)
    await queue.enqueue(b"not JSON", id="4", kind="send")
    async with working(queue, third):
        ended = [await in_state(queue, id, "completed") for id in "123"]
        assert (await in_state(queue, "4", "dead")).reason == "bad_input"
    assert [task.result for task in ended] == [["ann"], ["bob"], ["CLEO"]]


async def test_an_upgrade_that_fails_fails_the_run(queue: Queue) -> None:
    charged: list[int] = []

    @queue.task(version=2, max_attempts=1)
    def charge(cents: int = 0) -> None:
        charged.append(cents)

    @charge.upgrade(1)
    def to_cents(old: dict[str, Any]) -> Any:
        return {"cents": int(old["euros"]) * 100} if old else old.get("none")

    await queue.enqueue({"euros": "12.50"}, id="refused", kind="charge", max_attempts=1)
    await queue.enqueue(id="none", kind="charge", max_attempts=1)
    async with working(queue, queue.tasks):
        refused, none = [await in_state(queue, id, "dead") for id in ("refused", "none")]
    assert (refused.reason, none.reason, charged) == ("ValueError", "ConfigError", [])
    assert "upgrade(1) has returned NoneType; allowed: a dict of the arguments of version 2" in str(none.error)


def test_a_schema_says_what_a_caller_must_know() -> None:
    tasks = Tasks()

    @tasks.task(name="mail.send", version=2)
    def send(to: str, pages: int = 1) -> dict[str, int]:
        """Send a mail."""
        return {to: pages}

    assert tasks.schemas() == {
        "mail.send": {
            "kind": "mail.send",
            "version": 2,
            "description": "Send a mail.",
            "arguments": {
                "type": "object",
                "title": "arguments",
                "additionalProperties": False,
                "properties": {"to": {"type": "string", "title": "To"}, "pages": {"type": "integer", "title": "Pages"}},
                "required": ["to"],
            },
            "result": {"type": "object", "additionalProperties": {"type": "integer"}},
        }
    }
