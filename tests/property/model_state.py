"""The model's state, and what becomes of tasks: the steps that its verbs are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from tests.property.records import LOST, Answer, Backoff, Reply, Stub, Task, Worker

BLOCK = 10_000  # how long a worker blocks at the most
WINDOW = 60_000  # how long what was done is remembered for a re-sent call
DEFAULTS: dict[str, Any] = {
    "lease": 15_000, "presence": 30_000, "max_attempts": 3, "max_crashes": 5, "backoff": Backoff(),
    "finished_keep": 604_800_000,
    "finished_max": 100_000, "dead_keep": 2_592_000_000, "dead_max": 100_000, "result_ttl": None,
    "idempotency": 86_400_000, "timeout": 0, "timeout_grace": 10_000, "reply_ttl": 3_600_000,
}  # fmt: skip


class State:
    def __init__(self, now: int) -> None:
        self.now = now
        self.settings = dict(DEFAULTS)
        self.mode = "running"
        self.timeout_set = 0  # when that of the queue was changed
        self.tasks: dict[str, Task] = {}
        self.stubs: dict[str, Stub] = {}
        self.timed: dict[str, tuple[str, int]] = {}  # keys of `once` that end by themselves: id and time
        self.made: dict[str, str] = {}  # of keys that their task does not know: the stamp of its enqueue
        self.workers: dict[str, Worker] = {}
        self.replies: dict[str, Reply] = {}
        self.control: set[str] = set()  # workers with a token that has them ask
        self.unheard: dict[str, Worker] = {}  # what a killed worker was asked, for its successor
        self.ended: set[tuple[str, str]] = set()  # workers' incarnations that were replaced, lost or stopped
        self.wake: set[str] = set()  # lanes with a wake-up token
        self.perhaps: set[str] = set()  # those of them whose token may be gone
        self.counts: Counter[str] = Counter()
        self.events: list[tuple[str, str, int]] = []  # with ids and time
        self.place = 0  # the last one that was given
        self._held_keys = 0  # in this call
        self._just_ended: Counter[str] = Counter()  # in this call, by set

    def of(self, *states: str) -> list[Task]:
        return [task for task in self.tasks.values() if task.state in states]

    def line(self, lane: str) -> list[Task]:
        """The ready tasks of a lane, the first one first."""
        ready = [task for task in self.of("ready") if task.lane == lane]
        return sorted(ready, key=lambda task: task.score)

    def due(self, state: str) -> list[Task]:
        """The earliest first; at one time what crashed again in its old order."""
        due = (task for task in self.of(state) if task.at <= self.now)
        return sorted(due, key=lambda task: (task.at, task.stood[1] if task.stood[0] == task.at else 0, task.id))

    def overdue(self) -> list[Task]:
        """Waiting tasks whose deadline has come, the earliest first."""
        late = [(task.deadline, task.id) for task in self.tasks.values() if (task.deadline or self.now + 1) <= self.now]
        return [self.tasks[id] for _, id in sorted(late, key=lambda one: (one[0] or 0, one[1]))]

    def state_of(self, task: Task) -> str:
        """As clients see it."""
        return "stalled" if task.state == "running" and task.at <= self.now else task.state

    def deadlines(self) -> dict[str, int]:
        return {task.id: task.deadline for task in self.tasks.values() if task.deadline is not None}

    # What becomes of tasks

    def _places(self, n: int) -> Iterator[int]:
        """As many places at the end of the line; what is not used is skipped."""
        self.place += n
        return iter(range(self.place - n + 1, self.place + 1))

    def _start(self, task: Task) -> None:
        """What nothing holds up any more: its time counts from now."""
        due = max(self.now + task.spec.delay, task.spec.run_after)
        self._delay(task, due) if due > self.now else self._line_up(task)

    def _line_up(self, task: Task, waits_from: int | None = None) -> None:
        task.state, task.since = "ready", self.now
        self._wake(task.lane)
        if waits_from is None:
            self._wait(task, self.now)

    def _delay(self, task: Task, due: int) -> None:
        task.state, task.at = "delayed", due
        self._tell(task.lane, due)
        self._wait(task, due)

    def _wait(self, task: Task, since: int) -> None:
        task.waits_from = since
        for lane in task.fallback:
            if lane != "fail":
                self._tell(lane, since + task.spec.fallback_after)

    def _tell(self, lane: str, due: int) -> None:
        """Whoever is blocked would sleep too long; in a pause, too, for it is a time and not a task."""
        if due - self.now < BLOCK:
            self.wake.add(lane)

    def _end(self, task: Task, state: str, value: bytes = b"") -> None:
        task.state, task.at, task.lease, task.holds_scope = state, self.now, None, False
        self._just_ended["dead" if state == "dead" else "finished"] += 1
        self._reply(task, (state, task.reason) if state == "dead" else (state,), value)

    def _reply(self, task: Task, how: Answer, value: bytes = b"") -> None:
        """Tell those who wait for the task, if there may be any."""
        if task.spec.reply:
            self.replies[task.id] = Reply(how, value, self.now, self.now + self.settings["reply_ttl"])

    def _free(self, task: Task) -> bool:
        """Nobody holds the task any more; True if that ended it, because somebody wanted it cancelled."""
        cancelling = bool(task.lease and task.lease.cancelling)
        task.state, task.lease = "freed", None
        return cancelling and self._cancel(task) == "cancelled"

    def _cancel(self, task: Task, by_hand: bool = False) -> str:
        if task.state == "dead" and by_hand:
            task.state, task.at = "cancelled", self.now  # its keys are free already
            self._just_ended["finished"] += 1
            self._reply(task, ("cancelled",))
            self._note("cancelled", task)
            return "cancelled"
        if task.state in ("completed", "dead"):
            return "finished"
        if task.lease:
            if not task.lease.cancelling:
                self.control.add(task.lease.worker)
            task.lease.cancelling = True
            return "cancelling"
        if task.state != "cancelled":
            if self.line(task.lane) == [task]:
                self._empty(task.lane)
            self._end(task, "cancelled")
            self._note("cancelled", task)
        return "cancelled"

    def _give_up(self, task: Task, reason: str) -> None:
        """Nobody took the task in time, or nobody could end it."""
        task.reason, task.error, task.exit_code = reason, None, None
        self._end(task, "dead")
        self.counts["dead"] += 1
        self._event("task.expired" if reason == "expired" else "task.dead", task)

    def _wake(self, lane: str) -> None:
        if self.mode != "paused":
            self.wake.add(lane)

    def _empty(self, lane: str, but: Iterable[Task] = ()) -> None:
        """Its token goes, unless it may be there for a time that will come."""
        times = self.deadlines().keys() - {task.id for task in but}
        if not self.of("delayed") and not times:
            self.wake.discard(lane)

    def _backoff(self, task: Task, n: int, ppm: int = 500_000) -> int:
        """When the task is due again."""
        backoff: Backoff = task.spec.backoff or self.settings["backoff"]
        return self.now + backoff.before(n, ppm)

    # What calls ask and leave behind

    def _held(self, id: str, token: str) -> Task | None:
        task = self.tasks.get(id)
        return task if task and task.lease and task.lease.token == token else None

    def _settlement(self, id: str, token: str, *answers: str) -> Answer:
        """What the token's settlement answered, until a later one of the same task overwrites it."""
        there = self.tasks.get(id) or self.stubs.get(id)
        known = [there.settled] if there else []
        if isinstance(there, Task):
            known.append(there.settled_earlier)
        return next((answer for by, answer in known if by == token and answer[0] in answers), LOST)

    def _note(self, what: str, *tasks: Task) -> None:
        """Count the tasks, and make one event of them all."""
        if tasks:
            self.counts[what] += len(tasks)
            self._event(f"task.{what}", *tasks)

    def _event(self, name: str, *tasks: Task) -> None:
        self.events.append((name, " ".join(task.id for task in tasks), self.now))

    def _observe(self, name: str, value: int) -> None:
        """Count a value in the bucket of the next power of two, and add it up."""
        self.counts[f"{name}:{min(1 << max(value - 1, 0).bit_length(), 2**31)}"] += 1
        self.counts[f"{name}_sum"] += max(value, 0)


def oldest(tasks: Iterable[Task]) -> list[Task]:
    return sorted(tasks, key=lambda task: (task.at, task.id))
