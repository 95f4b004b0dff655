"""The queue as it has to be: a specification to hold the scripts against. It shares no code with pyadeq.

Times are milliseconds. A call that is sent again is a call like any other: all that tells it apart is what the contract
names, which is rid and index, slot and n, and the token that was settled last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from tests.property.model_kept import ENDS, Kept
from tests.property.model_workers import Workers
from tests.property.records import ENDED, LOST, Answer, Lease, Spec, Task, Worker

Act = TypeVar("Act", bound=Callable[..., Any])
SWEEP = 100  # how many a claim reaps and promotes at the most, if they have neither limits nor keys
EXPIRE = 38  # and expires, where it reaps none
NOT_FOUND: Answer = ("not_found",)
BY_ID: dict[str, str] = {}
"""The verbs that take ids, and the state of the tasks that they are for; "" for any. The machine calls them."""


def by_id(state: str) -> Callable[[Act], Act]:
    def add(verb: Act) -> Act:
        BY_ID[verb.__name__] = state
        return verb

    return add


class Model(Kept, Workers):
    def call(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        answer = getattr(self, verb)(*args, **kwargs)
        if self._noted and verb != "purge":  # which only notes
            self._pass_on()
        self._noted = False
        self.retain(trim=verb != "enqueue")
        return answer

    def unswept(self) -> bool:
        """Whether time has brought something that the next sweep changes."""
        due = self.due("running") or self.due("delayed") or self.overdue() or self.overdue_keys()
        return bool(due or self.notes or self.silent() or any(self.excess(name) for name in ENDS))

    # Producers

    def enqueue(self, rid: str, specs: Sequence[Spec]) -> str | list[Answer]:
        stamps = [f"{rid}/{index}" for index in range(1, len(specs) + 1)]
        if self.mode == "draining" and self._are_new(specs, stamps):
            return "ADEQ_DRAINING"
        answers: list[Answer] = []
        seen, created = set(), []
        for at, place in enumerate(self._places(len(specs))):
            spec, stamp = specs[at], stamps[at]
            known = self._known(spec.id, stamp) or ("exists" if spec.id in seen else None)
            twin, by = (None, "") if known == "created" else self._twin(spec, stamp)
            later, later_twin = (self._made_by(id, stamps[at + 1 :]) for id in (spec.id, twin))
            may_be_refused = by != "rid" and (not known or later) and (not twin or later_twin)
            if may_be_refused and (obstacle := self._obstacle(spec, stamps[at:])):
                answers.append(("unknown", obstacle))
            elif twin and (by == "rid" or not known):
                answers.append(("deduplicated", twin))
                self._merge(twin, "key" if later_twin else by, spec, stamp)
            else:
                answers.append((known or "created", spec.id))
                seen.add(spec.id)
                if not known:
                    created.append(self._create(spec, stamp, place))
        if self._held_keys:
            self._forget_keys(10 + 2 * self._held_keys)
        self._note("enqueued", *created)
        return answers

    def _are_new(self, specs: Sequence[Spec], stamps: Sequence[str]) -> bool:
        """Whether one of them at least would be made."""
        known = set()
        for at, (spec, stamp) in enumerate(zip(specs, stamps, strict=True)):
            if self._known(spec.id, stamp):
                known.add(spec.id)
            if spec.id not in known and not self._twin(spec, stamp)[0] and not self._obstacle(spec, stamps[at:]):
                return True
        return False

    def _create(self, spec: Spec, stamp: str, place: int) -> Task:
        task = Task(
            spec.id, spec, stamp, place, self.now, spec.payload,
            spec.lane, spec.fallback, spec.expires, spec.timeout, spec.key,
        )  # fmt: skip
        if stub := self.stubs.pop(spec.id, None):
            task.settled_earlier = stub.settled
            task.earlier = (stub.stamp, *stub.earlier)[:8]
            if stub.parent:
                self._shorten(stub.parent)
        self.tasks[spec.id] = task
        if spec.key:
            self._hold(f"key:{spec.key}", spec.id, self.settings["idempotency"])
        self._join(task)
        behind = self._line_up_by_key(task)
        if spec.after or spec.gather:
            self._await_others(task)
        elif behind:
            self._await_turn(task)
        else:
            self._start(task)
        return task

    # Workers

    def claim(self, worker: str, incarnation: str, slot: int, n: int, *, acks: Sequence[Answer] = (),
              fails: Sequence[Answer] = (), limit: int, lanes: Sequence[str], lease: int = 0,
              lane_first: bool = False, busy: int | None = None,
              alone_kinds: Sequence[str] = ()) -> Answer:  # fmt: skip
        """Answers for acks and fails, the next time that something is due (0: none), and the leases."""
        known = self.workers.get(worker)
        if not known:
            return ("unregistered",)
        last, noted, given = known.slots.get(slot, (0, 0, []))
        if known.incarnation != incarnation or n < last:
            return ("stale",)
        acked, failed = self.ack(acks), self.fail(fails)
        self._take_back(SWEEP)
        self.expire(EXPIRE)
        self.promote(SWEEP)
        times = [task.at for task in self.of("running", "delayed")] + [*self.deadlines().values()]
        told = self._pass_on()
        next_due = min([*times, *self.notes.values()], default=0)
        if n > last:
            if self.now - noted >= 1000 and self._keep_house(known):  # a second is fine enough
                noted = self.now
            given = self._lease(worker, f"{incarnation}.{slot}.{n}", limit, lanes, lease, lane_first, alone_kinds)
            known.slots[slot] = n, noted, given
            known.busy = None if busy is None else busy + len(given)
        if self._noted and (told == SWEEP or told + self._pass_on(SWEEP - told) == SWEEP) and self.notes:
            next_due = self.now
        held = [task for id, token in given if (task := self._held(id, token))]
        leases = [(t.id, t.lease.token, t.attempts + 1, t.deliveries, t.payload) for t in held if t.lease]
        return "ok", acked, failed, next_due, leases

    settle = claim

    def ack(self, acks: Iterable[Answer]) -> list[Answer]:
        answers: list[Answer] = []
        done, given = [], dict[str, bytes]()
        for id, token, result in acks:
            if task := self._held(id, token):
                given[id] = result
                task.attempts += 1
                keep = self.settings["result_ttl"] if task.spec.result_ttl is None else task.spec.result_ttl
                if result and keep != 0:
                    task.result, task.result_ends = result, None if keep is None else self.now + keep
                self._observe("run_ms", self.now - task.last.started if task.last else 0)
                if task.attempts > 1:
                    self._observe("attempts", task.attempts)
                self._end(task, "completed", result)
                task.settled = token, ("completed",)
                done.append(task)
            answer = self._settlement(id, token, "completed")
            other = answer != LOST and self._has_other_result(id, token, result, given.get(id))
            answers.append(("already",) if other else answer)
        self._note("completed", *done)
        return answers

    def _has_other_result(self, id: str, token: str, result: bytes, first: bytes | None) -> bool:
        """Whether a completed task is known to have another result. first: what it got in this call."""
        task = self.tasks.get(id)
        if not task or task.settled[0] != token:
            return False
        if first is not None:
            return first != result
        if task.result:
            return task.result != result
        return bool(result) and task.spec.result_ttl is None and self.settings["result_ttl"] is None

    def fail(self, fails: Iterable[Answer]) -> list[Answer]:
        answers = []
        for id, token, retryable, reason, error, ppm, more in fails:
            if task := self._held(id, token):
                task.attempts, task.reason, task.error = task.attempts + 1, reason, error
                task.exit_code = more.get("exit_code")
                cancelling = task.lease and task.lease.cancelling
                task.end_run(self.now, "cancelled" if cancelling else "failed", task.attempts, reason, error or None)
                most = task.spec.max_attempts or self.settings["max_attempts"]
                if self._free(task):
                    task.settled = token, ("cancelled",)
                elif retryable and task.attempts < most:
                    due = self.now + more["delay"] if "delay" in more else self._backoff(task, task.attempts, ppm)
                    self._delay(task, due)
                    task.timeout = more.get("timeout", task.timeout)
                    task.settled = token, ("retried", task.at)
                    self._note("retried", task)
                else:
                    self._end(task, "dead", error.encode())
                    task.settled = token, ("dead",)
                    self._note("dead", task)
                if more.get("alert"):
                    self._event("task.alert", task)
            answers.append(self._settlement(id, token, "retried", "dead", "cancelled"))
        return answers

    def release(self, leases: Iterable[Answer]) -> list[Answer]:
        return [self._give_back("released", id, token) for id, token in leases]

    def snooze(self, leases: Iterable[Answer]) -> list[Answer]:
        return [self._give_back("snoozed", id, token, delay) for id, token, delay in leases]

    def _give_back(self, verb: str, id: str, token: str, delay: int = 0) -> Answer:
        task = self._held(id, token)
        if task and task.at > self.now:
            cancelling = task.lease and task.lease.cancelling
            task.end_run(self.now, "cancelled" if cancelling else verb, task.attempts + 1)
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

    def deregister(self, worker: str, incarnation: str, leases: Iterable[Answer] = ()) -> str:
        """A token is enough to give a task back, whoever the worker is by now."""
        self.release(leases)
        return self._deregister(worker, incarnation)

    def progress(self, rid: str, notes: Iterable[Answer]) -> list[Answer]:
        if word := self._done("progress", rid):
            return [(answer,) for answer in word.split(",")]
        answers: list[Answer] = []
        for id, token, note in notes:
            task = self._held(id, token)
            if not task or not task.lease or task.at <= self.now:
                answers.append(LOST)
                continue
            task.progress, task.text = note.get("ppm", task.progress), note.get("text", task.text)
            task.log = [*task.log, *([note["line"]] if "line" in note else [])][-100:]
            if note.keys() & {"ppm", "text"}:
                self._event("task.progress", task)
            answers.append(("cancelling",) if task.lease.cancelling else ("noted",))
        if any(answer != LOST for answer in answers):
            self._note_done("progress", rid, ",".join(status for (status,) in answers))
        return answers

    def heartbeat(self, leases: Iterable[Answer], worker: str, lease: int, busy: int | None = None) -> Answer:
        """What is wanted of the worker, and an answer for each lease."""
        answers = []
        for id, token in leases:
            task = self._held(id, token)
            end = self.now + 1  # of the time that it may run
            timeout = task and (task.timeout or self.settings["timeout"])
            if task and task.lease and timeout:
                end = task.lease.started + timeout
                if not task.timeout and end <= self.now:  # it may have been over when it was set
                    end = max(end, self.timeout_set)
            if task and task.lease and task.at > self.now and self.now < end + self.settings["timeout_grace"]:
                task.at = self.now + (lease or self.settings["lease"])
                late = "timed_out" if end <= self.now else "renewed"
                answers.append(("cancelling" if task.lease.cancelling else late, task.at))
            else:
                answers.append(LOST)
        return *self._heard(worker, busy), answers

    # Operators

    def configure(self, rid: str | None = None, **changes: Any) -> dict[str, Any]:
        if changes and not self._done("configure", rid):
            if changes.get("timeout", self.settings["timeout"]) != self.settings["timeout"]:
                self.timeout_set = self.now
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
        if mode != "paused":
            for task in self.of("ready"):
                self._wake(task.lane)
        return "ok"

    @by_id("")
    def cancel(self, ids: Sequence[str], rid: str | None = None, *, tree: bool = False) -> list[Answer]:
        known = self._done("cancel", rid)
        answers = self._for_each(ids, "cancel", rid, lambda task: (self._cancel(task, by_hand=True),))
        if tree and not known:
            self.trees = (self.trees or self.now) + 1
            for id in ids:
                self._cancel_tree(id)
        return answers

    @by_id("dead")
    def retry(self, ids: Sequence[str], rid: str | None = None) -> list[Answer]:
        taken = [] if self._done("retry", rid) else list(zip(ids, self._places(len(ids)), strict=True))
        places = dict(reversed(taken))  # the first one, where an id is named twice
        return self._for_each(ids, "retry", rid, lambda task: self._retry(task, places[task.id]))

    @by_id("delayed")
    def run_now(self, ids: Iterable[str], rid: str | None = None) -> list[Answer]:
        promoted: list[Task] = []

        def act(task: Task) -> Answer:
            if task.state != "delayed":
                return ("not_delayed", self.state_of(task))
            if task.expires_at and task.expires_at <= self.now:
                return ("expired",)
            task.place = next(self._places(1))
            self._line_up(task)
            promoted.append(task)
            return ("ready",)

        answers = self._for_each(ids, "run_now", rid, act)
        self._note("promoted", *promoted)
        return answers

    @by_id("dead")
    def abandon(self, ids: Iterable[str], rid: str | None = None) -> list[Answer]:
        return self._for_each(ids, "abandon", rid, self._abandon)

    def _for_each(self, ids: Iterable[str], verb: str, rid: str | None, act: Callable[[Task], Answer]) -> list[Answer]:
        if word := self._done(verb, rid):
            return [tuple(answer.split("=")) for answer in word.split(",")]
        answers = [act(self.tasks[id]) if id in self.tasks else NOT_FOUND for id in ids]
        self._note_done(verb, rid, ",".join("=".join(answer) for answer in answers))
        return answers

    def _retry(self, task: Task, place: int) -> Answer:
        if task.state != "dead":
            return ("not_dead",)
        if holder := self._holder(task):
            return ("conflict", holder)
        task.attempts, task.crashes, task.expires, task.reason, task.error = 0, 0, 0, None, None
        task.exit_code = task.progress = task.text = None
        task.holds_scope, task.place = True, place
        self._line_up(task)
        self.counts["revived"] += 1
        self._event("task.retried", task)
        return ("retried",)

    def _abandon(self, task: Task) -> Answer:
        if task.state != "dead":
            return ("not_dead",)
        self._discard("abandoned", task)
        return ("abandoned",)

    def purge(self, rid: str, all: bool, page: int = 1000, lane: str | None = None) -> int:
        """In calls of a page each, rid.0, rid.1, …, until all is gone."""
        done = [word for call in range(len(self.timed)) if (word := self._done("purge", f"{rid}.{call}"))]
        if done:
            return sum(int(word.partition(":")[0]) for word in done)
        ready = self.line(lane) if lane else self.of("ready")
        gone = ready if lane else ready + self.of("delayed", "blocked", *(ENDED if all else ()))
        lanes = {lane} if lane else {task.lane for task in ready}
        if not (self.of("delayed") or self.deadlines()):
            self.wake -= lanes
        self.perhaps = lanes  # one may be there for a time that goes as well, or was gone
        for task in gone:
            if self.timed.get(f"key:{task.key}", ("", 0))[0] == task.id:
                del self.timed[f"key:{task.key}"]
            if task.keys:
                self._hold(f"purged:{task.stamp}", task.id, max(task.keys - self.now, 1))
        for task in gone:
            if task.waiting:
                self._note_end(task, "f")
                self._reply(task, ("removed",))
        self._discard("purged", *gone)
        for call in range(len(gone) // page + 1):
            some = min(page, len(gone) - call * page)
            self._note_done("purge", f"{rid}.{call}", f"{some}:{int(some == page)}")
        return len(gone)

    # Sweeps

    def promote(self, limit: int) -> int:
        due = self.due("delayed")[:limit]
        for task, place in zip(due, self._places(len(due)), strict=True):
            task.place = place
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
                self._give_up(task, "expired")
            elif task.fallback == ("fail",) and self.mode != "paused":
                self._give_up(task, "nobody_came")
            elif task.fallback and task.fallback != ("fail",):
                task.lane, *rest = task.fallback
                task.fallback = tuple(rest)
                self._event("task.moved", task)
                moved += [task] if state == "ready" else []
            if state == "ready" and not [one for one in self.line(lane) if one not in moved]:
                self._empty(lane, but=late[at:])
            if task.waiting:
                self._wait(task, self.now + (1000 if self.mode == "paused" else 0))  # not again at once
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
        late = sorted(self.due("running"), key=lambda task: (task.at, task.score))[:limit]
        for task in late:
            task.crashes += 1
            self._note("stalled", task)
            last = task.crashes >= self.settings["max_crashes"] and not (task.lease and task.lease.cancelling)
            task.end_run(self.now, "stalled", task.attempts + 1, "crash_loop" if last else None)
            if self._free(task):
                continue
            if task.crashes >= self.settings["max_crashes"]:
                self._give_up(task, "crash_loop")
            elif task.crashes == 1:
                self._line_up(task)
            else:
                self._delay(task, self._backoff(task, task.crashes - 1))
                task.stood = task.at, task.score
        return len(late)

    def _lease(
        self, worker: str, call: str, limit: int, lanes: Sequence[str], ms: int, lane_first: bool, alone: Sequence[str]
    ) -> list[tuple[str, str]]:
        """The lowest band first and, inside a band, the lanes in order; or the other way round."""
        lanes = [] if self.mode == "paused" else lanes
        waiting = [task for lane in dict.fromkeys(lanes) for task in self.line(lane)]
        taken = (waiting if lane_first else sorted(waiting, key=lambda task: task.spec.priority))[:limit]  # stable
        leased: list[Task] = []
        for task in taken:
            if leased and (task.spec.kind in alone or leased[0].spec.kind in alone):
                break
            if task.expires_at and task.expires_at <= self.now:
                self._give_up(task, "expired")
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
