"""The calls of producers, workers and lock owners, each ready to be made: what a fault may befall.

Each takes a client and the name of a queue with one task `a` and of a lock domain, and does what has to come before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyadeq import Adeq, Lease


def enqueue(adeq: Adeq, name: str) -> Callable[[], Any]:
    return lambda: adeq.queue(name).enqueue("work", id="b").status


def claim(adeq: Adeq, name: str) -> Callable[[], Any]:
    return lambda: [lease.id for lease in adeq.queue(name).claim("w")]


def held(adeq: Adeq, name: str) -> Lease:
    (lease,) = adeq.queue(name).claim("w")
    return lease


def heartbeat(adeq: Adeq, name: str) -> Callable[[], Any]:
    lease = held(adeq, name)
    return lambda: adeq.queue(name).heartbeat(lease).status


def ack(adeq: Adeq, name: str) -> Callable[[], Any]:
    lease = held(adeq, name)
    return lambda: adeq.queue(name).ack(lease)


def acquire(adeq: Adeq, name: str) -> Callable[[], Any]:
    adeq.locks(name).stats()
    return lambda: adeq.locks(name).take("door", owner="o").lost


def renew(adeq: Adeq, name: str) -> Callable[[], Any]:
    grant = adeq.locks(name).take("door", owner="o", ttl=60)
    return lambda: [grant.lost, *(one.status for one in adeq.locks(name).admin.renew([grant.rid]))]


def release(adeq: Adeq, name: str) -> Callable[[], Any]:
    grant = adeq.locks(name).take("door", owner="o", ttl=60)
    return grant.release


CALLS: dict[Callable[[Adeq, str], Callable[[], Any]], Any] = {
    enqueue: "created",
    claim: ["a"],
    heartbeat: "renewed",
    ack: "completed",
    acquire: False,
    renew: [False, "renewed"],
    release: None,
}
every_call = pytest.mark.parametrize(("prepare", "answer"), CALLS.items(), ids=[call.__name__ for call in CALLS])
