"""Random histories of a queue that gets other partitions on its way, told to two clients in turn.

    python -m tests.property.partition_histories --steps 100000 [--seed 1]

Each step is one call of `adeq.partitioned(name)`. The server is a cluster of one node, with a clock of its own. Often
one client gives the queue other partitions, or asks earlier ones no more, and the other does not know of it yet. Tasks
have ordering keys, unique keys, idempotency keys, ids that were given, limits, parents and tasks they come after.

What must hold: a task that was taken in is leased to one at a time, and ends once; tasks of an ordering key run one at
a time, in their order; a unique key stands for one living task; a call sent again creates nothing twice; `get` finds
each task. At the end of a history all tasks have their turn, and the audit reads every partition.

ADEQ_TEST_SERVER names the server's binary.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

import redis

from pyadeq import Adeq, Backoff, PartitionedQueue, Task
from pyadeq.errors import BadArgument, LeaseLost
from pyadeq.models import Lease, Receipt
from tests.audit import audit
from tests.conftest import serve_all_slots, server_binary, start_cluster_node

START = 1_700_000_000_000
LEASE = 15
STEPS = 60  # of one history, at the most; then all tasks have their turn
PARTITIONS = (1, 2, 3, 4, 8)
CALLS = {
    "enqueue": 10, "claim": 10, "ack": 6, "fail": 3, "release": 2, "snooze": 1, "heartbeat": 1, "cancel": 2, "retry": 1,
    "get": 2, "limit": 1, "time": 5, "repartition": 1.5, "finish": 1.5, "pause": 0.3, "run_now": 1,
}  # fmt: skip


class Clock:
    """What both clients take for the time."""

    now = START

    def read(self) -> int:
        return self.now


@dataclass
class Known:
    """What a task must be, by what was answered so far."""

    task: Task
    place: int  # in the order in which tasks came
    state: str = "waiting"  # or leased, cancelling, completed, cancelled, dead
    ran: bool = False
    lease: Lease | None = None
    until: int = 0
    ended_in: int = 0  # how often earlier partitions had been given up by then
    retried: bool = False

    @property
    def lives(self) -> bool:
        return self.state in ("waiting", "leased", "cancelling")


@dataclass
class History:
    """Calls by chance, and what they must answer."""

    queues: list[PartitionedQueue]
    clock: Clock
    random: Random
    tasks: dict[str, Known] = field(default_factory=dict)
    numbers: Any = field(default_factory=count)
    given_up: int = 0  # how often earlier partitions were asked no more
    steps: int = 0

    def go(self, steps: int) -> None:
        backoff = Backoff(base=1, multiplier=1, cap=1, jitter=0)
        self.queue.configure(clock="test", max_attempts=1000, max_crashes=1000, backoff=backoff)
        for name in self.random.choices(list(CALLS), list(CALLS.values()), k=steps):
            self.steps += 1
            getattr(self, name)()
        self.finish_all()

    @property
    def queue(self) -> PartitionedQueue:
        return self.random.choice(self.queues)

    # Calls

    def enqueue(self) -> None:
        new = [self.new_task() for _ in range(self.random.choice([1, 1, 2, 5]))]
        rid = f"r{next(self.numbers)}" if self.random.random() < 0.5 else None
        try:
            receipts = self.queue.enqueue_many(new, rid=rid)
        except BadArgument:  # two partitions for one task: then nothing of the call is taken in
            return
        for task, receipt in zip(new, receipts, strict=True):
            self.take_in(task, receipt)
        if rid and self.random.random() < 0.3:
            again = self.queue.enqueue_many(new, rid=rid)
            assert [one.id for one in again] == [one.id for one in receipts], f"{rid}, sent again: {again}, {receipts}"

    def new_task(self) -> Task:
        pick, number = self.random.choice, next(self.numbers)
        there = [id for id in list(self.tasks)[-6:] if self.is_looked_up(id)]
        how: dict[str, Any] = pick([
            {}, {}, {"id": f"given-{number}"}, {"ordering_key": pick("abc")}, {"ordering_key": pick("abc")},
            {"unique": pick("uvw")}, {"idempotency_key": pick("ijk")}, {"limits": [pick("lm")]},
            {"parent": pick(there)} if there else {}, {"after": [pick(there)]} if there else {},
        ])  # fmt: skip
        if self.random.random() < 0.2 and "ordering_key" not in how:
            how["delay"] = self.random.choice([0.5, 3])
        return Task(payload=number, priority=pick([5, 5, 1, 9]) if "ordering_key" not in how else 5, **how)

    def is_looked_up(self, id: str) -> bool:
        """An id that does not name its partition is not found once its task has ended in one that is asked no more."""
        one = self.tasks[id]
        return "@" in id or (one.lives and not self.may_have_ended(one)) or one.ended_in == self.given_up

    def may_have_ended(self, one: Known) -> bool:
        """A task that is to be cancelled is, once its lease was taken back."""
        return one.state == "cancelling" and one.until <= self.clock.now

    def take_in(self, task: Task, receipt: Receipt) -> None:
        assert receipt.status in ("created", "deduplicated"), receipt
        twins = [id for id, one in self.tasks.items() if self.stands_for(one, task)]
        if receipt.status == "deduplicated":
            assert task.unique or task.idempotency_key, f"{receipt} for {task}"
            assert self.is_of_same_key(self.tasks[receipt.id].task, task), f"{receipt} for {task}"
            return
        assert not twins, f"{receipt.id} was created beside {twins}, which stand for the same key"
        assert receipt.id not in self.tasks, f"{receipt.id} was created twice"
        self.tasks[receipt.id] = Known(task, len(self.tasks))

    def stands_for(self, earlier: Known, task: Task) -> bool:
        if not self.is_of_same_key(earlier.task, task):
            return False
        # An ended task is not looked up any more in a partition that is not asked any more.
        lives = earlier.lives and not self.may_have_ended(earlier)
        return lives or (bool(task.idempotency_key) and earlier.ended_in == self.given_up)

    @staticmethod
    def is_of_same_key(one: Task, other: Task) -> bool:
        return bool(
            (other.unique and one.unique == other.unique)
            or (other.idempotency_key and one.idempotency_key == other.idempotency_key)
        )

    def claim(self, limit: int | None = None) -> list[Lease]:
        leases = self.claim_of(self.queue, limit or self.random.choice([1, 2, 5, 20]))
        for lease in leases:
            assert lease.id in self.tasks, f"{lease.id} was leased, and never taken in"
            one = self.tasks[lease.id]
            overdue = one.state == "leased" and one.until <= self.clock.now
            assert one.state == "waiting" or overdue, f"{lease.id} was leased, and is {one.state}"
            one.state, one.lease, one.until = "leased", lease, self.clock.now + LEASE * 1000
        for lease in leases:
            self.check_order(lease.id)
        return leases

    def claim_of(self, queue: PartitionedQueue, limit: int) -> list[Lease]:
        return queue.claim(f"w{self.queues.index(queue)}", limit)

    def check_order(self, id: str) -> None:
        one = self.tasks[id]
        key = one.task.ordering_key
        if key is None:
            return
        for other_id, other in self.tasks.items():
            if other is one or other.task.ordering_key != key or other.retried or one.retried:
                continue
            overdue = other.until <= self.clock.now
            assert overdue or other.state not in ("leased", "cancelling"), f"{id} and {other_id} of {key} run at once"
            before = other.place < one.place and other.lives and not self.may_have_ended(other)
            assert not before, f"{id} overtakes {other_id} of {key}"

    def leased(self, most: int = 3) -> list[str]:
        ids = [id for id, one in self.tasks.items() if one.lease]
        return self.random.sample(ids, k=min(len(ids), self.random.randint(1, most)))

    def ack(self, ids: list[str] | None = None) -> None:
        ids = self.leased() if ids is None else ids
        if not ids:
            return
        queue = self.queue
        statuses = queue.ack_many([(self.lease_of(id), None) for id in ids])
        for id, status in zip(ids, statuses, strict=True):
            one = self.tasks[id]
            late = one.until <= self.clock.now
            assert status == "completed" or (late and status == "lease_lost"), f"ack of {id}, {one.state}: {status}"
            if status != "lease_lost":
                self.end(id, status)

    def lease_of(self, id: str) -> Lease:
        lease = self.tasks[id].lease
        assert lease
        return lease

    def fail(self) -> None:
        for id in self.leased(1):
            self.settle(id, lambda queue, lease: queue.fail(lease, "x", retryable=self.random.random() < 0.7).status)

    def release(self) -> None:
        for id in self.leased(1):
            self.settle(id, lambda queue, lease: queue.release(lease))

    def snooze(self) -> None:
        for id in self.leased(1):
            self.settle(id, lambda queue, lease: queue.snooze(lease, 1).status)

    def settle(self, id: str, act: Any) -> None:
        one = self.tasks[id]
        try:
            status = act(self.queue, self.lease_of(id))
        except LeaseLost:
            assert one.until <= self.clock.now, f"the lease of {id} was lost before its end"
            return
        if status in ("dead", "cancelled"):
            assert status == "dead" or one.state == "cancelling", f"{id}: {status}"
            self.end(id, status)
        else:
            assert one.state == "leased" or one.until <= self.clock.now, f"{id} was to be cancelled: {status}"
            one.state, one.lease = "waiting", None

    def heartbeat(self) -> None:
        for id in self.leased(1):
            one = self.tasks[id]
            try:
                self.queue.heartbeat(self.lease_of(id))
            except LeaseLost:
                assert one.until <= self.clock.now, f"the lease of {id} was lost before its end"
            else:
                one.until = self.clock.now + LEASE * 1000

    def cancel(self) -> None:
        if not self.tasks:
            return
        id = self.random.choice(list(self.tasks))
        one, status = self.tasks[id], self.queue.cancel(id)
        assert status != "not_found", f"{id}, {one.state}, is not found"
        if status == "cancelled":
            assert one.state in ("waiting", "dead", "cancelled") or one.until <= self.clock.now, f"{id}: {one.state}"
            self.end(id, "cancelled")
        elif status == "cancelling":
            assert one.state in ("leased", "cancelling"), f"{id}: {one.state}"
            one.state = "cancelling"
        else:
            assert not one.lives, f"cancel of {id}, {one.state}: {status}"

    def retry(self) -> None:
        dead = [id for id, one in self.tasks.items() if one.state == "dead"]
        if dead:
            id = self.random.choice(dead)
            one, answer = self.tasks[id], self.queue.dead.retry(id)
            assert answer.status != "not_found", f"{id} is not found"
            if answer.status == "retried":
                one.state, one.retried = "waiting", True

    def run_now(self) -> None:
        if self.tasks:
            id = self.random.choice(list(self.tasks))
            state, status = self.tasks[id].state, self.queue.admin.run_now(id).status
            assert status != "not_found", f"{id}, {state}, is not found"
            assert status != "ready" or state == "waiting", f"{id}, {state}, was delayed"

    def get(self) -> None:
        for id in self.random.sample(list(self.tasks), k=min(3, len(self.tasks))):
            self.check_state(id)

    def check_state(self, id: str) -> None:
        one, view = self.tasks[id], self.queue.get(id)
        assert view is not None, f"{id}, {one.state}, is lost"
        told = f"{id}, {one.state}, is {view.state}"
        if one.lives:
            ended = view.state in ("completed", "cancelled", "dead")
            assert not ended or self.depends(one) or (self.may_have_ended(one) and view.state == "cancelled"), told
        else:
            assert view.state == one.state, told

    def depends(self, one: Known) -> bool:
        return bool(one.task.after)

    def limit(self) -> None:
        key, most = self.random.choice(["key:l", "key:m", "all"]), self.random.choice([None, 1, 2, 5])
        if most is None:
            self.queue.limits.remove(key)
        else:
            self.queue.limits.set(key, concurrency=most)

    def time(self, ms: int | None = None) -> None:
        self.clock.now += self.random.choice([1, 100, 1000, 3000, 16_000]) if ms is None else ms

    def repartition(self) -> None:
        self.queue.repartition(self.random.choice(PARTITIONS))

    def finish(self) -> None:
        if self.queue.finish_repartition() == 0:
            self.given_up += 1

    def pause(self) -> None:
        self.queue.admin.pause()
        assert not self.claim_of(self.queue, 20)
        self.queue.admin.resume()

    def end(self, id: str, state: str) -> None:
        one = self.tasks[id]
        if one.lives:  # cancelled again, it has ended where it did before
            one.ended_in = self.given_up
        one.state, one.lease = state, None

    # The end

    def finish_all(self) -> None:
        """All tasks have their turn; then each is where its last answer said."""
        for queue in self.queues:
            queue.partitions()  # reads the map: a client would hear of the first partitions within five seconds only
        for key in ("key:l", "key:m", "all"):
            self.queue.limits.remove(key)
        self.queue.admin.resume()
        idle = 0
        while idle < 3:
            self.time(16_000)
            leases = self.claim(100)
            idle = 0 if leases else idle + 1
            self.ack([lease.id for lease in leases])
        for id, one in self.tasks.items():
            if one.state == "cancelling":
                self.end(id, "cancelled")
            self.check_ended(id)
        stats = self.queues[0].stats()
        assert (stats.ready, stats.delayed, stats.blocked, stats.running) == (0, 0, 0, 0), stats
        assert self.queues[0].finish_repartition() == 0

    def check_ended(self, id: str) -> None:
        one = self.tasks[id]
        assert not one.lives or self.depends(one), f"{id} never had its turn"
        self.check_state(id)


class Run:
    """Histories on one server, one after the other."""

    def __init__(self, url: str, seed: int) -> None:
        self.client = redis.Redis.from_url(url)
        self.clock = Clock()
        self.adeqs = [Adeq.from_url(url, cluster=True, clock=self.clock.read) for _ in range(2)]
        self.seeds = count(seed * 1_000_000)
        self.histories = self.steps = self.epochs = 0

    def play(self, steps: int) -> None:
        began, said = time.monotonic(), 0
        while self.steps < steps:
            self.one(next(self.seeds))
            if self.steps // 5000 > said:
                said = self.steps // 5000
                print(f"{self.steps:,} steps, {time.monotonic() - began:.0f} s", flush=True)

    def one(self, seed: int) -> None:
        name = f"moves-{seed}"
        self.clock.now = START
        history = History([adeq.partitioned(name) for adeq in self.adeqs], self.clock, Random(seed))
        try:
            history.go(Random(seed).randint(10, STEPS))
            parts = history.queues[0].partitions()
            for part in parts:
                problems = audit(self.client, part.base)
                assert not problems, "\n".join(problems)
        except BaseException:
            print(f"the history of seed {seed} failed at its step {history.steps}", file=sys.stderr)
            raise
        self.epochs += len(parts) > 1
        for part in parts:
            for key in self.client.scan_iter(f"{part.base}:*", count=1000):
                self.client.delete(key)
        self.histories += 1
        self.steps += history.steps


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    began = time.monotonic()
    with ExitStack() as stack:
        server = stack.enter_context(start_cluster_node(server_binary()))
        serve_all_slots(server)
        run = Run(f"redis://127.0.0.1:{server.port}", arguments.seed)
        run.play(arguments.steps)
    print(
        f"{run.steps:,} steps in {run.histories:,} histories, {run.epochs:,} of them with partitions, without a"
        f" violation, in {time.monotonic() - began:.0f} s; seed {arguments.seed}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
