"""Mailboxes: what waits in one scope is taken in batches, by whoever comes, and settled as one."""

import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from pyadeq._twins import aio_join, aio_sleep, aio_spawn
from pyadeq.asyncio import Adeq, Batch, Failure, Mailbox, Queue, Receipt, Task
from pyadeq.errors import BadArgument, ConfigError, DurabilityError, LeaseLost
from tests.integration.conftest import LINE, Clock
from tests.waiting import DEADLINE

# What somebody typed: at which millisecond, and what; and the batches of it in windows of 50 ms.
RECORDED = [
    (0, "hi"), (20, "are you there?"), (45, "it is about the build"),
    (400, "it fails since this morning"),
    (900, "on main"), (930, "and on my branch"), (949, "which I rebased"),
    (950, "twice"),
    (2000, "the log says:"), (2001, "error 1"), (2002, "error 2"), (2003, "error 3"), (2040, "that is all"),
    (3000, "any idea?"), (3049, "?"),
    (3100, "wait"), (3120, "I have it"),
    (5000, "a typo"), (5010, "sorry"), (5049, "bye"),
]  # fmt: skip
SIZES = [3, 1, 3, 1, 5, 2, 2, 3]
TEXTS = [text for _, text in RECORDED]


class Stop(BaseException):
    """As an interrupt is."""


class Told:
    """Callbacks that note what they are told."""

    def __init__(self) -> None:
        self.of: list[tuple[Any, ...]] = []

    async def on_enqueued(self, item: Any, receipt: Receipt) -> None:
        await aio_sleep(0)
        self.of.append(("enqueued", item, receipt.status))

    def on_dequeued(self, batch: Batch) -> None:
        self.of.append(("dequeued", *batch.items))

    async def on_blocked(self, reason: str, length: int) -> None:
        await aio_sleep(0)
        self.of.append(("blocked", reason, length))

    def on_cleared(self, reason: str, count: int) -> None:
        self.of.append(("cleared", reason, count))


@pytest.fixture
def queue(timed: Queue) -> Queue:
    return timed


@pytest.fixture
async def real(url: str, base_name: str) -> AsyncIterator[Queue]:
    """A queue whose time passes."""
    async with Adeq.from_url(url) as adeq:
        yield adeq.queue(base_name)


@pytest.fixture
def box(queue: Queue) -> Mailbox:
    return queue.mailbox("s")


async def fill(box: Mailbox, *items: Any, **options: Any) -> list[str]:
    """Items in line; their ids."""
    return [(await box.enqueue(item, **options)).id for item in items]


async def open_batch(box: Mailbox, clock: Clock) -> Batch:
    """What is in line, once the window is over."""
    clock.tick(box.window)
    batch = await box.try_dequeue()
    assert batch
    return batch


async def states(queue: Queue, batch: Batch) -> list[str]:
    return [task.state for task in await queue.get_many([lease.id for lease in batch.leases]) if task]


# Taking


async def test_what_comes_within_the_window_is_one_batch(queue: Queue, box: Mailbox, clock: Clock) -> None:
    assert await box.try_dequeue() is None
    await fill(box, "a")
    clock.tick(0.02)
    await fill(box, "b")
    assert await box.try_dequeue() is None
    clock.tick(0.03)
    batch = await box.try_dequeue()
    assert batch
    assert (batch.items, batch.merged_count, batch.queue_len_after, batch.settled) == (["a", "b"], 2, 0, False)
    assert [lease.token.rpartition("/")[0] for lease in batch.leases] == [batch.id] * 2
    assert batch.deadline == (clock.now_ms + 15_000) / 1000
    assert await box.try_dequeue() is None
    await batch.done()
    assert (batch.settled, await states(queue, batch)) == (True, ["completed"] * 2)


async def test_items_come_as_they_were_given(box: Mailbox, clock: Clock) -> None:
    await box.enqueue(Task(payload="model", kind="chat", priority=1))
    given = [{"text": "ünï", "n": [1, None]}, "text", 7, None, b"\x00\xff", b"no json", b'{"n":1}', b""]
    await fill(box, *given)
    batch = await open_batch(box, clock)
    assert batch.items == ["model", *given[:-2], {"n": 1}, None]
    assert [lease.data for lease in batch.leases][5:] == given[4:]
    assert batch.leases[0].kind == "chat"


async def test_a_conversation_comes_in_batches_as_it_was_typed(box: Mailbox, clock: Clock) -> None:
    batches: list[Batch] = []
    waiting = list(RECORDED)
    while waiting or await box.length():
        if batch := await box.try_dequeue():
            batches.append(batch)
            await batch.done()
        while waiting and LINE + waiting[0][0] <= clock.now_ms:
            await box.enqueue(waiting.pop(0)[1])
        idle = await box.length() == 0 and waiting
        clock.now_ms = LINE + waiting[0][0] if idle else clock.now_ms + 1
    assert [batch.merged_count for batch in batches] == SIZES
    assert [text for batch in batches for text in batch.items] == TEXTS


@pytest.mark.parametrize("number", [4, 5])
async def test_a_batch_has_so_many_items_at_most_and_tells_how_many_are_left(
    queue: Queue, clock: Clock, number: int
) -> None:
    box = queue.mailbox("s", max_items=2)
    await fill(box, *range(number))
    seen = []
    while await box.length():
        batch = await open_batch(box, clock)
        seen.append((batch.items, batch.queue_len_after))
        await batch.done()
    assert [left for _, left in seen] == ([2, 0] if number == 4 else [3, 1, 0])
    assert [item for items, _ in seen for item in items] == list(range(number))


async def test_a_batch_that_is_cut_short_tells_how_many_are_left(box: Mailbox, clock: Clock) -> None:
    await fill(box, *[b"x" * 1_000_000] * 6)
    batch = await open_batch(box, clock)
    assert 1 < batch.merged_count < 6
    assert batch.queue_len_after == 6 - batch.merged_count


async def test_items_of_some_kinds_are_batches_of_their_own(queue: Queue, clock: Clock) -> None:
    box = queue.mailbox("s", alone_kinds=["approval", "notice"])
    await fill(box, "a", "b")
    await fill(box, "yes", "no", kind="approval")
    assert await box.try_dequeue() is None
    seen = [await open_batch(box, clock)]
    await fill(box, "c", kind="message")
    await fill(box, "done", kind="notice")
    for _ in range(2):  # these wait for no window
        batch = await box.try_dequeue()
        assert batch
        seen.append(batch)
    assert await box.try_dequeue() is None
    seen += [await open_batch(box, clock) for _ in range(2)]
    assert [(batch.items, batch.queue_len_after) for batch in seen] == [
        (["a", "b"], 2), (["yes"], 3), (["no"], 2), (["c"], 1), (["done"], 0),
    ]  # fmt: skip
    assert [batch.leases[0].kind for batch in seen] == [None, "approval", "approval", "message", "notice"]
    await fill(box, "d")
    for batch in reversed(seen):
        await batch.release()
    assert (await open_batch(box, clock)).items == ["a", "b"]


async def test_scopes_know_nothing_of_each_other(queue: Queue, box: Mailbox, clock: Clock) -> None:
    other = queue.mailbox("t")
    await fill(box, 1, 2)
    await fill(other, 3)
    await queue.enqueue(4)
    assert [await one.length() for one in (box, other)] == [2, 1]
    assert await queue.inspect.length(["group/s", "any", "group/u"]) == [2, 1, 0]
    assert (await open_batch(other, clock)).items == [3]
    assert (await open_batch(box, clock)).items == [1, 2]


# Waiting


async def test_a_wait_ends_with_the_window(real: Queue) -> None:
    box = real.mailbox("s", window=0.2)
    batches: list[Batch | None] = []

    async def take() -> None:
        batches.append(await box.dequeue(DEADLINE))

    taker = aio_spawn(take)
    await aio_sleep(0.1)
    began = monotonic()
    await fill(box, 1, 2)
    await aio_join(taker, DEADLINE)
    assert 0.15 < monotonic() - began < 5
    assert [batch and batch.items for batch in batches] == [[1, 2]]


async def test_a_wait_is_over(real: Queue) -> None:
    box = real.mailbox("s", window=30)
    began = monotonic()
    assert await box.dequeue(0.1) is None
    await fill(box, 1)
    assert await box.dequeue(0.1) is None
    assert 0.2 <= monotonic() - began < 5
    batch = await real.mailbox("s", window=0).dequeue(0)
    assert batch
    assert batch.items == [1]


async def test_a_full_batch_waits_for_nobody(real: Queue) -> None:
    box = real.mailbox("s", window=60, max_items=2)
    await fill(box, 1, 2, 3)
    batch = await box.dequeue(DEADLINE)
    assert batch
    assert (batch.items, batch.queue_len_after) == ([1, 2], 1)
    assert await box.try_dequeue() is None


async def test_one_that_gives_up_in_a_window_leaves_it_to_others(real: Queue) -> None:
    box = real.mailbox("s", window=0.4)
    batches: list[Batch | None] = []

    async def take(wait: float) -> None:
        batches.append(await box.dequeue(wait))

    gives_up = aio_spawn(lambda: take(0.3))
    await aio_sleep(0.1)  # it is the first to be woken
    stays = aio_spawn(lambda: take(DEADLINE))
    await aio_sleep(0.1)
    began = monotonic()
    await fill(box, 1)
    for taker in (gives_up, stays):
        await aio_join(taker, DEADLINE)
    assert [batch and batch.items for batch in batches] == [None, [1]]
    assert monotonic() - began < 5


async def test_who_waits_learns_of_what_somebody_else_gives_back(real: Queue) -> None:
    box = real.mailbox("s")
    batches: list[Batch | None] = []

    async def take() -> None:
        batches.append(await box.dequeue(DEADLINE))

    await fill(box, 1, 2)
    first = await box.dequeue(DEADLINE)
    assert first
    taker = aio_spawn(take)
    await aio_sleep(0.1)
    began = monotonic()
    await first.release()
    await aio_join(taker, DEADLINE)
    assert monotonic() - began < 5
    assert [batch and batch.items for batch in batches] == [[1, 2]]


# Settling


async def test_a_result_is_that_of_each_item(box: Mailbox, clock: Clock) -> None:
    receipts = [await box.enqueue(item, reply=True) for item in "ab"]
    batch = await open_batch(box, clock)
    await batch.done({"answer": 1})
    assert [await receipt.result(DEADLINE) for receipt in receipts] == [{"answer": 1}] * 2
    await batch.done({"answer": 2})
    assert await receipts[0].result(DEADLINE) == {"answer": 1}


async def test_a_failed_batch_is_tried_again_after_what_is_in_line(queue: Queue, box: Mailbox, clock: Clock) -> None:
    await fill(box, 1, 2)
    batch = await open_batch(box, clock)
    answers = await batch.fail(ValueError("no"), reason="bad", delay=5)
    assert [(one.status, one.due) for one in answers] == [("retried", clock.now_ms / 1000 + 5)] * 2
    clock.tick(4)
    await fill(box, 3)
    clock.tick(1)
    again = await open_batch(box, clock)
    assert (again.items[0], sorted(again.items[1:])) == (3, [1, 2])


async def test_a_failed_batch_comes_back_together(box: Mailbox, clock: Clock) -> None:
    await fill(box, *range(20))
    answers = await (await open_batch(box, clock)).fail("no")
    (due,) = {one.due for one in answers}
    assert due
    clock.tick(due - clock.now_ms / 1000)
    assert await box.try_dequeue() is None
    assert (await open_batch(box, clock)).merged_count == 20


async def test_a_batch_given_back_keeps_its_place(queue: Queue, box: Mailbox, clock: Clock) -> None:
    await fill(box, 1, 2)
    batch = await open_batch(box, clock)
    await fill(box, 3)
    await batch.release()
    again = await open_batch(box, clock)
    assert again.items == [1, 2, 3]
    assert [(lease.attempt, lease.delivery) for lease in again.leases] == [(1, 2), (1, 2), (1, 1)]


async def test_a_renewed_batch_is_held_for_longer(queue: Queue, clock: Clock) -> None:
    box = queue.mailbox("s", lease=60)
    await fill(box, 1, 2)
    batch = await open_batch(box, clock)
    for extend, holds in ((None, 60), (20, 20), (None, 60)):
        clock.tick(19)
        renewals = await batch.renew(extend)
        assert [one.status for one in renewals] == ["renewed"] * 2
        assert batch.deadline == clock.now_ms / 1000 + holds
    clock.tick(59)
    assert await queue.admin.reap() == 0
    await batch.done()


async def test_somebody_wants_a_part_of_it_stopped(queue: Queue, box: Mailbox, clock: Clock) -> None:
    ids = await fill(box, 1, 2)
    batch = await open_batch(box, clock)
    await queue.cancel(ids[1])
    assert [renewal.status for renewal in await batch.renew()] == ["renewed", "cancelling"]
    assert [answer.status for answer in await batch.fail("stopped")] == ["retried", "cancelled"]


async def test_a_lost_batch_says_how_much_of_it_is_lost(queue: Queue, box: Mailbox, clock: Clock) -> None:
    await fill(box, 1, 2, 3)
    batch = await open_batch(box, clock)
    await queue.heartbeat(batch.leases[0], extend=60)
    clock.tick(15)
    assert await queue.admin.reap() == 2
    deadline = batch.deadline
    with pytest.raises(LeaseLost, match=f"2 of the 3 leases of batch '{batch.id}' are lost"):
        await batch.renew()
    assert (batch.deadline, batch.settled) == (deadline, False)
    with pytest.raises(LeaseLost, match="2 of the 3"):
        await batch.done()
    assert await states(queue, batch) == ["completed", "ready", "ready"]
    for act in (batch.release, batch.fail):
        with pytest.raises(LeaseLost, match="3 of the 3"):
            await act()
    assert (await open_batch(box, clock)).items == [2, 3]


async def test_a_with_block_ends_in_done(queue: Queue, box: Mailbox, clock: Clock) -> None:
    await fill(box, 1, 2)
    async with await open_batch(box, clock) as batch:
        assert batch.items == [1, 2]
    assert await states(queue, batch) == ["completed"] * 2


async def test_a_with_block_fails_with_its_exception(queue: Queue, box: Mailbox, clock: Clock) -> None:
    ids = await fill(box, 1, 2)
    with pytest.raises(KeyError, match="why"):
        async with await open_batch(box, clock):
            raise KeyError("why")
    tasks = [task for task in await queue.get_many(ids) if task]
    assert [(task.state, task.reason, task.attempts) for task in tasks] == [("delayed", "error", 1)] * 2
    assert all("KeyError: 'why'" in (task.error or "") for task in tasks)


async def test_a_with_block_that_is_interrupted_gives_back(box: Mailbox, clock: Clock) -> None:
    await fill(box, 1, 2)
    with pytest.raises(Stop):
        async with await open_batch(box, clock):
            raise Stop
    again = await open_batch(box, clock)
    assert [(lease.attempt, lease.delivery) for lease in again.leases] == [(1, 2)] * 2


@pytest.mark.parametrize("ends", [False, True])
async def test_what_was_settled_inside_stays(queue: Queue, box: Mailbox, clock: Clock, ends: bool) -> None:
    await fill(box, 1)
    with pytest.raises(KeyError):  # noqa: PT012
        async with await open_batch(box, clock) as batch:
            await (batch.done() if ends else batch.release())
            raise KeyError
    assert await states(queue, batch) == ["completed" if ends else "ready"]


async def test_an_exception_goes_on_where_its_batch_is_lost(queue: Queue, box: Mailbox, clock: Clock) -> None:
    await fill(box, 1)
    with pytest.raises(KeyError) as raised:  # noqa: PT012
        async with await open_batch(box, clock):
            clock.tick(15)
            await queue.admin.reap()
            raise KeyError
    assert "its batch is not settled: 1 of the 1 leases" in raised.value.__notes__[0]


async def test_a_with_block_whose_batch_is_lost_says_so(queue: Queue, box: Mailbox, clock: Clock) -> None:
    await fill(box, 1)
    with pytest.raises(LeaseLost):  # noqa: PT012
        async with await open_batch(box, clock):
            clock.tick(15)
            await queue.admin.reap()


# Settled at once


async def test_a_batch_that_is_settled_at_once_never_comes_back(queue: Queue, clock: Clock) -> None:
    box = queue.mailbox("s", settle_at_once=True)
    await fill(box, 1, 2)
    with pytest.raises(KeyError):  # noqa: PT012
        async with await open_batch(box, clock) as batch:
            assert batch.settled
            raise KeyError
    assert (batch.items, await states(queue, batch)) == ([1, 2], ["completed"] * 2)
    with pytest.raises(LeaseLost, match="settled before"):
        await batch.release()
    clock.tick(60)
    assert await box.try_dequeue() is None


async def test_what_could_not_be_settled_at_once_is_in_no_batch(
    queue: Queue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = queue.mailbox("s", settle_at_once=True)
    lost: set[int] = {1}

    async def ack_many(acks: list[Any]) -> list[str]:
        statuses = ["lease_lost" if lease.payload in lost else "completed" for lease, _ in acks]
        if 3 in lost:
            raise DurabilityError("not confirmed", statuses)
        return statuses

    monkeypatch.setattr(queue, "ack_many", ack_many)
    await fill(box, 1, 2)
    assert (await open_batch(box, clock)).items == [2]
    lost.add(2)
    await fill(box, 1, 2)
    clock.tick(1)
    assert await box.try_dequeue() is None
    lost.add(3)
    await fill(box, 3, 4)
    assert (await open_batch(box, clock)).items == [4]


# Blocked and cleared


async def test_a_blocked_mailbox_gives_nothing_and_tells_why(queue: Queue, clock: Clock) -> None:
    told = Told()
    box = queue.mailbox("s", on_blocked=told.on_blocked)
    assert await box.try_dequeue("busy") is None
    assert told.of == []
    await fill(box, 1, 2)
    clock.tick(1)
    assert await box.try_dequeue("busy") is None
    assert await box.try_dequeue("") is None
    assert told.of == [("blocked", "busy", 2), ("blocked", "", 2)]
    assert (await open_batch(box, clock)).items == [1, 2]


async def test_a_mailbox_is_cleared_of_what_is_in_line(queue: Queue, clock: Clock) -> None:
    told = Told()
    box = queue.mailbox("s", on_cleared=told.on_cleared)
    other = queue.mailbox("t")
    await fill(box, "held")
    held = await open_batch(box, clock)
    await queue.enqueue_many([{"n": n} for n in range(5)])
    for _ in range(3):
        await fill(box, 1)
        await fill(other, 1)
    await fill(box, "later", delay=60)
    assert await box.clear("stop") == 3
    assert await box.clear("stop") == 0
    assert told.of == [("cleared", "stop", 3), ("cleared", "stop", 0)]
    assert (await box.length(), await other.length(), (await queue.stats()).ready) == (0, 3, 8)
    await held.done()
    clock.tick(60)
    assert await box.try_dequeue() is None
    assert (await open_batch(box, clock)).items == ["later"]


async def test_more_than_a_call_deletes_is_cleared(queue: Queue, box: Mailbox) -> None:
    await queue.enqueue_many(Task(payload=n, lane=box.lane) for n in range(2_500))
    seen: list[int] = []
    assert await queue.admin.purge(lane=box.lane, progress=seen.append) == 2_500
    assert len(seen) > 2
    assert seen == sorted(seen)
    assert seen[-1] == 2_500


async def test_a_lane_is_purged_of_what_is_in_line_only(queue: Queue) -> None:
    with pytest.raises(BadArgument, match="all: with a lane"):
        await queue.admin.purge(all=True, lane="any")
    with pytest.raises(ConfigError, match="lanes: 'a lane'"):
        await queue.admin.purge(lane="a lane")


# Callbacks


async def test_callbacks_are_told_in_order(queue: Queue, clock: Clock) -> None:
    told = Told()
    box = queue.mailbox(
        "s",
        on_enqueued=told.on_enqueued,
        on_dequeued=told.on_dequeued,
        on_blocked=told.on_blocked,
        on_cleared=told.on_cleared,
    )
    await fill(box, "a", "b", idempotency_key="k")
    await box.try_dequeue("busy")
    await open_batch(box, clock)
    await box.clear("end")
    assert told.of == [
        ("enqueued", "a", "created"),
        ("enqueued", "b", "deduplicated"),
        ("blocked", "busy", 1),
        ("dequeued", "a"),
        ("cleared", "end", 0),
    ]


@pytest.mark.parametrize("settle_at_once", [False, True])
async def test_a_callback_that_fails_loses_nothing(
    queue: Queue, clock: Clock, settle_at_once: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail_later(*what: Any) -> None:
        raise RuntimeError("later")

    def fail(*what: Any) -> None:
        raise RuntimeError("at once")

    box = queue.mailbox(
        "s",
        settle_at_once=settle_at_once,
        on_enqueued=fail_later,
        on_dequeued=fail,
        on_blocked=fail_later,
        on_cleared=fail,
    )
    with caplog.at_level(logging.ERROR, "pyadeq.mailbox"):
        await fill(box, "secret")
        await box.try_dequeue("busy")
        batch = await open_batch(box, clock)
        assert await box.clear() == 0
    assert batch.items == ["secret"]
    assert [record.message.split()[0] for record in caplog.records] == [
        "on_enqueued", "on_blocked", "on_dequeued", "on_cleared",
    ]  # fmt: skip
    assert "secret" not in "".join(record.message for record in caplog.records)


async def test_a_callback_that_is_interrupted_gives_the_batch_back(queue: Queue, clock: Clock) -> None:
    def stop(batch: Batch) -> None:
        raise Stop

    box = queue.mailbox("s", on_dequeued=stop)
    await fill(box, 1)
    clock.tick(1)
    with pytest.raises(Stop):
        await box.try_dequeue()
    assert (await open_batch(queue.mailbox("s"), clock)).items == [1]


# What is not accepted


@pytest.mark.parametrize("scope", ["", "a b", "a/b", "a:b", "x" * 101, "ü", 7, None])
async def test_a_name_that_fits_no_lane_is_refused(queue: Queue, scope: Any) -> None:
    with pytest.raises(ConfigError, match=r"scope: .* is not accepted; allowed: 1 to 100 of A-Z"):
        queue.mailbox(scope)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"window": -0.01}, "window: -0.01 is not accepted; allowed: 0 to 60 seconds"),
        ({"window": 61}, "window: 61"),
        ({"window": "soon"}, "window must be seconds"),
        ({"max_items": 0}, "max_items: 0 is not accepted; allowed: 1 to 1000"),
        ({"max_items": 1_001}, "max_items: 1001"),
        ({"max_items": 1.5}, "max_items: 1.5"),
        ({"lease": 0.5}, "lease: 0.5"),
        ({"on_cleared": "log"}, "on_cleared: 'log' is not accepted; allowed: a function"),
    ],
)
async def test_an_option_that_cannot_work_is_refused(queue: Queue, option: dict[str, Any], said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        queue.mailbox("s", **option)


async def test_the_lane_is_the_mailboxs_own(box: Mailbox) -> None:
    with pytest.raises(TypeError, match="lane"):
        await box.enqueue(1, lane="any")


async def test_what_is_printed_holds_no_item(box: Mailbox, clock: Clock) -> None:
    await fill(box, "secret")
    batch = await open_batch(box, clock)
    assert repr(batch) == f"<Batch {batch.id} of 1, 0 left>"
    assert "secret" not in repr([box, batch])
    assert "'s'" in repr(box)


# Several consumers, and losses


async def test_ten_consumers_of_five_conversations(real: Queue) -> None:
    """Every message is in one batch, and the batches of a conversation have it in order."""
    names = [f"c{number}" for number in range(5)]
    typed = [(turn, text) for turn in range(10) for text in TEXTS]
    sent: list[Any] = []
    taken: dict[str, list[Batch]] = {name: [] for name in names}
    problems: list[Exception] = []

    async def send(name: str) -> None:
        box = real.mailbox(name, on_enqueued=lambda item, receipt: sent.append(item))
        for number, (turn, text) in enumerate(typed):
            await box.enqueue({"conversation": name, "number": number, "turn": turn, "text": text})

    async def read(name: str, worker: str) -> None:
        box = real.mailbox(name, worker=worker, max_items=7)
        until = monotonic() + DEADLINE
        while sum(batch.merged_count for batch in taken[name]) < len(typed) and monotonic() < until:
            if batch := await box.dequeue(0.2):
                async with batch:
                    taken[name].append(batch)

    async def note(work: Any) -> None:
        try:
            await work()
        except Exception as error:
            problems.append(error)

    works = [aio_spawn(lambda name=name: note(lambda: send(name))) for name in names]  # type: ignore[misc]
    for number in range(10):
        name = names[number % 5]
        works.append(aio_spawn(lambda name=name, at=number: note(lambda: read(name, f"w{at}"))))  # type: ignore[misc]
    for one in works:
        await aio_join(one, 2 * DEADLINE)
    assert problems == []
    assert len(sent) == 1_000
    for name, batches in taken.items():
        batches.sort(key=lambda batch: batch.leases[0].fence)
        items = [item for batch in batches for item in batch.items]
        assert [item["number"] for item in items] == list(range(200))
        assert [(item["turn"], item["text"]) for item in items] == typed
        assert {item["conversation"] for item in items} == {name}
        assert {len(batch.items) for batch in batches} <= set(range(1, 8))
    merged = [batch.merged_count for batches in taken.values() for batch in batches]
    assert (sum(merged), len(merged) < 1_000) == (1_000, True)
    stats = await real.stats()
    assert (stats.ready, stats.running, stats.counters["completed"]) == (0, 0, 1_000)


KILLED = """
import sys, time
from pyadeq import Adeq

url, name = sys.argv[1:]
with Adeq.from_url(url) as adeq:
    print(adeq.queue(name).mailbox("s", lease=1).dequeue(30).items, flush=True)
    time.sleep(60)
"""


async def test_a_killed_consumer_gives_its_batch_back(real: Queue, url: str) -> None:
    box = real.mailbox("s")
    await fill(box, 1, 2)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, "-c", KILLED, url, real.name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdout
        assert child.stdout.readline() == b"[1, 2]\n"
        child.kill()
    began = monotonic()
    batch = await box.dequeue(DEADLINE)
    assert batch
    assert (batch.items, [lease.delivery for lease in batch.leases]) == ([1, 2], [2, 2])
    assert monotonic() - began < 5
    await batch.done()


async def test_lost_replies_lose_nothing_and_repeat_nothing(proxy: Any, base_name: str, clock: Clock) -> None:
    async with Adeq.from_url(proxy.url, clock=clock) as adeq:
        queue = adeq.queue(base_name)
        await queue.configure(clock="test")
        box = queue.mailbox("s", max_items=2)
        await fill(box, "before")
        await (await open_batch(box, clock)).done()  # scripts are loaded, and the worker is known
        proxy.lose = 1
        await fill(box, 1)
        await fill(box, 2, 3)
        clock.tick(1)
        for items, left in (([1, 2], 1), ([3], 0)):
            proxy.lose = 1
            batch = await box.try_dequeue()
            assert batch
            assert (batch.items, batch.queue_len_after, [one.delivery for one in batch.leases]) == (
                items, left, [1] * len(items),
            )  # fmt: skip
            proxy.lose = 1
            await batch.done("r")
        proxy.lose = 1
        assert await box.length() == 0
        await fill(box, 4)
        proxy.lose = 2
        assert await box.clear() == 1
        assert proxy.lost >= 7
        stats = await queue.stats()
        assert (stats.counters["completed"], stats.counters["purged"], stats.running) == (4, 1, 0)


async def test_a_reply_that_is_lost_in_a_window(proxy: Any, base_name: str) -> None:
    async with Adeq.from_url(proxy.url) as adeq:
        box = adeq.queue(base_name).mailbox("s", window=0.3)
        assert await box.try_dequeue() is None  # scripts are loaded, and the worker is known
        await fill(box, 1)
        began = monotonic()
        proxy.lose = 1
        batch = await box.dequeue(DEADLINE)
        assert batch
        assert (batch.items, proxy.lost) == ([1], 1)
        assert monotonic() - began < 5


async def test_a_batch_that_is_not_confirmed_comes_with_the_error(
    queue: Queue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = queue.mailbox("s")
    await fill(box, 1)
    clock.tick(1)
    claim = queue.leases._claim

    async def unconfirmed(*arguments: Any, **options: Any) -> None:
        raise DurabilityError("not confirmed", await claim(*arguments, **options))

    monkeypatch.setattr(queue.leases, "_claim", unconfirmed)
    with pytest.raises(DurabilityError) as raised:
        await box.try_dequeue()
    assert raised.value.answer.items == [1]
    with pytest.raises(DurabilityError) as raised:
        await box.try_dequeue()
    assert raised.value.answer is None


async def test_a_part_of_a_batch_may_be_settled_by_itself(queue: Queue, box: Mailbox, clock: Clock) -> None:
    await fill(box, 1, 2)
    batch = await open_batch(box, clock)
    await queue.leases.settle(acks=[(batch.leases[0], "one")], fails=[Failure(batch.leases[1], "two", retryable=False)])
    assert await states(queue, batch) == ["completed", "dead"]
    with pytest.raises(LeaseLost, match="1 of the 2"):
        await batch.done()
