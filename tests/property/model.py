"""The queue as it has to be: a specification to hold the scripts against. It shares no code with pyadeq.

Times are milliseconds. A call that is sent again is a call like any other: all that tells it apart is what the contract
names, which is rid and index, slot and n, and the token that was settled last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from tests.property.records import LOST, Answer, Backoff, Lease, Spec, Task, Worker

SILENCE = 30_000  # a worker that was not heard of for so long is gone
BLOCK = 10_000  # how long a worker blocks at the most
SWEEP = 100  # how many a claim reaps, and promotes, at the most


class Model:
    def __init__(self, now: int) -> None:
        self.now = now
        self.settings: dict[str, Any] = {"lease": 15_000, "max_attempts": 3, "max_crashes": 5, "backoff": Backoff()}
        self.tasks: dict[str, Task] = {}
        self.workers: dict[str, Worker] = {}
        self.ended: set[tuple[str, str]] = set()  # workers' incarnations that were replaced, lost or stopped
        self.wake: set[str] = set()  # lanes with a wake-up token
        self.counts: Counter[str] = Counter()
        self.events: list[tuple[str, str, int]] = []  # with ids and time
        self._places = count()

    def of(self, *states: str) -> list[Task]:
        return [task for task in self.tasks.values() if task.state in states]

    def line(self, lane: str) -> list[Task]:
        """The ready tasks of a lane, the first one first."""
        ready = [task for task in self.of("ready") if task.spec.lane == lane]
        return sorted(ready, key=lambda task: (task.spec.priority, task.place))

    def due(self, state: str) -> list[Task]:
        return sorted((t for t in self.of(state) if t.at <= self.now), key=lambda task: (task.at, task.id))

    # Verbs

    def configure(self, **changes: Any) -> dict[str, Any]:
        self.settings |= changes
        return dict(self.settings)

    def enqueue(self, rid: str, specs: Sequence[Spec]) -> list[str]:
        answers, created = [], []
        for index, spec in enumerate(specs, 1):
            stamp, known = f"{rid}/{index}", self.tasks.get(spec.id)
            answers.append("exists" if known and known.stamp != stamp else "created")
            if not known:
                task = Task(spec.id, spec, stamp, next(self._places), self.now)
                self.tasks[spec.id] = task
                created.append(task)
                self._delay(task, spec.delay) if spec.delay else self._line_up(task)
        self._note("enqueued", *created)
        return answers

    def claim(self, worker: str, incarnation: str, slot: int, n: int, *, acks: Sequence[Answer] = (),
              fails: Sequence[Answer] = (), limit: int, lanes: Sequence[str], lease: int = 0) -> Answer:  # fmt: skip
        """Answers for acks and fails, the next time that something is due (0: none), and the leases."""
        known = self.workers.get(worker)
        if not known:
            return ("unregistered",)
        last, noted, given = known.slots.get(slot, (0, 0, []))
        if known.incarnation != incarnation or n < last:
            return ("stale",)
        acked, failed = self.ack(acks), self.fail(fails)
        self._take_back(SWEEP)
        self.promote(SWEEP)
        next_due = min((task.at for task in self.of("running", "delayed")), default=0)
        if n > last:
            given = self._lease(worker, f"{incarnation}.{slot}.{n}", limit, lanes, lease)
            if self.now - noted >= 1000:  # a second is fine enough for presence
                known.seen = noted = self.now
            known.slots[slot] = n, noted, given
            if not given:
                self._forget_silent()
        held = [task for id, token in given if (task := self._held(id, token))]
        leases = [(t.id, t.lease.token, t.attempts + 1, t.deliveries, t.spec.payload) for t in held if t.lease]
        return "ok", acked, failed, next_due, leases

    settle = claim

    def ack(self, acks: Iterable[Answer]) -> list[Answer]:
        answers, done = [], []
        for id, token, result in acks:
            if task := self._held(id, token):
                task.attempts, task.result = task.attempts + 1, result or None
                self._observe("run_ms", self.now - task.last.started if task.last else 0)
                if task.attempts > 1:
                    self._observe("attempts", task.attempts)
                self._end(task, "completed")
                task.settled = token, ("completed",)
                done.append(task)
            answers.append(self._settlement(id, token, "completed"))
        self._note("completed", *done)
        return answers

    def fail(self, fails: Iterable[Answer]) -> list[Answer]:
        answers = []
        for id, token, retryable, reason, error, ppm in fails:
            if task := self._held(id, token):
                task.attempts, task.reason, task.error = task.attempts + 1, reason, error
                most = task.spec.max_attempts or self.settings["max_attempts"]
                if self._free(task):
                    task.settled = token, ("cancelled",)
                elif retryable and task.attempts < most:
                    self._delay(task, self._backoff(task, task.attempts, ppm))
                    task.settled = token, ("retried", task.at)
                    self._note("retried", task)
                else:
                    self._end(task, "dead")
                    task.settled = token, ("dead",)
                    self._note("dead", task)
            answers.append(self._settlement(id, token, "retried", "dead", "cancelled"))
        return answers

    def release(self, leases: Iterable[Answer]) -> list[Answer]:
        answers = []
        for id, token in leases:
            task = self._held(id, token)
            if task and task.at > self.now:
                if self._free(task):
                    task.settled = token, ("cancelled",)
                else:
                    task.settled = token, ("released",)
                    self._line_up(task)
                    self._note("released", task)
            answers.append(self._settlement(id, token, "released", "cancelled"))
        return answers

    def heartbeat(self, leases: Iterable[Answer], worker: str, lease: int) -> list[Answer]:
        answers = []
        for id, token in leases:
            task = self._held(id, token)
            if task and task.lease and task.at > self.now:
                task.at = self.now + (lease or self.settings["lease"])
                answers.append(("cancelling" if task.lease.cancelling else "renewed", task.at))
            else:
                answers.append(LOST)
        if worker in self.workers:
            self.workers[worker].seen = self.now
        return answers

    def cancel(self, ids: Iterable[str]) -> list[str]:
        return [self._cancel(self.tasks[id]) if id in self.tasks else "not_found" for id in ids]

    def promote(self, limit: int) -> int:
        due = self.due("delayed")[:limit]
        for task in due:
            task.place = next(self._places)
            self._line_up(task)
        self._note("promoted", *due)
        return len(due)

    def reap(self, limit: int) -> int:
        reaped = self._take_back(limit)
        self._forget_silent()
        return reaped

    def register(self, worker: str, incarnation: str) -> str:
        known = self.workers.get(worker)
        if (worker, incarnation) in self.ended:
            return "stale"
        if known and known.incarnation == incarnation:
            known.seen = self.now
        else:
            if known:
                self.ended.add((worker, known.incarnation))
            self.workers[worker] = Worker(incarnation, self.now)
            self.events.append(("worker.registered", worker, self.now))
        return "registered"

    def deregister(self, worker: str, incarnation: str) -> str:
        if worker not in self.workers:
            return "deregistered" if (worker, incarnation) in self.ended else "unregistered"
        if self.workers[worker].incarnation != incarnation:
            return "stale"
        self._forget(worker, "worker.deregistered")
        return "deregistered"

    # What becomes of tasks and workers

    def _lease(self, worker: str, call: str, limit: int, lanes: Sequence[str], ms: int) -> list[tuple[str, str]]:
        """The lowest band first and, inside a band, the lanes in order."""
        waiting = [task for lane in dict.fromkeys(lanes) for task in self.line(lane)]
        taken = sorted(waiting, key=lambda task: task.spec.priority)[:limit]  # stable
        for index, task in enumerate(taken, 1):
            task.state, task.at = "running", self.now + (ms or self.settings["lease"])
            task.lease = task.last = Lease(f"{call}/{index}", worker, self.now)
            task.deliveries += 1
            self._observe("wait_ms", self.now - task.since)
        for lane in lanes:
            if self.line(lane):
                self.wake.add(lane)
            elif lane in [task.spec.lane for task in taken]:
                self._empty(lane)
        self._note("claimed", *taken)
        return [(task.id, task.lease.token) for task in taken if task.lease]

    def _take_back(self, limit: int) -> int:
        """The first crash returns a task to its place, the n-th waits for the backoff of n-1, the last ends it."""
        late = self.due("running")[:limit]
        for task in late:
            task.crashes += 1
            self._note("stalled", task)
            if self._free(task):
                continue
            if task.crashes >= self.settings["max_crashes"]:
                task.reason = "crash_loop"
                self._end(task, "dead")
                self._note("dead", task)
            elif task.crashes == 1:
                self._line_up(task)
            else:
                self._delay(task, self._backoff(task, task.crashes - 1))
        return len(late)

    def _free(self, task: Task) -> bool:
        """Nobody holds the task any more; True if that ended it, because somebody wanted it cancelled."""
        cancelling = bool(task.lease and task.lease.cancelling)
        task.state, task.lease = "freed", None
        return cancelling and self._cancel(task) == "cancelled"

    def _cancel(self, task: Task) -> str:
        if task.state in ("completed", "dead"):
            return "finished"
        if task.lease:
            task.lease.cancelling = True
            return "cancelling"
        if task.state != "cancelled":
            was_ready = task.state == "ready"
            self._end(task, "cancelled")
            self._note("cancelled", task)
            if was_ready and not self.line(task.spec.lane):
                self._empty(task.spec.lane)
        return "cancelled"

    def _line_up(self, task: Task) -> None:
        task.state, task.since = "ready", self.now
        self.wake.add(task.spec.lane)

    def _empty(self, lane: str) -> None:
        if not self.of("delayed"):  # for one of these the token may be there
            self.wake.discard(lane)

    def _delay(self, task: Task, ms: int) -> None:
        task.state, task.at = "delayed", self.now + ms
        if ms < BLOCK:
            self.wake.add(task.spec.lane)  # whoever is blocked would sleep too long

    def _backoff(self, task: Task, n: int, ppm: int = 500_000) -> int:
        return (task.spec.backoff or self.settings["backoff"]).before(n, ppm)

    def _end(self, task: Task, state: str) -> None:
        task.state, task.at, task.lease = state, self.now, None

    def _held(self, id: str, token: str) -> Task | None:
        task = self.tasks.get(id)
        return task if task and task.lease and task.lease.token == token else None

    def _settlement(self, id: str, token: str, *answers: str) -> Answer:
        """What the token's settlement answered, until a later one overwrites it."""
        by, answer = self.tasks[id].settled if id in self.tasks else ("", LOST)
        return answer if by == token and answer[0] in answers else LOST

    def _forget_silent(self) -> None:
        for name in [name for name, worker in self.workers.items() if worker.seen <= self.now - SILENCE]:
            self._forget(name, "worker.lost")
            self.counts["workers_lost"] += 1

    def _forget(self, name: str, event: str) -> None:
        self.ended.add((name, self.workers.pop(name).incarnation))
        self.events.append((event, name, self.now))

    def _note(self, what: str, *tasks: Task) -> None:
        """Count the tasks, and make one event of them all."""
        if tasks:
            self.counts[what] += len(tasks)
            self.events.append((f"task.{what}", " ".join(task.id for task in tasks), self.now))

    def _observe(self, name: str, value: int) -> None:
        """Count a value in the bucket of the next power of two."""
        self.counts[f"{name}:{min(1 << max(value - 1, 0).bit_length(), 2**31)}"] += 1
