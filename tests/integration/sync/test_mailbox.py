# Generated from tests/integration/aio/test_mailbox.py by pyadeq/_unasync.py; do not edit.
"""Mailboxes: what waits in one scope is taken in batches, by whoever comes, and settled as one."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from pyadeq._twins import join, sleep, spawn
from pyadeq import Adeq, Batch, Failure, Mailbox, Queue, Receipt, Task
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

    def on_enqueued(self, item: Any, receipt: Receipt) -> None:
        sleep(0)
        self.of.append(("enqueued", item, receipt.status))

    def on_dequeued(self, batch: Batch) -> None:
        self.of.append(("dequeued", *batch.items))

    def on_blocked(self, reason: str, length: int) -> None:
        sleep(0)
        self.of.append(("blocked", reason, length))

    def on_cleared(self, reason: str, count: int) -> None:
        self.of.append(("cleared", reason, count))


@pytest.fixture
def queue(timed: Queue) -> Queue:
    return timed


@pytest.fixture
def real(url: str, base_name: str) -> Iterator[Queue]:
    """A queue whose time passes."""
    with Adeq.from_url(url) as adeq:
        yield adeq.queue(base_name)


@pytest.fixture
def box(queue: Queue) -> Mailbox:
    return queue.mailbox("s")


def fill(box: Mailbox, *items: Any, **options: Any) -> list[str]:
    """Items in line; their ids."""
    return [(box.enqueue(item, **options)).id for item in items]


def open_batch(box: Mailbox, clock: Clock) -> Batch:
    """What is in line, once the window is over."""
    clock.tick(box.window)
    batch = box.try_dequeue()
    assert batch
    return batch


def states(queue: Queue, batch: Batch) -> list[str]:
    return [task.state for task in queue.get_many([lease.id for lease in batch.leases]) if task]


# Taking


def test_what_comes_within_the_window_is_one_batch(queue: Queue, box: Mailbox, clock: Clock) -> None:
    assert box.try_dequeue() is None
    fill(box, "a")
    clock.tick(0.02)
    fill(box, "b")
    assert box.try_dequeue() is None
    clock.tick(0.03)
    batch = box.try_dequeue()
    assert batch
    assert (batch.items, batch.merged_count, batch.queue_len_after, batch.settled) == (["a", "b"], 2, 0, False)
    assert [lease.token.rpartition("/")[0] for lease in batch.leases] == [batch.id] * 2
    assert batch.deadline == (clock.now_ms + 15_000) / 1000
    assert box.try_dequeue() is None
    batch.done()
    assert (batch.settled, states(queue, batch)) == (True, ["completed"] * 2)


def test_items_come_as_they_were_given(box: Mailbox, clock: Clock) -> None:
    box.enqueue(Task(payload="model", kind="chat", priority=1))
    given = [{"text": "ünï", "n": [1, None]}, "text", 7, None, b"\x00\xff", b"no json", b'{"n":1}', b""]
    fill(box, *given)
    batch = open_batch(box, clock)
    assert batch.items == ["model", *given[:-2], {"n": 1}, None]
    assert [lease.data for lease in batch.leases][5:] == given[4:]
    assert batch.leases[0].kind == "chat"


def test_a_conversation_comes_in_batches_as_it_was_typed(box: Mailbox, clock: Clock) -> None:
    batches: list[Batch] = []
    waiting = list(RECORDED)
    while waiting or box.length():
        if batch := box.try_dequeue():
            batches.append(batch)
            batch.done()
        while waiting and LINE + waiting[0][0] <= clock.now_ms:
            box.enqueue(waiting.pop(0)[1])
        idle = box.length() == 0 and waiting
        clock.now_ms = LINE + waiting[0][0] if idle else clock.now_ms + 1
    assert [batch.merged_count for batch in batches] == SIZES
    assert [text for batch in batches for text in batch.items] == TEXTS


@pytest.mark.parametrize("number", [4, 5])
def test_a_batch_has_so_many_items_at_most_and_tells_how_many_are_left(
    queue: Queue, clock: Clock, number: int
) -> None:
    box = queue.mailbox("s", max_items=2)
    fill(box, *range(number))
    seen = []
    while box.length():
        batch = open_batch(box, clock)
        seen.append((batch.items, batch.queue_len_after))
        batch.done()
    assert [left for _, left in seen] == ([2, 0] if number == 4 else [3, 1, 0])
    assert [item for items, _ in seen for item in items] == list(range(number))


def test_a_batch_that_is_cut_short_tells_how_many_are_left(box: Mailbox, clock: Clock) -> None:
    fill(box, *[b"x" * 1_000_000] * 6)
    batch = open_batch(box, clock)
    assert 1 < batch.merged_count < 6
    assert batch.queue_len_after == 6 - batch.merged_count


def test_items_of_some_kinds_are_batches_of_their_own(queue: Queue, clock: Clock) -> None:
    box = queue.mailbox("s", alone_kinds=["approval", "notice"])
    fill(box, "a", "b")
    fill(box, "yes", "no", kind="approval")
    assert box.try_dequeue() is None
    seen = [open_batch(box, clock)]
    fill(box, "c", kind="message")
    fill(box, "done", kind="notice")
    for _ in range(2):  # these wait for no window
        batch = box.try_dequeue()
        assert batch
        seen.append(batch)
    assert box.try_dequeue() is None
    seen += [open_batch(box, clock) for _ in range(2)]
    assert [(batch.items, batch.queue_len_after) for batch in seen] == [
        (["a", "b"], 2), (["yes"], 3), (["no"], 2), (["c"], 1), (["done"], 0),
    ]  # fmt: skip
    assert [batch.leases[0].kind for batch in seen] == [None, "approval", "approval", "message", "notice"]
    fill(box, "d")
    for batch in reversed(seen):
        batch.release()
    assert (open_batch(box, clock)).items == ["a", "b"]


def test_scopes_know_nothing_of_each_other(queue: Queue, box: Mailbox, clock: Clock) -> None:
    other = queue.mailbox("t")
    fill(box, 1, 2)
    fill(other, 3)
    queue.enqueue(4)
    assert [one.length() for one in (box, other)] == [2, 1]
    assert queue.inspect.length(["group/s", "any", "group/u"]) == [2, 1, 0]
    assert (open_batch(other, clock)).items == [3]
    assert (open_batch(box, clock)).items == [1, 2]


# Waiting


def test_a_wait_ends_with_the_window(real: Queue) -> None:
    box = real.mailbox("s", window=0.2)
    batches: list[Batch | None] = []

    def take() -> None:
        batches.append(box.dequeue(DEADLINE))

    taker = spawn(take)
    sleep(0.1)
    began = monotonic()
    fill(box, 1, 2)
    join(taker, DEADLINE)
    assert 0.15 < monotonic() - began < 5
    assert [batch and batch.items for batch in batches] == [[1, 2]]


def test_a_wait_is_over(real: Queue) -> None:
    box = real.mailbox("s", window=30)
    began = monotonic()
    assert box.dequeue(0.1) is None
    fill(box, 1)
    assert box.dequeue(0.1) is None
    assert 0.2 <= monotonic() - began < 5
    batch = real.mailbox("s", window=0).dequeue(0)
    assert batch
    assert batch.items == [1]


def test_a_full_batch_waits_for_nobody(real: Queue) -> None:
    box = real.mailbox("s", window=60, max_items=2)
    fill(box, 1, 2, 3)
    batch = box.dequeue(DEADLINE)
    assert batch
    assert (batch.items, batch.queue_len_after) == ([1, 2], 1)
    assert box.try_dequeue() is None


def test_one_that_gives_up_in_a_window_leaves_it_to_others(real: Queue) -> None:
    box = real.mailbox("s", window=0.4)
    batches: list[Batch | None] = []

    def take(wait: float) -> None:
        batches.append(box.dequeue(wait))

    gives_up = spawn(lambda: take(0.3))
    sleep(0.1)  # it is the first to be woken
    stays = spawn(lambda: take(DEADLINE))
    sleep(0.1)
    began = monotonic()
    fill(box, 1)
    for taker in (gives_up, stays):
        join(taker, DEADLINE)
    assert [batch and batch.items for batch in batches] == [None, [1]]
    assert monotonic() - began < 5


def test_who_waits_learns_of_what_somebody_else_gives_back(real: Queue) -> None:
    box = real.mailbox("s")
    batches: list[Batch | None] = []

    def take() -> None:
        batches.append(box.dequeue(DEADLINE))

    fill(box, 1, 2)
    first = box.dequeue(DEADLINE)
    assert first
    taker = spawn(take)
    sleep(0.1)
    began = monotonic()
    first.release()
    join(taker, DEADLINE)
    assert monotonic() - began < 5
    assert [batch and batch.items for batch in batches] == [[1, 2]]


# Settling


def test_a_result_is_that_of_each_item(box: Mailbox, clock: Clock) -> None:
    receipts = [box.enqueue(item, reply=True) for item in "ab"]
    batch = open_batch(box, clock)
    batch.done({"answer": 1})
    assert [receipt.result(DEADLINE) for receipt in receipts] == [{"answer": 1}] * 2
    batch.done({"answer": 2})
    assert receipts[0].result(DEADLINE) == {"answer": 1}


def test_a_failed_batch_is_tried_again_after_what_is_in_line(queue: Queue, box: Mailbox, clock: Clock) -> None:
    fill(box, 1, 2)
    batch = open_batch(box, clock)
    answers = batch.fail(ValueError("no"), reason="bad", delay=5)
    assert [(one.status, one.due) for one in answers] == [("retried", clock.now_ms / 1000 + 5)] * 2
    clock.tick(4)
    fill(box, 3)
    clock.tick(1)
    again = open_batch(box, clock)
    assert (again.items[0], sorted(again.items[1:])) == (3, [1, 2])


def test_a_failed_batch_comes_back_together(box: Mailbox, clock: Clock) -> None:
    fill(box, *range(20))
    answers = (open_batch(box, clock)).fail("no")
    (due,) = {one.due for one in answers}
    assert due
    clock.tick(due - clock.now_ms / 1000)
    assert box.try_dequeue() is None
    assert (open_batch(box, clock)).merged_count == 20


def test_a_batch_given_back_keeps_its_place(queue: Queue, box: Mailbox, clock: Clock) -> None:
    fill(box, 1, 2)
    batch = open_batch(box, clock)
    fill(box, 3)
    batch.release()
    again = open_batch(box, clock)
    assert again.items == [1, 2, 3]
    assert [(lease.attempt, lease.delivery) for lease in again.leases] == [(1, 2), (1, 2), (1, 1)]


def test_a_renewed_batch_is_held_for_longer(queue: Queue, clock: Clock) -> None:
    box = queue.mailbox("s", lease=60)
    fill(box, 1, 2)
    batch = open_batch(box, clock)
    for extend, holds in ((None, 60), (20, 20), (None, 60)):
        clock.tick(19)
        renewals = batch.renew(extend)
        assert [one.status for one in renewals] == ["renewed"] * 2
        assert batch.deadline == clock.now_ms / 1000 + holds
    clock.tick(59)
    assert queue.admin.reap() == 0
    batch.done()


def test_somebody_wants_a_part_of_it_stopped(queue: Queue, box: Mailbox, clock: Clock) -> None:
    ids = fill(box, 1, 2)
    batch = open_batch(box, clock)
    queue.cancel(ids[1])
    assert [renewal.status for renewal in batch.renew()] == ["renewed", "cancelling"]
    assert [answer.status for answer in batch.fail("stopped")] == ["retried", "cancelled"]


def test_a_lost_batch_says_how_much_of_it_is_lost(queue: Queue, box: Mailbox, clock: Clock) -> None:
    fill(box, 1, 2, 3)
    batch = open_batch(box, clock)
    queue.heartbeat(batch.leases[0], extend=60)
    clock.tick(15)
    assert queue.admin.reap() == 2
    deadline = batch.deadline
    with pytest.raises(LeaseLost, match=f"2 of the 3 leases of batch '{batch.id}' are lost"):
        batch.renew()
    assert (batch.deadline, batch.settled) == (deadline, False)
    with pytest.raises(LeaseLost, match="2 of the 3"):
        batch.done()
    assert states(queue, batch) == ["completed", "ready", "ready"]
    for act in (batch.release, batch.fail):
        with pytest.raises(LeaseLost, match="3 of the 3"):
            act()
    assert (open_batch(box, clock)).items == [2, 3]


def test_a_with_block_ends_in_done(queue: Queue, box: Mailbox, clock: Clock) -> None:
    fill(box, 1, 2)
    with open_batch(box, clock) as batch:
        assert batch.items == [1, 2]
    assert states(queue, batch) == ["completed"] * 2


def test_a_with_block_fails_with_its_exception(queue: Queue, box: Mailbox, clock: Clock) -> None:
    ids = fill(box, 1, 2)
    with pytest.raises(KeyError, match="why"):
        with open_batch(box, clock):
            raise KeyError("why")
    tasks = [task for task in queue.get_many(ids) if task]
    assert [(task.state, task.reason, task.attempts) for task in tasks] == [("delayed", "error", 1)] * 2
    assert all("KeyError: 'why'" in (task.error or "") for task in tasks)


def test_a_with_block_that_is_interrupted_gives_back(box: Mailbox, clock: Clock) -> None:
    fill(box, 1, 2)
    with pytest.raises(Stop):
        with open_batch(box, clock):
            raise Stop
    again = open_batch(box, clock)
    assert [(lease.attempt, lease.delivery) for lease in again.leases] == [(1, 2)] * 2


@pytest.mark.parametrize("ends", [False, True])
def test_what_was_settled_inside_stays(queue: Queue, box: Mailbox, clock: Clock, ends: bool) -> None:
    fill(box, 1)
    with pytest.raises(KeyError):  # noqa: PT012
        with open_batch(box, clock) as batch:
            (batch.done() if ends else batch.release())
            raise KeyError
    assert states(queue, batch) == ["completed" if ends else "ready"]


def test_an_exception_goes_on_where_its_batch_is_lost(queue: Queue, box: Mailbox, clock: Clock) -> None:
    fill(box, 1)
    with pytest.raises(KeyError) as raised:  # noqa: PT012
        with open_batch(box, clock):
            clock.tick(15)
            queue.admin.reap()
            raise KeyError
    assert "its batch is not settled: 1 of the 1 leases" in raised.value.__notes__[0]


def test_a_with_block_whose_batch_is_lost_says_so(queue: Queue, box: Mailbox, clock: Clock) -> None:
    fill(box, 1)
    with pytest.raises(LeaseLost):  # noqa: PT012
        with open_batch(box, clock):
            clock.tick(15)
            queue.admin.reap()


# Settled at once


def test_a_batch_that_is_settled_at_once_never_comes_back(queue: Queue, clock: Clock) -> None:
    box = queue.mailbox("s", settle_at_once=True)
    fill(box, 1, 2)
    with pytest.raises(KeyError):  # noqa: PT012
        with open_batch(box, clock) as batch:
            assert batch.settled
            raise KeyError
    assert (batch.items, states(queue, batch)) == ([1, 2], ["completed"] * 2)
    with pytest.raises(LeaseLost, match="settled before"):
        batch.release()
    clock.tick(60)
    assert box.try_dequeue() is None


def test_what_could_not_be_settled_at_once_is_in_no_batch(
    queue: Queue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = queue.mailbox("s", settle_at_once=True)
    lost: set[int] = {1}

    def ack_many(acks: list[Any]) -> list[str]:
        statuses = ["lease_lost" if lease.payload in lost else "completed" for lease, _ in acks]
        if 3 in lost:
            raise DurabilityError("not confirmed", statuses)
        return statuses

    monkeypatch.setattr(queue, "ack_many", ack_many)
    fill(box, 1, 2)
    assert (open_batch(box, clock)).items == [2]
    lost.add(2)
    fill(box, 1, 2)
    clock.tick(1)
    assert box.try_dequeue() is None
    lost.add(3)
    fill(box, 3, 4)
    assert (open_batch(box, clock)).items == [4]


# Blocked and cleared


def test_a_blocked_mailbox_gives_nothing_and_tells_why(queue: Queue, clock: Clock) -> None:
    told = Told()
    box = queue.mailbox("s", on_blocked=told.on_blocked)
    assert box.try_dequeue("busy") is None
    assert told.of == []
    fill(box, 1, 2)
    clock.tick(1)
    assert box.try_dequeue("busy") is None
    assert box.try_dequeue("") is None
    assert told.of == [("blocked", "busy", 2), ("blocked", "", 2)]
    assert (open_batch(box, clock)).items == [1, 2]


def test_a_mailbox_is_cleared_of_what_is_in_line(queue: Queue, clock: Clock) -> None:
    told = Told()
    box = queue.mailbox("s", on_cleared=told.on_cleared)
    other = queue.mailbox("t")
    fill(box, "held")
    held = open_batch(box, clock)
    queue.enqueue_many([{"n": n} for n in range(5)])
    for _ in range(3):
        fill(box, 1)
        fill(other, 1)
    fill(box, "later", delay=60)
    assert box.clear("stop") == 3
    assert box.clear("stop") == 0
    assert told.of == [("cleared", "stop", 3), ("cleared", "stop", 0)]
    assert (box.length(), other.length(), (queue.stats()).ready) == (0, 3, 8)
    held.done()
    clock.tick(60)
    assert box.try_dequeue() is None
    assert (open_batch(box, clock)).items == ["later"]


def test_more_than_a_call_deletes_is_cleared(queue: Queue, box: Mailbox) -> None:
    queue.enqueue_many(Task(payload=n, lane=box.lane) for n in range(2_500))
    seen: list[int] = []
    assert queue.admin.purge(lane=box.lane, progress=seen.append) == 2_500
    assert len(seen) > 2
    assert seen == sorted(seen)
    assert seen[-1] == 2_500


def test_a_lane_is_purged_of_what_is_in_line_only(queue: Queue) -> None:
    with pytest.raises(BadArgument, match="all: with a lane"):
        queue.admin.purge(all=True, lane="any")
    with pytest.raises(ConfigError, match="lanes: 'a lane'"):
        queue.admin.purge(lane="a lane")


# Callbacks


def test_callbacks_are_told_in_order(queue: Queue, clock: Clock) -> None:
    told = Told()
    box = queue.mailbox(
        "s",
        on_enqueued=told.on_enqueued,
        on_dequeued=told.on_dequeued,
        on_blocked=told.on_blocked,
        on_cleared=told.on_cleared,
    )
    fill(box, "a", "b", idempotency_key="k")
    box.try_dequeue("busy")
    open_batch(box, clock)
    box.clear("end")
    assert told.of == [
        ("enqueued", "a", "created"),
        ("enqueued", "b", "deduplicated"),
        ("blocked", "busy", 1),
        ("dequeued", "a"),
        ("cleared", "end", 0),
    ]


@pytest.mark.parametrize("settle_at_once", [False, True])
def test_a_callback_that_fails_loses_nothing(
    queue: Queue, clock: Clock, settle_at_once: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def fail_later(*what: Any) -> None:
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
        fill(box, "secret")
        box.try_dequeue("busy")
        batch = open_batch(box, clock)
        assert box.clear() == 0
    assert batch.items == ["secret"]
    assert [record.message.split()[0] for record in caplog.records] == [
        "on_enqueued", "on_blocked", "on_dequeued", "on_cleared",
    ]  # fmt: skip
    assert "secret" not in "".join(record.message for record in caplog.records)


def test_a_callback_that_is_interrupted_gives_the_batch_back(queue: Queue, clock: Clock) -> None:
    def stop(batch: Batch) -> None:
        raise Stop

    box = queue.mailbox("s", on_dequeued=stop)
    fill(box, 1)
    clock.tick(1)
    with pytest.raises(Stop):
        box.try_dequeue()
    assert (open_batch(queue.mailbox("s"), clock)).items == [1]


# What is not accepted


@pytest.mark.parametrize("scope", ["", "a b", "a/b", "a:b", "x" * 101, "ü", 7, None])
def test_a_name_that_fits_no_lane_is_refused(queue: Queue, scope: Any) -> None:
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
def test_an_option_that_cannot_work_is_refused(queue: Queue, option: dict[str, Any], said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        queue.mailbox("s", **option)


def test_the_lane_is_the_mailboxs_own(box: Mailbox) -> None:
    with pytest.raises(TypeError, match="lane"):
        box.enqueue(1, lane="any")


def test_what_is_printed_holds_no_item(box: Mailbox, clock: Clock) -> None:
    fill(box, "secret")
    batch = open_batch(box, clock)
    assert repr(batch) == f"<Batch {batch.id} of 1, 0 left>"
    assert "secret" not in repr([box, batch])
    assert "'s'" in repr(box)


# Several consumers, and losses


def test_ten_consumers_of_five_conversations(real: Queue) -> None:
    """Every message is in one batch, and the batches of a conversation have it in order."""
    names = [f"c{number}" for number in range(5)]
    typed = [(turn, text) for turn in range(10) for text in TEXTS]
    sent: list[Any] = []
    taken: dict[str, list[Batch]] = {name: [] for name in names}
    problems: list[Exception] = []

    def send(name: str) -> None:
        box = real.mailbox(name, on_enqueued=lambda item, receipt: sent.append(item))
        for number, (turn, text) in enumerate(typed):
            box.enqueue({"conversation": name, "number": number, "turn": turn, "text": text})

    def read(name: str, worker: str) -> None:
        box = real.mailbox(name, worker=worker, max_items=7)
        until = monotonic() + DEADLINE
        while sum(batch.merged_count for batch in taken[name]) < len(typed) and monotonic() < until:
            if batch := box.dequeue(0.2):
                with batch:
                    taken[name].append(batch)

    def note(work: Any) -> None:
        try:
            work()
        except Exception as error:
            problems.append(error)

    works = [spawn(lambda name=name: note(lambda: send(name))) for name in names]  # type: ignore[misc]
    for number in range(10):
        name = names[number % 5]
        works.append(spawn(lambda name=name, at=number: note(lambda: read(name, f"w{at}"))))  # type: ignore[misc]
    for one in works:
        join(one, 2 * DEADLINE)
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
    stats = real.stats()
    assert (stats.ready, stats.running, stats.counters["completed"]) == (0, 0, 1_000)


KILLED = """
import sys, time
from pyadeq import Adeq

url, name = sys.argv[1:]
with Adeq.from_url(url) as adeq:
    print(adeq.queue(name).mailbox("s", lease=1).dequeue(30).items, flush=True)
    time.sleep(60)
"""


def test_a_killed_consumer_gives_its_batch_back(real: Queue, url: str) -> None:
    box = real.mailbox("s")
    fill(box, 1, 2)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, "-c", KILLED, url, real.name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdout
        assert child.stdout.readline() == b"[1, 2]\n"
        child.kill()
    began = monotonic()
    batch = box.dequeue(DEADLINE)
    assert batch
    assert (batch.items, [lease.delivery for lease in batch.leases]) == ([1, 2], [2, 2])
    assert monotonic() - began < 5
    batch.done()


def test_lost_replies_lose_nothing_and_repeat_nothing(proxy: Any, base_name: str, clock: Clock) -> None:
    with Adeq.from_url(proxy.url, clock=clock) as adeq:
        queue = adeq.queue(base_name)
        queue.configure(clock="test")
        box = queue.mailbox("s", max_items=2)
        fill(box, "before")
        (open_batch(box, clock)).done()  # scripts are loaded, and the worker is known
        proxy.lose = 1
        fill(box, 1)
        fill(box, 2, 3)
        clock.tick(1)
        for items, left in (([1, 2], 1), ([3], 0)):
            proxy.lose = 1
            batch = box.try_dequeue()
            assert batch
            assert (batch.items, batch.queue_len_after, [one.delivery for one in batch.leases]) == (
                items, left, [1] * len(items),
            )  # fmt: skip
            proxy.lose = 1
            batch.done("r")
        proxy.lose = 1
        assert box.length() == 0
        fill(box, 4)
        proxy.lose = 2
        assert box.clear() == 1
        assert proxy.lost >= 7
        stats = queue.stats()
        assert (stats.counters["completed"], stats.counters["purged"], stats.running) == (4, 1, 0)


def test_a_reply_that_is_lost_in_a_window(proxy: Any, base_name: str) -> None:
    with Adeq.from_url(proxy.url) as adeq:
        box = adeq.queue(base_name).mailbox("s", window=0.3)
        assert box.try_dequeue() is None  # scripts are loaded, and the worker is known
        fill(box, 1)
        began = monotonic()
        proxy.lose = 1
        batch = box.dequeue(DEADLINE)
        assert batch
        assert (batch.items, proxy.lost) == ([1], 1)
        assert monotonic() - began < 5


def test_a_batch_that_is_not_confirmed_comes_with_the_error(
    queue: Queue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = queue.mailbox("s")
    fill(box, 1)
    clock.tick(1)
    claim = queue.leases._claim

    def unconfirmed(*arguments: Any, **options: Any) -> None:
        raise DurabilityError("not confirmed", claim(*arguments, **options))

    monkeypatch.setattr(queue.leases, "_claim", unconfirmed)
    with pytest.raises(DurabilityError) as raised:
        box.try_dequeue()
    assert raised.value.answer.items == [1]
    with pytest.raises(DurabilityError) as raised:
        box.try_dequeue()
    assert raised.value.answer is None


def test_a_part_of_a_batch_may_be_settled_by_itself(queue: Queue, box: Mailbox, clock: Clock) -> None:
    fill(box, 1, 2)
    batch = open_batch(box, clock)
    queue.leases.settle(acks=[(batch.leases[0], "one")], fails=[Failure(batch.leases[1], "two", retryable=False)])
    assert states(queue, batch) == ["completed", "dead"]
    with pytest.raises(LeaseLost, match="1 of the 2"):
        batch.done()
