# Generated from tests/integration/aio/test_batching.py by pyadeq/_unasync.py; do not edit.
"""Calls that are sent together: each caller gets what it would get from a call of its own."""

from collections.abc import Iterator, Callable, Sequence
from functools import partial
from itertools import count
from typing import Any

import pytest

from pyadeq import traced
from pyadeq._sync.kernel import batching
from pyadeq._core.kernel.call import Call
from pyadeq._twins import Event, join, sleep, spawn
from pyadeq import Adeq, Queue
from pyadeq.errors import AdeqError, BadArgument, ClientClosed, DurabilityError, QueueDraining, UnknownTask
from tests.waiting import DEADLINE

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
Work = Callable[[], Any]


@pytest.fixture
def batched(proxy: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Adeq]:
    monkeypatch.setattr(batching, "PATIENCE", DEADLINE)
    with Adeq.from_url(proxy.url, batch=True) as adeq:
        adeq.load_scripts()
        yield adeq


class Crowd:
    """Callers that make calls at the same time, and what is sent for them."""

    def __init__(self, queue: Queue) -> None:
        assert queue._batching is not None
        self.batching, self.send = queue._batching, queue._batching._send
        self.batching._send = self._noted
        self.sent: list[Call[Any]] = []
        self.answers: dict[int, Any] = {}
        self._numbers = count()
        self._running: list[Any] = []

    def _noted(self, calls: Sequence[Call[Any]]) -> list[Any]:
        self.sent += calls
        return self.send(calls)

    @property
    def sizes(self) -> list[int]:
        """How many items each call has."""
        return [int(call.args[len(call.script.args)]) for call in self.sent]

    def come(self, works: Sequence[Work], joining: int) -> None:
        """Begin the calls; return when so many were sent, or wait to be sent together."""
        before = sum(self.sizes)
        for work in works:
            self._running.append(spawn(partial(self._make, next(self._numbers), work)))
        waits = 0
        while sum(self.sizes) + waits < before + joining:
            sleep(0.01)
            line = self.batching._line
            waits = len(line.waiting) if line else 0

    def end(self) -> list[Any]:
        """Return the answers and errors, in the order of the calls."""
        for one in self._running:
            join(one, DEADLINE)
        return [self.answers[number] for number in sorted(self.answers)]

    def _make(self, number: int, work: Work) -> None:
        try:
            self.answers[number] = work()
        except Exception as error:
            self.answers[number] = error


def told(answers: Sequence[Any]) -> list[Any]:
    return [type(one) if isinstance(one, AdeqError) else (one.status, one.id) for one in answers]


def test_each_caller_gets_its_own_answer(batched: Adeq, proxy: Any, base_name: str) -> None:
    queue = batched.queue(base_name)
    queue.enqueue(0, id="first", unique="key")
    crowd = Crowd(queue)
    proxy.hold.clear()
    good: list[Work] = [partial(queue.enqueue, number, id=f"t{number}") for number in range(20)]
    crowd.come(good, 20)
    others: list[Work] = [
        partial(queue.enqueue, 1, id="first"),
        partial(queue.enqueue, 1, unique="key"),
        partial(queue.enqueue, 1, id="lost", after="nothing"),
        partial(queue.enqueue, 1, kind="two words"),
        partial(queue.enqueue, object()),
        partial(queue.enqueue, 1, id="own", rid="r"),
        partial(queue.enqueue, 1, id="own", rid="r"),
    ]
    crowd.come(others, 3)
    proxy.hold.set()
    answers = crowd.end()
    assert told(answers) == [
        *(("created", f"t{number}") for number in range(20)),
        ("exists", "first"),
        ("deduplicated", "first"),
        UnknownTask,
        BadArgument,
        BadArgument,
        ("created", "own"),
        ("created", "own"),
    ]
    assert answers[22].missing == "nothing"
    assert answers[22].receipts == [None]
    assert len(crowd.sent) <= 5  # alone, those that came first, those that waited
    assert (queue.stats()).ready == 22


def test_what_the_server_refuses_concerns_one_caller(batched: Adeq, proxy: Any, base_name: str) -> None:
    queue = batched.queue(base_name)
    crowd = Crowd(queue)
    proxy.hold.clear()
    crowd.come([partial(queue.enqueue, number) for number in range(3)], 3)
    bad = partial(queue.enqueue, 1, id="bad", ordering_key="k", after="first")
    crowd.come([partial(queue.enqueue, 3), bad, partial(queue.enqueue, 4)], 3)
    proxy.hold.set()
    answers = crowd.end()
    assert [getattr(one, "status", type(one)) for one in answers] == [*["created"] * 4, BadArgument, "created"]
    with pytest.raises(BadArgument) as alone:
        queue.enqueue(1, id="bad", ordering_key="k", after="first", rid="r")
    assert str(answers[4]) == str(alone.value)
    assert (queue.stats()).ready == 5


def test_queues_do_not_wait_for_each_other(batched: Adeq, base_name: str) -> None:
    hangs, other = batched.queue(base_name), batched.queue(f"{base_name}-other")
    hangs.enqueue(1)
    crowd = Crowd(hangs)
    gate = Event()

    def wait_first(calls: Sequence[Call[Any]]) -> list[Any]:
        gate.wait(DEADLINE)
        return send(calls)

    send, crowd.send = crowd.send, wait_first
    crowd.come([partial(hangs.enqueue, number) for number in range(3)], 3)
    others = Crowd(other)
    others.come([partial(other.enqueue, number) for number in range(3)], 3)
    assert [one.status for one in others.end()] == ["created"] * 3
    gate.set()
    assert [one.status for one in crowd.end()] == ["created"] * 3


def test_replies_that_are_lost_double_nothing(batched: Adeq, proxy: Any, base_name: str) -> None:
    queue = batched.queue(base_name)
    crowd = Crowd(queue)
    for number in range(4):
        proxy.hold.clear()
        crowd.come([partial(queue.enqueue, one, id=f"{number}.{one}") for one in range(10)], 10)
        proxy.lose = 2
        proxy.hold.set()
        crowd.end()
    assert [one.status for one in crowd.end()] == ["created"] * 40
    assert proxy.lost == 8
    assert max(crowd.sizes) > 1
    assert (queue.stats()).ready == 40


def test_traces_are_those_of_the_callers(batched: Adeq, proxy: Any, base_name: str) -> None:
    queue = batched.queue(base_name)

    def traced_enqueue(trace: str | None) -> Any:
        with traced(trace):
            return queue.enqueue(1)

    crowd = Crowd(queue)
    proxy.hold.clear()
    traces = [None, TRACE, TRACE.replace("b7", "b8"), TRACE]
    crowd.come([partial(traced_enqueue, trace) for trace in traces], 4)
    proxy.hold.set()
    ids = [one.id for one in crowd.end()]
    leases = {lease.id: lease.record.get("trace") for lease in queue.claim(limit=10)}
    assert [leases[id] for id in ids] == [trace and trace.encode() for trace in traces]


def test_a_queue_that_drains_refuses_each(batched: Adeq, proxy: Any, base_name: str) -> None:
    queue = batched.queue(base_name)
    queue.admin.drain()
    crowd = Crowd(queue)
    proxy.hold.clear()
    crowd.come([partial(queue.enqueue, number) for number in range(5)], 5)
    proxy.hold.set()
    errors = crowd.end()
    assert told(errors) == [QueueDraining] * 5
    assert len({id(error) for error in errors}) == 5


def test_unconfirmed_receipts_are_those_of_the_caller(proxy: Any, base_name: str) -> None:
    options: dict[str, Any] = {"durability": "replica", "durability_timeout": 0.01}
    with Adeq.from_url(proxy.url, batch=True, **options) as adeq:
        queue = adeq.queue(base_name)
        crowd = Crowd(queue)
        proxy.hold.clear()
        crowd.come([partial(queue.enqueue, number, id=f"t{number}") for number in range(5)], 5)
        proxy.hold.set()
        errors = crowd.end()
        assert told(errors) == [DurabilityError] * 5
        assert [one.id for error in errors for one in error.answer] == [f"t{number}" for number in range(5)]


def test_callers_that_wait_when_the_client_is_closed(batched: Adeq, proxy: Any, base_name: str) -> None:
    queue = batched.queue(base_name)
    queue.enqueue(1)
    crowd = Crowd(queue)
    proxy.hold.clear()
    crowd.come([partial(queue.enqueue, number) for number in range(5)], 5)
    crowd.come([partial(queue.enqueue, number) for number in range(5)], 5)
    batched.close()
    proxy.hold.set()
    answers = crowd.end()
    assert len(answers) == 10
    assert told(answers[5:]) == [ClientClosed] * 5


def test_an_exchange_that_takes_long_keeps_nobody(proxy: Any, base_name: str) -> None:
    with Adeq.from_url(proxy.url, batch=True) as adeq:
        queue = adeq.queue(base_name)
        queue.enqueue(1)
        crowd = Crowd(queue)
        proxy.hold.clear()
        crowd.come([partial(queue.enqueue, number) for number in range(5)], 5)
        crowd.come([partial(queue.enqueue, number) for number in range(5)], 5)
        while sum(crowd.sizes) < 10:  # all are sent, although no reply has come
            sleep(0.01)
        proxy.hold.set()
        assert [one.status for one in crowd.end()] == ["created"] * 10


@pytest.mark.slow
def test_many_callers_while_replies_are_lost(proxy: Any, base_name: str) -> None:
    with Adeq.from_url(proxy.url, batch=True) as adeq:
        queue = adeq.queue(base_name)
        proxy.lose_every = 7

        def work(caller: int) -> list[str]:
            return [(queue.enqueue(n, id=f"{caller}.{n}")).status for n in range(50)]

        crowd = Crowd(queue)
        crowd.come([partial(work, caller) for caller in range(40)], 40)
        answers = crowd.end()
        proxy.lose_every = 0
        assert answers == [["created"] * 50] * 40
        assert proxy.lost > 5
        assert len(crowd.sent) < 1500
        assert (queue.stats()).ready == 2000
