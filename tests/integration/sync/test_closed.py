# Generated from tests/integration/aio/test_closed.py by pyadeq/_unasync.py; do not edit.
"""A closed client sends nothing more, and neither does anything that was made from it."""

from collections.abc import Callable
from typing import Any

import pytest

from pyadeq._twins import Event, spawn
from pyadeq import Adeq, AdeqError, Every
from pyadeq.errors import ClientClosed, TransportError
from tests.waiting import DEADLINE

CALLS: dict[str, Callable[[Any], object]] = {
    "run": lambda a: a.adeq.run("q", 1),
    "send": lambda a: a.adeq.send(a.queue.calls.stats()),
    "load_scripts": lambda a: a.adeq.load_scripts(),
    "block": lambda a: a.adeq.block(["{q}"], 5),
    "pipeline": lambda a: a.pipe.execute(),
    "find_deadlocks": lambda a: a.adeq.find_deadlocks(["a", "b"]),
    "enqueue": lambda a: a.queue.enqueue(1),
    "enqueue_many": lambda a: a.queue.enqueue_many([1]),
    "claim": lambda a: a.queue.claim(),
    "claim, wait": lambda a: a.queue.claim(wait=5),
    "claim as another": lambda a: a.queue.claim("another"),
    "ack": lambda a: a.queue.ack(a.lease),
    "heartbeat": lambda a: a.queue.heartbeat(a.lease),
    "get": lambda a: a.queue.get("a"),
    "stats": lambda a: a.queue.stats(),
    "configure": lambda a: a.queue.configure(lease=5),
    "result": lambda a: a.queue.result("a"),
    "receipt.result": lambda a: a.receipt.result(),
    "limits": lambda a: a.queue.limits.set("user:*", concurrency=5),
    "schedules": lambda a: a.queue.schedules.set("s", Every(60), 1),
    "shares": lambda a: a.queue.shares.set("ann", 2),
    "mailbox.enqueue": lambda a: a.mailbox.enqueue(1),
    "mailbox.dequeue": lambda a: a.mailbox.dequeue(wait=5),
    "partitioned": lambda a: a.partitioned.enqueue(1),
    "partitioned.claim": lambda a: a.partitioned.claim(wait=5),
    "take": lambda a: a.locks.take("db:1", owner="b", wait=5),
    "grant.downgrade": lambda a: a.grant.downgrade(),
    "grant.release": lambda a: a.grant.release(),
    "locks.get": lambda a: a.locks.get("db:1"),
    "locks.stats": lambda a: a.locks.stats(),
}


class Open:
    """A client, and one of everything that is made from one."""

    def __init__(self, url: str, name: str) -> None:
        self.adeq = Adeq.from_url(url)
        self.queue = self.adeq.queue(name)
        self.partitioned = self.adeq.partitioned(f"{name}.p")
        self.locks = self.adeq.locks(name)
        self.mailbox = self.queue.mailbox("ann")
        self.pipe = self.adeq.pipeline()

    def begin(self) -> None:
        self.receipt = self.queue.enqueue(1)
        self.partitioned.enqueue(1)
        (self.lease,) = self.queue.claim()
        self.grant = self.locks.take("db:1", owner="a", ttl=DEADLINE)
        self.pipe.add(self.queue.calls.stats())


def _connections(client: Any) -> int:
    return int(client.info("stats")["total_connections_received"])


def test_nothing_is_sent_after_close(url: str, client: Any, base_name: str) -> None:
    one = Open(url, base_name)
    one.begin()
    one.adeq.close()
    one.adeq.close()  # does nothing
    before = _connections(client)
    for name, call in CALLS.items():
        with pytest.raises(ClientClosed, match=r"this client is closed.*make another") as caught:
            call(one)
        assert not caught.value.retryable, name
        assert not caught.value.may_have_applied, name
        assert isinstance(caught.value, TransportError), name
    with pytest.raises(ClientClosed):
        with one.adeq:
            pass
    with pytest.raises(ClientClosed):
        one.adeq.blocking_client()
    with pytest.raises(ClientClosed):
        for _ in one.locks.watch("db:1"):
            pass
    assert _connections(client) == before


def test_who_waits_while_the_client_is_closed_hears_of_it(url: str, base_name: str) -> None:
    one = Open(url, base_name)
    one.begin()
    errors: list[AdeqError] = []
    waits: list[Callable[[], object]] = [
        lambda: one.queue.claim(wait=DEADLINE),
        lambda: one.partitioned.claim(lanes=["group/a"], wait=DEADLINE),
        lambda: one.receipt.result(DEADLINE),
        lambda: one.mailbox.dequeue(wait=DEADLINE),
        lambda: one.locks.take("db:1", owner="b", wait=DEADLINE),
    ]
    done = [Event() for _ in waits]

    def waiter(at: int) -> Callable[[], Any]:
        def wait() -> None:
            try:
                waits[at]()
            except AdeqError as error:
                errors.append(error)
            finally:
                done[at].set()

        return wait

    for at in range(len(waits)):
        spawn(waiter(at))
    while one.queue.stats() and (one.locks.get("db:1")).waiting == 0:
        pass
    one.adeq.close()
    for one_done in done:
        assert one_done.wait(DEADLINE)
    assert [type(error) for error in errors] == [ClientClosed] * len(waits)
