"""Waiting for how tasks end: by whom, for how long, and what is found when the record has gone."""

from time import monotonic
from typing import Any

import pytest

from pyadeq._async.queue import results
from pyadeq._twins import aio_join, aio_sleep, aio_spawn
from pyadeq.asyncio import Adeq, Failure, Queue, Task
from pyadeq.errors import AdeqError, TaskCancelled, TaskDead, TaskGone, WaitTimeout
from tests.waiting import DEADLINE


async def work(queue: Queue, result: Any = None, error: str = "") -> None:
    """Claim one task, as soon as there is one, and end it."""
    (lease,) = await queue.claim("w1", 1, wait=DEADLINE)
    if error:
        await queue.fail(lease, error, reason="bad", retryable=False)
    else:
        await queue.ack(lease, result)


@pytest.mark.parametrize("reply", [True, False])
async def test_a_receipt_waits_for_the_result(queue: Queue, reply: bool) -> None:
    receipt = await queue.enqueue("work", reply=reply)
    worker = aio_spawn(lambda: work(queue, {"length": 4}))
    assert await receipt.result(DEADLINE) == {"length": 4}
    assert await receipt.result(0) == {"length": 4}, "and again"
    await aio_join(worker, DEADLINE)


async def test_run_enqueues_and_waits(adeq: Adeq, queue: Queue) -> None:
    worker = aio_spawn(lambda: work(queue, [1, 2]))
    assert await adeq.run(queue.name, "work", kind="count", wait=DEADLINE) == [1, 2]
    await aio_join(worker, DEADLINE)


async def test_run_waits_for_the_task_that_stands_for_its_own(queue: Queue) -> None:
    first = await queue.enqueue("work", idempotency_key="k")
    worker = aio_spawn(lambda: work(queue, "of the first"))
    assert await queue.run("work again", idempotency_key="k", wait=DEADLINE) == "of the first"
    assert await first.result(0) == "of the first"
    await aio_join(worker, DEADLINE)


async def test_many_wait_for_one(queue: Queue) -> None:
    receipt = await queue.enqueue("work", reply=True)
    heard: list[Any] = []

    async def wait() -> None:
        heard.append(await receipt.result(DEADLINE))

    waiters = [aio_spawn(wait) for _ in range(20)]
    await work(queue, "done")
    for waiter in waiters:
        await aio_join(waiter, DEADLINE)
    assert heard == ["done"] * 20


async def test_how_a_task_ended_without_a_result(queue: Queue) -> None:
    dead, cancelled, purged = [await queue.enqueue(word, id=word, reply=True) for word in ("dead", "out", "gone")]
    await queue.cancel("out")
    await work(queue, error="no such file")
    await queue.admin.purge()
    with pytest.raises(TaskDead, match="'dead' is dead: bad") as caught:
        await dead.result(DEADLINE)
    assert (caught.value.id, caught.value.reason, caught.value.error) == ("dead", "bad", "no such file")
    with pytest.raises(TaskCancelled, match="out"):
        await cancelled.result(DEADLINE)
    with pytest.raises(TaskGone, match="deleted before it ran"):
        await purged.result(DEADLINE)
    with pytest.raises(TaskGone, match="there is no task 'never'"):
        await queue.result("never", DEADLINE)


async def test_who_waits_in_vain_hears_where_the_task_is(queue: Queue) -> None:
    receipt = await queue.enqueue("work", delay=3600)
    with pytest.raises(WaitTimeout, match="is delayed"):
        await receipt.result(0.05)
    with pytest.raises(WaitTimeout, match="is ready"):
        await queue.run("work", wait=0.05)
    with pytest.raises(AdeqError, match="timeout"):
        await receipt.result("soon")  # type: ignore[arg-type]


async def test_who_waits_in_vain_hears_why_no_worker_takes_it(
    adeq: Adeq, queue: Queue, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(results, "EXPLAINED", 0.0)

    async def refused(said: str, kind: str | None = "answr") -> None:
        with pytest.raises(WaitTimeout, match=rf"is ready; it has not ended within the time to wait{said}$"):
            await queue.run("work", kind=kind, wait=0)

    unseen = f"no worker has been seen on queue '{queue.name}': start one, or look at its log"
    await refused(f"; {unseen}")
    await refused(f"; {unseen}")
    await queue.workers.register("w1")
    await refused("")  # it may take all kinds
    await adeq.kinds(queue.name).publish([{"kind": "answer"}])
    unknown = f"no worker of '{queue.name}' has published the kind 'answr'; did you mean answer?"
    await refused(f"; {unknown}".replace("?", r"\?"))
    await refused("", kind="answer")
    await refused("", kind=None)
    told = [one.message.partition(" waits: ")[2] for one in caplog.records if one.name == "pyadeq.queue"]
    assert told == [unseen, unknown], "each once"


async def test_a_result_that_is_dropped_at_once_still_reaches_who_waits(queue: Queue) -> None:
    await queue.configure(finished_max=0)
    receipt = await queue.enqueue("work", reply=True, result_ttl=0)
    await work(queue, "only for those who wait")
    assert await queue.get(receipt.id) is None
    assert await receipt.result(DEADLINE) == "only for those who wait"
    assert (await queue.inspect.outcome(receipt.id)).status == "completed"


async def test_a_task_that_is_tried_again_is_waited_for_again(queue: Queue) -> None:
    receipt = await queue.enqueue("work", reply=True)
    await work(queue, error="not yet")
    with pytest.raises(TaskDead):
        await receipt.result(DEADLINE)
    await queue.dead.retry(receipt.id)
    assert (await queue.inspect.outcome(receipt.id)).status == "waiting"
    worker = aio_spawn(lambda: work(queue, "now"))
    assert await receipt.result(DEADLINE) == "now"
    await aio_join(worker, DEADLINE)


async def test_results_are_bytes_json_or_nothing(queue: Queue) -> None:
    receipts = await queue.enqueue_many([Task(payload=n, reply=n % 2 == 0) for n in range(4)])
    leases = await queue.claim("w1", 4)
    await queue.ack_many(list(zip(leases, [b"\xff\x00", None, "text", {"a": [1.5, None]}], strict=True)))
    outcomes = [await queue.inspect.ended(receipt.id) for receipt in receipts]
    assert [outcome.data for outcome in outcomes] == [b"\xff\x00", b"", b'"text"', b'{"a":[1.5,null]}']
    assert [await receipt.result() for receipt in receipts[1:]] == [None, "text", {"a": [1.5, None]}]


async def test_a_failure_says_when_to_try_again_and_for_how_long(queue: Queue) -> None:
    await queue.enqueue("work", id="t", timeout=5)
    (lease,) = await queue.claim("w1", 1)
    (answer,) = await queue.fail_many([Failure(lease, "busy", delay=600, timeout=10, alert=True, exit_code=75)])
    task = await queue.get("t")
    assert task is not None
    assert (task.state, task.due, task.timeout, task.exit_code) == ("delayed", answer.due, 10, 75)
    stats = await queue.stats()
    assert answer.due is not None
    assert 590 < answer.due - stats.now <= 600


async def test_who_loses_all_connections_while_waiting_loses_nothing(queue: Queue, client: Any) -> None:
    receipt = await queue.enqueue("work", reply=True)
    heard: list[Any] = []

    async def wait() -> None:
        heard.append(await receipt.result(DEADLINE))

    waiter = aio_spawn(wait)
    (lease,) = await queue.claim("w1", 1, wait=DEADLINE)
    await until_heard(client, queue)
    for kind in ("normal", "pubsub"):
        client.client_kill_filter(_type=kind, skipme=True)
    await queue.ack(lease, "done")
    await aio_join(waiter, DEADLINE)
    assert heard == ["done"]


async def until_heard(client: Any, queue: Queue) -> None:
    """Until somebody listens for the end of a task."""
    until = monotonic() + DEADLINE
    while not client.pubsub_shardchannels(f"{queue.base}:channel:*"):
        assert monotonic() < until, "nobody listens"
        await aio_sleep(0.01)


async def test_a_user_without_channels_waits_by_looking(url: str, base_name: str, client: Any) -> None:
    """A server may let its users publish nothing: what is done is done all the same."""
    client.acl_setuser("quietly", enabled=True, passwords=["+secret"], keys=["*"], channels=[], commands=["+@all"])
    try:
        from_there = url.replace("://", "://quietly:secret@", 1) if "@" not in url else url
        async with Adeq.from_url(from_there) as adeq:
            assert await adeq.client.acl_whoami() in ("quietly", b"quietly")
            queue = adeq.queue(base_name)
            receipt = await queue.enqueue("work", reply=True)
            await work(queue, "done")
            assert await receipt.result(DEADLINE) == "done"
            async with adeq.locks(base_name).acquire("r", owner="me") as grant:
                assert grant.fence
    finally:
        client.acl_deluser("quietly")
