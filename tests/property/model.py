"""The queue as it has to be: a specification to hold the scripts against. It shares no code with pyadeq.

Times are milliseconds. A call that is sent again is a call like any other: all that tells it apart is what the contract
names, which is rid and index, slot and n, and the token that was settled last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.property.model_kept import ENDS, Kept
from tests.property.model_workers import Workers
from tests.property.records import LOST, Answer, Lease, Spec, Task, Worker

SWEEP = 100  # how many a claim reaps, expires and promotes at the most
NOT_FOUND: Answer = ("not_found",)


class Model(Kept, Workers):
    def call(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        answer = getattr(self, verb)(*args, **kwargs)
        self.retain()
        return answer

    def unswept(self) -> bool:
        """Whether time has brought something that the next sweep changes."""
        due = self.due("running") or self.due("delayed") or self.overdue() or self.overdue_keys()
        return bool(due or self.silent() or any(self.excess(name) for name in ENDS))

    # Producers

    def enqueue(self, rid: str, specs: Sequence[Spec]) -> str | list[Answer]:
        stamps = [f"{rid}/{index}" for index in range(1, len(specs) + 1)]
        if self.mode == "draining" and self._are_new(specs, stamps):
            return "ADEQ_DRAINING"
        answers: list[Answer] = []
        seen, created = set(), []
        for spec, stamp in zip(specs, stamps, strict=True):
            known = "exists" if spec.id in seen else self._known(spec.id, stamp)
            twin, by = (None, "") if known == "created" else self._twin(spec, stamp)
            if twin and (by == "rid" or not known):
                answers.append(("deduplicated", twin))
                self._merge(twin, by, spec, stamp)
                continue
            answers.append((known or "created", spec.id))
            seen.add(spec.id)
            if not known:
                created.append(self._create(spec, stamp))
        if self._held_keys:
            self._forget_keys(10 + 2 * self._held_keys)
        self._note("enqueued", *created)
        return answers

    def _are_new(self, specs: Sequence[Spec], stamps: Sequence[str]) -> bool:
        """Whether one of them at least would be made."""
        first = {spec.id: (spec, stamp) for spec, stamp in reversed(list(zip(specs, stamps, strict=True)))}
        return not all(self._known(id, stamp) or self._twin(spec, stamp)[0] for id, (spec, stamp) in first.items())

    def _create(self, spec: Spec, stamp: str) -> Task:
        lane, fallback, expires = spec.lane, spec.fallback, spec.expires
        task = Task(spec.id, spec, stamp, next(self._places), self.now, spec.payload, lane, fallback, expires, spec.key)
        if stub := self.stubs.pop(spec.id, None):
            task.settled = stub.settled
        self.tasks[spec.id] = task
        if spec.key:
            self._hold(f"key:{spec.key}", spec.id, self.settings["idempotency"])
        due = max(self.now + spec.delay, spec.run_after)
        self._delay(task, due) if due > self.now else self._line_up(task)
        return task

    # Workers

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
        self.expire(SWEEP)
        self.promote(SWEEP)
        next_due = min([task.at for task in self.of("running", "delayed")] + [*self.deadlines().values()], default=0)
        if n > last:
            if self.now - noted >= 1000 and self._keep_house(known):  # a second is fine enough
                noted = self.now
            given = self._lease(worker, f"{incarnation}.{slot}.{n}", limit, lanes, lease)
            known.slots[slot] = n, noted, given
        held = [task for id, token in given if (task := self._held(id, token))]
        leases = [(t.id, t.lease.token, t.attempts + 1, t.deliveries, t.payload) for t in held if t.lease]
        return "ok", acked, failed, next_due, leases

    settle = claim

    def ack(self, acks: Iterable[Answer]) -> list[Answer]:
        answers, done = [], []
        for id, token, result in acks:
            if task := self._held(id, token):
                task.attempts += 1
                keep = self.settings["result_ttl"] if task.spec.result_ttl is None else task.spec.result_ttl
                if result and keep != 0:
                    task.result, task.result_ends = result, None if keep is None else self.now + keep
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
        return [self._give_back("released", id, token) for id, token in leases]

    def snooze(self, leases: Iterable[Answer]) -> list[Answer]:
        return [self._give_back("snoozed", id, token, delay) for id, token, delay in leases]

    def _give_back(self, verb: str, id: str, token: str, delay: int = 0) -> Answer:
        task = self._held(id, token)
        if task and task.at > self.now:
            if self._free(task):
                task.settled = token, ("cancelled",)
            else:
                if verb == "snoozed":
                    self._delay(task, self.now + delay)
                    task.settled = token, (verb, task.at)
                else:
                    self._line_up(task)
                    task.settled = token, (verb,)
                self._note(verb, task)
        return self._settlement(id, token, verb, "cancelled")

    def heartbeat(self, leases: Iterable[Answer], worker: str, lease: int) -> list[Answer]:
        answers = []
        for id, token in leases:
            task = self._held(id, token)
            end = self.now + 1  # of the time that it may run
            if task and task.lease and task.spec.timeout:
                end = task.lease.started + task.spec.timeout
            if task and task.lease and task.at > self.now and self.now < end + self.settings["timeout_grace"]:
                task.at = self.now + (lease or self.settings["lease"])
                late = "timed_out" if end <= self.now else "renewed"
                answers.append(("cancelling" if task.lease.cancelling else late, task.at))
            else:
                answers.append(LOST)
        if worker in self.workers:
            self.workers[worker].seen = self.now
        return answers

    # Operators

    def configure(self, rid: str | None = None, **changes: Any) -> dict[str, Any]:
        if changes and not self._done("configure", rid):
            self.settings |= changes
            self._note_done("configure", rid, "done")
        return self.settings | {"mode": self.mode}

    def pause(self, rid: str) -> str:
        return self._set_mode(rid, "paused", "queue.paused")

    def resume(self, rid: str) -> str:
        return self._set_mode(rid, "running", "queue.resumed")

    def drain(self, rid: str) -> str:
        return self._set_mode(rid, "draining", "queue.draining")

    def _set_mode(self, rid: str, mode: str, event: str) -> str:
        if not self._done(mode, rid):
            self._note_done(mode, rid, "done")
            if self.mode != mode:
                self.events.append((event, "-", self.now))
            self.mode = mode
        for task in self.of("ready"):
            self._wake(task.lane)
        return "ok"

    def cancel(self, ids: Iterable[str], rid: str | None = None) -> list[Answer]:
        return self._for_each(ids, "cancel", rid, lambda task: (self._cancel(task),))

    def retry(self, ids: Iterable[str], rid: str | None = None) -> list[Answer]:
        return self._for_each(ids, "retry", rid, self._retry)

    def abandon(self, ids: Iterable[str], rid: str | None = None) -> list[Answer]:
        return self._for_each(ids, "abandon", rid, self._abandon)

    def _for_each(self, ids: Iterable[str], verb: str, rid: str | None, act: Callable[[Task], Answer]) -> list[Answer]:
        if word := self._done(verb, rid):
            return [tuple(answer.split("=")) for answer in word.split(",")]
        answers = [act(self.tasks[id]) if id in self.tasks else NOT_FOUND for id in ids]
        self._note_done(verb, rid, ",".join("=".join(answer) for answer in answers))
        return answers

    def _retry(self, task: Task) -> Answer:
        if task.state != "dead":
            return ("not_dead",)
        if holder := self._holder(task):
            return ("conflict", holder)
        task.attempts, task.crashes, task.expires, task.reason, task.error = 0, 0, 0, None, None
        task.holds_scope, task.place = True, next(self._places)
        self._line_up(task)
        self.counts["revived"] += 1
        self._event("task.retried", task)
        return ("retried",)

    def _abandon(self, task: Task) -> Answer:
        if task.state != "dead":
            return ("not_dead",)
        self._discard("abandoned", task)
        return ("abandoned",)

    def purge(self, rid: str, all: bool, page: int = 1000) -> int:
        """In calls of a page each, rid.0, rid.1, …, until all is gone."""
        done = [word for call in range(len(self.timed)) if (word := self._done("purge", f"{rid}.{call}"))]
        if done:
            return sum(int(word.partition(":")[0]) for word in done)
        ready = self.of("ready")
        gone = ready + self.of("delayed", "completed", "cancelled", "dead") if all else ready + self.of("delayed")
        if ready and not (self.of("delayed") or self.deadlines()):
            self.wake -= {task.lane for task in ready}
        self.perhaps = {task.lane for task in ready}  # one may be there for a time that goes as well, or was gone
        for task in gone:
            if self.timed.get(f"key:{task.key}", ("", 0))[0] == task.id:
                del self.timed[f"key:{task.key}"]
        self._discard("purged", *gone)
        for call in range(len(gone) // page + 1):
            some = min(page, len(gone) - call * page)
            self._note_done("purge", f"{rid}.{call}", f"{some}:{int(some == page)}")
        return len(gone)

    # Sweeps

    def promote(self, limit: int) -> int:
        due = self.due("delayed")[:limit]
        for task in due:
            task.place = next(self._places)
            self._line_up(task, task.waits_from)
        self._note("promoted", *due)
        return len(due)

    def reap(self, limit: int) -> int:
        reaped = self._take_back(limit)
        self._forget_silent()
        return reaped

    def expire(self, limit: int) -> int:
        late = self.overdue()[:limit]
        moved = []
        for at, task in enumerate(late):
            lane, state = task.lane, task.state
            if task.expires_at and task.expires_at <= self.now:
                self._expire(task)
            elif task.fallback:
                task.lane, task.fallback = task.fallback, None
                self._event("task.moved", task)
                moved += [task] if state == "ready" else []
            if state == "ready" and not [one for one in self.line(lane) if one not in moved]:
                self._empty(lane, but=late[at:])
        for task in moved:
            self._wake(task.lane)
        return len(late)

    def trim(self, limit: int) -> Answer:
        """How many tasks were removed, and whether there may be more to do."""
        removed, forgotten = self._trim(limit), self._forget_keys(limit)
        return removed, removed >= limit or forgotten == limit

    def _keep_house(self, worker: Worker) -> bool:
        """Whether that was all."""
        worker.seen = self.now
        self._forget_silent()
        return self._trim(100) + self._forget_keys(100) < 100

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

    def _lease(self, worker: str, call: str, limit: int, lanes: Sequence[str], ms: int) -> list[tuple[str, str]]:
        """The lowest band first and, inside a band, the lanes in order."""
        lanes = [] if self.mode == "paused" else lanes
        waiting = [task for lane in dict.fromkeys(lanes) for task in self.line(lane)]
        taken = sorted(waiting, key=lambda task: task.spec.priority)[:limit]  # stable
        leased = []
        for task in taken:
            if task.expires_at and task.expires_at <= self.now:
                self._expire(task)
                continue
            leased.append(task)
            task.state, task.at, task.holds_scope = "running", self.now + (ms or self.settings["lease"]), False
            task.lease = task.last = Lease(f"{call}/{len(leased)}", worker, self.now)
            task.deliveries += 1
            self._observe("wait_ms", self.now - task.since)
        for lane in lanes:
            if self.line(lane):
                self._wake(lane)
            elif lane in [task.lane for task in taken]:
                self._empty(lane)
        self._note("claimed", *leased)
        return [(task.id, task.lease.token) for task in leased if task.lease]
